"""The contrastive loss that makes local indices of one domain agree."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from domindex.networks.shares import Share

CONTRASTED_POINTS = 1024
"""Points compared with each other at once; more domains or larger batches are thinned to this."""


def contrastive_loss(
    projections: Tensor,
    share: Share | None = None,
    max_points: int = CONTRASTED_POINTS,
    generator: torch.Generator | None = None,
) -> Tensor:
    """ℓ = −log( exp sim(h_ki, h_kj) / Σ_{m≠k,n} exp sim(h_ki, h_mn) ), j = i + 1 mod b, averaged.

    `projections` h are (domains, batch, size), sim is the cosine and the temperature 1. The
    sum is taken as a mean, so that the value does not grow with the number of domains. At most
    `max_points` rows enter, so memory is bounded by its square.

    With a `share` of the rows those of all processes are gathered, and every process compares its
    part of them with all.
    """
    if share is not None:
        projections = share.gathered(projections.float())
    h = functional.normalize(_thin(projections, max_points, generator), dim=-1)
    n_domains, batch, _ = h.shape
    own = slice(None) if share is None else share.part(n_domains * batch)
    agreement = (h * h.roll(-1, dims=1)).sum(dim=-1).reshape(-1)
    points = h.reshape(n_domains * batch, -1)
    # A cosine is at most 1: its exponential needs no care, and is summed a domain at a time, so
    # that nothing but the products themselves is as large as all pairs.
    sums = (points[own] @ points.T).exp().view(-1, n_domains, batch).sum(dim=-1)
    same = torch.eye(n_domains, dtype=torch.bool, device=h.device).repeat_interleave(batch, dim=0)
    others = sums.masked_fill(same[own], 0.0).sum(dim=1).log() - math.log((n_domains - 1) * batch)
    losses = others - agreement[own]
    return losses.mean() if share is None else share.from_parts(losses.sum() / len(points))


def _thin(projections: Tensor, max_points: int, generator: torch.Generator | None = None) -> Tensor:
    """Fewer rows per domain, down to two, then fewer domains, drawn at random."""
    n_domains, batch, _ = projections.shape
    if n_domains * batch <= max_points:
        return projections
    rows = max(2, max_points // n_domains)
    kept = max(2, min(n_domains, max_points // rows))
    if kept < n_domains:
        order = torch.randperm(n_domains, device=projections.device, generator=generator)
        projections = projections[order[:kept]]
    return projections[:, :rows]
