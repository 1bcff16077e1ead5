"""What the indices are learned for: the terms of the bound in u and β, and the contrastive loss."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal, kl_divergence
from torch.nn import functional

from domindex.neural.batches import Batch
from domindex.neural.training import Objective, Terms
from domindex.vdi import bound
from domindex.vdi.module import IndexModule, Indices
from domindex.vdi.settings import Weights


def contrastive_loss(
    projections: Tensor,
    max_points: int = 512,
    generator: torch.Generator | None = None,
) -> Tensor:
    """ℓ = −log( exp sim(h_ki, h_kj) / Σ_{m≠k,n} exp sim(h_ki, h_mn) ), j = i + 1 mod b, averaged.

    `projections` h are (domains, batch, size), sim is the cosine and the temperature 1. The
    sum is taken as a mean, so that the value does not grow with the number of domains. At most
    `max_points` rows enter, so memory is bounded by its square.
    """
    h = functional.normalize(_thin(projections, max_points, generator), dim=-1)
    n_domains, batch, _ = h.shape
    agreement = (h * h.roll(-1, dims=1)).sum(dim=-1).reshape(-1)
    points = h.reshape(n_domains * batch, -1)
    # A cosine is at most 1: its exponential needs no care, and is summed a domain at a time, so
    # that nothing but the products themselves is as large as all pairs.
    sums = (points @ points.T).exp().view(-1, n_domains, batch).sum(dim=-1)
    same = torch.eye(n_domains, dtype=torch.bool, device=h.device).repeat_interleave(batch, dim=0)
    others = sums.masked_fill(same, 0.0).sum(dim=1).log() - math.log((n_domains - 1) * batch)
    return (others - agreement).mean()


def _thin(projections: Tensor, max_points: int, generator: torch.Generator | None = None) -> Tensor:
    """Fewer rows per domain, down to two, then fewer domains, drawn at random."""
    n_domains, batch, _ = projections.shape
    if n_domains * batch <= max_points:
        return projections
    rows = max(2, max_points // n_domains)
    n_drawn = max(2, min(n_domains, max_points // rows))
    if n_drawn < n_domains:
        order = torch.randperm(n_domains, device=projections.device, generator=generator)
        projections = projections[order[:n_drawn]]
    return projections[:, :rows]


def index_terms(module: Any, x: Tensor, batch: Batch, latents: Indices) -> Terms:
    """The terms of the bound in u and β, larger when better, and the contrastive loss.

    `module` is any with the networks of these terms: `IndexModule` or `VariationalModel`.
    """
    return {
        "input_reconstruction": bound.input_reconstruction(x, module.input_decoder(latents.u)),
        "local_index_reconstruction": bound.local_index_reconstruction(
            latents, module.local_decoder(latents.beta)
        ),
        "local_index_entropy": bound.local_index_entropy(latents),
        "global_index_divergence": bound.global_index_divergence(
            latents, module.index_prior, batch.domain_sizes
        ),
        "contrastive": contrastive_loss(module.contrast(latents.u), generator=batch.generator),
    }


class IndexObjective(Objective):
    """The loss of the indices: reconstruct x from u and u from β, agree within domains."""

    module: IndexModule

    def __init__(self, module: IndexModule, weights: Weights) -> None:
        super().__init__(module)
        self.weights = weights

    def infer(self, batch: Batch) -> Indices:
        return self.module.infer(batch.x, batch.raw_index, True, batch.generator)

    def forward(self, batch: Batch, latents: Indices, ramp: float) -> tuple[Tensor, Terms]:
        weights = self.weights
        terms = index_terms(self.module, self.module.reconstructed(batch.x), batch, latents)
        gain = (
            weights.input_reconstruction * terms["input_reconstruction"]
            + weights.local_index * terms["local_index_reconstruction"]
            + weights.local_index * terms["local_index_entropy"]
            + weights.local_index * terms["global_index_divergence"]
        )
        return weights.contrastive * terms["contrastive"] - gain, terms


def disagreement(first: Distribution, second: Distribution) -> Tensor:
    """Symmetric KL divergence between two predictions, averaged over rows."""
    if isinstance(first, Categorical) and isinstance(second, Categorical):
        gap = (first.probs - second.probs) * (first.logits - second.logits)
        return gap.sum(dim=-1).mean()
    if isinstance(first, Normal) and isinstance(second, Normal):
        both = kl_divergence(first, second) + kl_divergence(second, first)
        return both.sum(dim=-1).mean()
    raise TypeError(f"no disagreement defined for {type(first)} and {type(second)}")
