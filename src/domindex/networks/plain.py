"""Networks without structure, which every baseline shares: one encoder, one predictor of values."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from domindex.networks.blocks import mlp


class PlainEncoder(nn.Module):
    """x (domains, batch, features), and what is given of a domain (domains, size), to z.

    z is normalised over its coordinates, so that no method can hide the domain by shrinking it.
    """

    def __init__(self, n_features: int, n_given: int, latent_dim: int, width: int) -> None:
        super().__init__()
        self.network = mlp(n_features + n_given, latent_dim, width, depth=2)
        self.norm = nn.LayerNorm(latent_dim, elementwise_affine=False)

    def forward(self, x: Tensor, given: Tensor) -> Tensor:
        spread = given[:, None, :].expand(*x.shape[:2], -1)
        return self.norm(self.network(torch.cat([x, spread], dim=-1)))


class ValuePredictor(nn.Module):
    """p(y|z) for values: a Normal of unit scale, so that its likelihood is the squared error."""

    def __init__(self, latent_dim: int, n_outputs: int, width: int = 32) -> None:
        super().__init__()
        self.linear = nn.Linear(latent_dim, n_outputs)
        self.bend = mlp(latent_dim, n_outputs, width, depth=1)

    def forward(self, z: Tensor) -> Normal:
        mean = self.linear(z) + self.bend(z)
        return Normal(mean, torch.ones_like(mean), validate_args=False)
