"""Margin disparity discrepancy."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution

from domindex.baselines.base import AdaptingBaseline, Study
from domindex.baselines.networks import Adaptation, Encoding, PlainModule, is_target
from domindex.neural.batches import Batch


class Dissenter(nn.Module):
    """A second predictor that agrees with the first on sources and departs from it on targets."""

    def __init__(self, head: nn.Module, margin: float) -> None:
        super().__init__()
        self.head = head
        self.margin = margin

    def forward(self, z: Tensor, opinion: Tensor, target: Tensor) -> Tensor:
        """−γ E_source[log p'(ŷ|z)] − E_target[log(1 − p'(ŷ|z))]; `target` is (domains,) bool."""
        agreement = log_agreement(self.head(z), opinion)
        departure = torch.log1p(-agreement[target].exp().clamp_max(1.0 - 1e-6))
        return -self.margin * agreement[~target].mean() - departure.mean()


def log_agreement(predicted: Distribution, opinion: Tensor) -> Tensor:
    """log p'(ŷ|z) of every row: of a class, or −½ mean (ŷ' − ŷ)² for values, at most 0."""
    if isinstance(predicted, Categorical):
        return predicted.log_prob(opinion)
    return -0.5 * (predicted.mean - opinion).square().mean(dim=-1)


class DisparityAdaptation(Adaptation):
    """z on which no second predictor can agree on the sources and differ on the targets."""

    def adversary_inputs(self, batch: Batch, latents: Encoding) -> tuple[Tensor, Tensor, Tensor]:
        predicted = self.module.predict(latents.z.detach())
        opinion = (
            predicted.probs.argmax(dim=-1)
            if isinstance(predicted, Categorical)
            else predicted.mean.detach()
        )
        return latents.z, opinion, is_target(batch)


class MDD(AdaptingBaseline):
    """Leave no room for a second opinion on the targets (Zhang et al., 2019).

    An auxiliary predictor learns to agree with the first on sources and to differ on targets, with
    a margin log γ; the encoder learns that it cannot. The classes of the first predictor are taken
    as they are, without a gradient. For values the likelihood of a class becomes that of a Normal,
    so the cross-entropy becomes half the squared difference, with γ = 1.

    Examples
    --------
    >>> from domindex.baselines import MDD
    >>> model = MDD(training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    _default_weight = 0.3

    def _train(self, study: Study) -> PlainModule:
        values = study.data.task == "regression"
        head = study.predictor(study.latent_dim)
        # A squared difference is not bounded, and the encoder would drive the two apart: values
        # have no margin, and a smaller weight.
        adversary = Dissenter(head, 1.0 if values else 4.0)
        weight = 0.1 if values and self.adaptation_weight is None else self._weight
        return study.train("encoding", DisparityAdaptation(study.module(), adversary, weight))
