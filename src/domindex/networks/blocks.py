"""What the networks are built from."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Normal


def mlp(n_inputs: int, n_outputs: int, width: int, depth: int) -> nn.Sequential:
    """`depth` hidden layers with ReLU; `depth` 0 is one linear map."""
    layers: list[nn.Module] = []
    size = n_inputs
    for _ in range(depth):
        layers += [nn.Linear(size, width), nn.ReLU()]
        size = width
    return nn.Sequential(*layers, nn.Linear(size, n_outputs))


def start_small(network: nn.Sequential, factor: float) -> None:
    """Scale down the last layer, so that the network starts near zero everywhere."""
    last = network[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.mul_(factor)
        nn.init.zeros_(last.bias)


def bounded_scale(raw: Tensor, low: float, high: float) -> Tensor:
    """A deviation between exp(low / 2) and exp(high / 2): unbounded variances end in NaN."""
    log_variance = low + (high - low) * torch.sigmoid(raw)
    return (0.5 * log_variance).exp()


class GaussianHead(nn.Module):
    """Features of any leading shape to an independent Normal with a bounded scale."""

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        width: int,
        depth: int,
        log_variance: tuple[float, float],
    ) -> None:
        super().__init__()
        self.network = mlp(n_inputs, 2 * n_outputs, width, depth)
        self.log_variance = log_variance

    def forward(self, features: Tensor) -> Normal:
        mean, raw = self.network(features).chunk(2, dim=-1)
        return Normal(mean, bounded_scale(raw, *self.log_variance), validate_args=False)
