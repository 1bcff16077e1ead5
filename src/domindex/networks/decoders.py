"""The generative networks p(x|u), p(u|β) and p(y|z)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Normal

from domindex.networks.blocks import GaussianHead, mlp

INPUT_SCALE = 0.05**0.5
"""Fixed deviation of p(x|u) on standardised inputs: learned, it would drown the other terms."""


class InputDecoder(nn.Module):
    """p(x|u), with a fixed scale."""

    def __init__(self, local_dim: int, n_features: int, width: int) -> None:
        super().__init__()
        self.network = mlp(local_dim, n_features, width, depth=2)

    def forward(self, u: Tensor) -> Normal:
        mean = self.network(u)
        return Normal(mean, torch.full_like(mean, INPUT_SCALE), validate_args=False)


class LocalIndexDecoder(GaussianHead):
    """p(u|β), for β (domains, index_dim) a distribution (domains, 1, local_dim)."""

    def __init__(self, index_dim: int, local_dim: int, width: int) -> None:
        super().__init__(index_dim, local_dim, width, depth=1, log_variance=(-6.0, 2.0))

    def forward(self, beta: Tensor) -> Normal:
        return super().forward(beta[:, None, :])


class ClassPredictor(nn.Module):
    """p(y|z) for classes: a linear path, which extrapolates, and a small network beside it."""

    def __init__(self, latent_dim: int, n_classes: int, width: int = 32) -> None:
        super().__init__()
        self.linear = nn.Linear(latent_dim, n_classes)
        self.bend = mlp(latent_dim, n_classes, width, depth=1)

    def forward(self, z: Tensor) -> Categorical:
        return Categorical(logits=self.linear(z) + self.bend(z), validate_args=False)
