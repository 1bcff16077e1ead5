"""Networks without structure, which every baseline shares: one encoder, one predictor of values."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from domindex.networks.blocks import mlp

START = 0.3
"""Share of the usual size at which weights of the encoder start: from large ones it can bend the
sources and the targets apart before an adversary has learned anything."""


class PlainEncoder(nn.Module):
    """x (domains, batch, features), and what is given of a domain (domains, size), to z.

    What is given gates the first layer, so that one and the same network is turned smoothly from
    domain to domain. z is normalised over its coordinates: shrinking it hides nothing.
    """

    def __init__(self, n_features: int, n_given: int, latent_dim: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(n_features, width)
        self.rest = mlp(width, latent_dim, width, depth=1)
        self.gate = (
            nn.Sequential(nn.Linear(n_given, width), nn.Tanh(), nn.Linear(width, width))
            if n_given
            else None
        )
        self.norm = nn.LayerNorm(latent_dim, elementwise_affine=False)
        with torch.no_grad():
            for weight in (*self.first.parameters(), *self.rest.parameters()):
                weight.mul_(START)

    def forward(self, x: Tensor, given: Tensor) -> Tensor:
        hidden = self.first(x)
        if self.gate is not None:
            hidden = hidden * self.gate(given)[:, None, :]
        return self.norm(self.rest(torch.tanh(hidden)))


class SeeingEncoder(nn.Module):
    """The same of what a backbone tells of x."""

    def __init__(self, seen: nn.Module, encoder: PlainEncoder) -> None:
        super().__init__()
        self.seen = seen
        self.encoder = encoder

    def forward(self, x: Tensor, given: Tensor) -> Tensor:
        return self.encoder(self.seen(x), given)


class PlainValuePredictor(nn.Module):
    """p(y|z) for values: a Normal of unit scale, so that its likelihood is the squared error."""

    def __init__(self, latent_dim: int, n_outputs: int, width: int = 32) -> None:
        super().__init__()
        self.linear = nn.Linear(latent_dim, n_outputs)
        self.bend = mlp(latent_dim, n_outputs, width, depth=1)

    def forward(self, z: Tensor) -> Normal:
        mean = self.linear(z) + self.bend(z)
        return Normal(mean, torch.ones_like(mean), validate_args=False)
