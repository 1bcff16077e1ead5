"""The inference networks q(u|x), q(β|u) and q(z|x,u,β)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Normal

from domindex.networks.alignments import Alignment
from domindex.networks.blocks import bounded_scale, mlp, start_small

LOCAL_LOG_VARIANCE = (-6.0, 0.0)
INDEX_LOG_VARIANCE = (-8.0, -2.0)
ENCODING_LOG_VARIANCE = (-8.0, 0.0)
ENCODING_SCALE = 0.1
"""Deviation of p(z|x,u,β) in units of the spread of z: the price of leaving the linear path."""


class LocalIndexEncoder(nn.Module):
    """q(u|x): a projection of x, plus a network that starts small.

    The projection holds the directions along which the domains differ; the network bends it where
    the bound gains from it. Where a backbone tells x (`n_seen` features), the network is given what
    it tells, and the projection still the inputs themselves.
    """

    projection: Tensor

    def __init__(
        self, n_features: int, local_dim: int, width: int, n_seen: int | None = None
    ) -> None:
        super().__init__()
        self.register_buffer("projection", torch.zeros(n_features, local_dim))
        self.network = mlp(n_seen or n_features, 2 * local_dim, width, depth=2)
        start_small(self.network, 0.1)

    def start_at(self, projection: NDArray) -> None:
        """Take the directions (features, local_dim)."""
        self.projection.copy_(torch.as_tensor(np.ascontiguousarray(projection)))

    def drop_refinement(self) -> None:
        """Take the mean back to the projection; the scale stays as it was learned."""
        last = self.network[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight[: self.projection.shape[1]] = 0.0
            last.bias[: self.projection.shape[1]] = 0.0

    def forward(self, x: Tensor, seen: Tensor | None = None) -> Normal:
        """Of flat rows (..., n_features), and what a backbone tells of them, (..., n_seen)."""
        mean, raw = self.network(x if seen is None else seen).chunk(2, dim=-1)
        scale = bounded_scale(raw, *LOCAL_LOG_VARIANCE)
        return Normal(x @ self.projection + mean, scale, validate_args=False)


class GlobalIndexEncoder(nn.Module):
    """q(β|u) from the raw index: that is its mean, and its scale is learned.

    A learned mean gains nothing that the networks behind it could not do, and bends the map.
    """

    def __init__(self, index_dim: int, width: int) -> None:
        super().__init__()
        self.network = mlp(index_dim, index_dim, width, depth=1)
        start_small(self.network, 0.1)

    def forward(self, raw_index: Tensor) -> Normal:
        scale = bounded_scale(self.network(raw_index), *INDEX_LOG_VARIANCE)
        return Normal(raw_index, scale, validate_args=False)


class DataEncoder(nn.Module):
    """q(z|x,u,β), and the p(z|x,u,β) it departs from.

    The prior lies where the alignment's structure alone puts x, with a fixed scale. The posterior
    lies where a network bent it to, and pays for that in KL[q ‖ p]: what the structure can do needs
    no network, and a network free of charge fits the sources and loses the targets. Both share the
    structure, so an untrained prior cannot pull z to a constant.
    """

    def __init__(self, alignment: Alignment, local_dim: int, index_dim: int, width: int) -> None:
        super().__init__()
        self.alignment = alignment
        latent_dim = alignment.latent_dim
        self.scale = mlp(latent_dim + local_dim + index_dim, latent_dim, width, depth=1)

    def forward(self, x: Tensor, u: Tensor, beta: Tensor) -> tuple[Normal, Normal]:
        """The posterior and the prior of z, both (domains, batch, latent_dim)."""
        straight, bent = self.means(x, beta)
        index = beta[:, None, :].expand(*x.shape[:2], -1)
        raw = self.scale(torch.cat([straight, u, index], dim=-1))
        scale = bounded_scale(raw, *ENCODING_LOG_VARIANCE)
        prior = Normal(straight, torch.full_like(straight, ENCODING_SCALE), validate_args=False)
        return Normal(bent, scale, validate_args=False), prior

    def means(self, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        """Of the prior and the posterior."""
        exact = next(self.alignment.parameters()).dtype
        with torch.autocast(x.device.type, enabled=False):  # exponentials need full precision
            return self.alignment(x.to(exact), beta.to(exact))
