"""Domain-adversarial training, given the prediction."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution

from domindex.baselines.base import AdaptingBaseline, Study
from domindex.baselines.networks import Adaptation, Encoding, PlainModule
from domindex.neural.batches import Batch, DomainFacts


class ConditionalAdaptation(Adaptation):
    """The adversary reads z ⊗ ŷ: what a row looks like together with what is predicted of it."""

    def adversary_inputs(self, batch: Batch, latents: Encoding) -> tuple[Tensor, DomainFacts]:
        prediction = as_features(self.module.predict(latents.z))
        product = latents.z[..., :, None] * prediction[..., None, :]
        return product.flatten(-2), batch.facts


def as_features(predicted: Distribution) -> Tensor:
    """Probabilities of classes, or (1, ŷ) for values, with which z itself stays readable."""
    if isinstance(predicted, Categorical):
        return predicted.probs
    mean = predicted.mean
    return torch.cat([torch.ones_like(mean[..., :1]), mean], dim=-1)


class CDANN(AdaptingBaseline):
    """Hide the domain from z given the prediction (Zhao et al., 2017; Long et al., 2018).

    As `DANN`, but the domain classifier reads the outer product of z and the predicted
    probabilities, so that classes are matched with their like rather than domains as a whole. For
    values, it reads z ⊗ (1, ŷ).

    Examples
    --------
    >>> from domindex.baselines import CDANN
    >>> model = CDANN(training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    def _train(self, study: Study) -> PlainModule:
        n_columns = study.n_outputs + (study.data.task == "regression")
        adversary = study.adversary("domain", study.latent_dim * n_columns)
        objective = ConditionalAdaptation(study.module(), adversary, self._weight)
        return study.train("encoding", objective)
