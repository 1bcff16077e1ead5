"""Selective entropy optimisation by a committee."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Categorical

from domindex.baselines.base import AdaptingBaseline, Study
from domindex.baselines.networks import Adaptation, Encoding, PlainModule, is_target
from domindex.neural.batches import Batch
from domindex.neural.training import Terms
from domindex.vdi import bound
from domindex.vdi.networks import ClassPredictor


class SelectiveEntropy(Adaptation):
    """Surer where a committee of views agrees with the row, less sure where it does not.

    The class of a row comes from the predictor, or, for values, from a helper that tells whether
    the outputs of a row lie above or below its inputs, both on their own scale.
    """

    def __init__(self, module: PlainModule, helper: ClassPredictor | None, weight: float) -> None:
        super().__init__(module, None, weight)
        self.helper = helper

    def fit(self, batch: Batch, latents: Encoding) -> Terms:
        terms = super().fit(batch, latents)
        if self.helper is not None:
            z, x = latents.z[batch.sources], batch.x[batch.sources]
            up = (batch.labels.mean(dim=-1) > x.mean(dim=-1)).long()
            terms["direction_prediction"] = bound.label_prediction(up, self.helper(z))
        return terms

    def adaptation(self, batch: Batch, latents: Encoding) -> Terms:
        target = is_target(batch)
        opinion = self._classes(latents.z[target])
        x, given = batch.x[target], batch.raw_index[target]
        views = []
        for _ in range(3):
            altered = view(x, batch.generator)
            views.append(self._classes(self.module.encode(altered, given)))
        own = opinion.probs.argmax(dim=-1)
        votes = torch.stack([seen.probs.argmax(dim=-1) == own for seen in views])
        agreed = votes.float().mean(dim=0) > 0.5
        # Of the views that voted with the majority, the last; it stands for the row.
        entropy = views[0].entropy()
        for vote, seen in zip(votes[1:], views[1:]):
            entropy = torch.where(vote == agreed, seen.entropy(), entropy)
        marginal = opinion.probs.flatten(0, -2).mean(dim=0)
        return {
            "selective_entropy": torch.where(agreed, entropy, -entropy).mean(),
            "uniformity": (marginal * marginal.clamp_min(1e-6).log()).sum(),
        }

    def _classes(self, z: Tensor) -> Categorical:
        predicted = self.module.predict(z) if self.helper is None else self.helper(z)
        assert isinstance(predicted, Categorical)
        return predicted


def view(x: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Rows seen through noise, with a tenth of the features dropped."""
    kept = torch.empty_like(x).uniform_(generator=generator) > 0.1
    return (x + 0.1 * torch.empty_like(x).normal_(generator=generator)) * kept


class SENTRY(AdaptingBaseline):
    """Grow surer on targets only where a committee agrees (Prabhu et al., 2021).

    Each target row is seen in three altered views. Where most of them get the row's own class, the
    entropy of the prediction is lowered, elsewhere raised; the mean prediction is kept spread over
    the classes. Views are noise and dropped features, since rows are vectors and not pictures.
    Source batches are balanced over domains, not over classes. For values, confidence comes from a
    helper that tells whether outputs lie above or below inputs, as in the paper of VDI.

    Examples
    --------
    >>> from domindex.baselines import SENTRY
    >>> model = SENTRY(training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    _default_weight = 0.1

    def _train(self, study: Study) -> PlainModule:
        regression = study.data.task == "regression"
        with study.own_chance():
            helper = ClassPredictor(study.latent_dim, 2) if regression else None
        objective = SelectiveEntropy(study.module(), helper, self._weight)
        return study.train("encoding", objective)
