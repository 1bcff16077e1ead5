"""How far the domains' encodings are apart, without an adversary."""

from __future__ import annotations

import torch
from torch import Tensor

MISALIGNMENT_DIRECTIONS = 16


def sliced_misalignment(
    z: Tensor,
    n_directions: int = MISALIGNMENT_DIRECTIONS,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Mean squared 1-D transport distance between a domain's z and the average domain's.

    z is (domains, batch, latent_dim). Along random directions the sorted values of every domain
    are compared with their mean over domains, which is the barycentre of the projected clouds:
    zero where z tells nothing about the domain. z is whitened first, so that it cannot come closer
    by shrinking.
    """
    z = _whitened(z)
    size = z.shape[-1], n_directions
    directions = torch.randn(size, device=z.device, dtype=z.dtype, generator=generator)
    directions = directions / directions.norm(dim=0)
    quantiles = (z @ directions).sort(dim=1).values
    return (quantiles - quantiles.mean(dim=0)).square().mean() * z.shape[-1]


def _whitened(z: Tensor) -> Tensor:
    """z with zero mean and unit covariance over the batch."""
    flat = z.flatten(0, 1)
    centred = flat - flat.mean(dim=0)
    covariance = centred.T @ centred / len(centred)
    floor = 1e-6 * covariance.diagonal().mean().detach().clamp_min(1e-30)
    factor = torch.linalg.cholesky(covariance + floor * torch.eye(z.shape[-1]).to(z))
    return torch.linalg.solve_triangular(factor, centred.T, upper=False).T.view_as(z)
