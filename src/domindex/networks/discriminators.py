"""Adversaries of the encoder: what of the domain can still be read off z."""

from __future__ import annotations

from torch import Tensor, nn


def body(n_inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_inputs, width),
        nn.LeakyReLU(0.1),
        nn.Linear(width, width),
        nn.LeakyReLU(0.1),
    )


class DomainClassifier(nn.Module):
    """z to scores of the domains, (..., domains): the paper's D(k|z)."""

    def __init__(self, n_inputs: int, n_domains: int, width: int) -> None:
        super().__init__()
        self.network = nn.Sequential(body(n_inputs, width), nn.Linear(width, n_domains))

    def forward(self, z: Tensor) -> Tensor:
        return self.network(z)


class IndexRegressor(nn.Module):
    """z to a guess of its domain's index, (..., index_dim)."""

    def __init__(self, n_inputs: int, index_dim: int, width: int) -> None:
        super().__init__()
        self.network = nn.Sequential(body(n_inputs, width), nn.Linear(width, index_dim))

    def forward(self, z: Tensor) -> Tensor:
        return self.network(z)


class GraphEmbedder(nn.Module):
    """z to an embedding whose inner product with another domain's tells whether they are joined."""

    def __init__(self, n_inputs: int, width: int, n_outputs: int = 16) -> None:
        super().__init__()
        self.network = nn.Sequential(body(n_inputs, width), nn.Linear(width, n_outputs))
        self.scale = n_outputs**-0.5

    def forward(self, z: Tensor) -> Tensor:
        return self.network(z) * self.scale**0.5
