"""Layers that networks are built from."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from domindex.neural.backbones import FeatureExtractor


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


class RunningStatistics(nn.Module):
    """Statistics of rows: those of the batch while training, running ones to predict."""

    count: Tensor

    def __init__(self, **start: Tensor) -> None:
        super().__init__()
        self.momentum: float | None = 0.1
        for name, value in start.items():
            self.register_buffer(name, value)
        self.register_buffer("count", torch.zeros(()))

    def measure_anew(self) -> None:
        """Forget the running statistics, and from now on take a plain mean over batches."""
        self.momentum = None
        for statistic in self.buffers():
            statistic.zero_()

    def _update(self, **batch: Tensor) -> None:
        self.count += 1
        share = 1.0 / self.count if self.momentum is None else self.momentum
        for name, value in batch.items():
            running = self.get_buffer(name)
            running += share * (value.detach() - running)


class Whitening(RunningStatistics):
    """Rows (..., n, size) to zero mean and unit covariance over n.

    Unlike one scale per coordinate, it keeps z from folding onto a line, on which a domain could
    turn its classes over unseen.
    """

    mean: Tensor
    covariance: Tensor

    def __init__(self, size: int) -> None:
        super().__init__(mean=torch.zeros(size), covariance=torch.eye(size))

    def forward(self, rows: Tensor) -> Tensor:
        mean, covariance = self.mean, self.covariance
        if self.training:
            mean = rows.mean(dim=-2)
            centred = rows - mean.unsqueeze(-2)
            covariance = centred.mT @ centred / rows.shape[-2]
            self._update(mean=mean, covariance=covariance)
        # Double precision and a relative floor: an early map may be close to singular.
        wide = covariance.double()
        spread = wide.diagonal(dim1=-2, dim2=-1).mean(dim=-1).detach().clamp_min(1e-12)
        floor = 1e-5 * spread[..., None, None] * torch.eye(mean.shape[-1]).to(wide)
        factor = torch.linalg.cholesky(wide + floor)
        centred = (rows - mean.unsqueeze(-2)).mT.double()
        return torch.linalg.solve_triangular(factor, centred, upper=False).mT.to(rows.dtype)

    def as_linear(self) -> nn.Linear:
        """What it does to rows that are predicted from, without the solving."""
        size, twin = len(self.mean), copy.deepcopy(self).eval()
        layer = nn.Linear(size, size).to(self.mean)
        with torch.no_grad():
            matrix = twin(torch.eye(size).to(self.mean) + self.mean)
            layer.weight.copy_(matrix.T)
            layer.bias.copy_(-self.mean @ matrix)
        return layer


class Standardising(RunningStatistics):
    """Rows (..., size) to zero mean and unit deviation over all rows.

    Of several copies that run as one, statistics are (copies, size), and every copy has its own.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, size: int) -> None:
        super().__init__(mean=torch.zeros(size), variance=torch.ones(size))

    def forward(self, rows: Tensor) -> Tensor:
        copies = self.mean.shape[:-1]
        parts = rows.reshape(*copies, -1, rows.shape[-1])
        mean, variance = self.mean, self.variance
        if self.training:
            mean = parts.mean(dim=-2)
            variance = ((parts - mean.unsqueeze(-2)) ** 2).mean(dim=-2)
            self._update(mean=mean, variance=variance)
        # A relative floor: a feature that hardly moves is not blown up.
        floor = 1e-3 * variance.mean(dim=-1, keepdim=True) + 1e-12
        scaled = (parts - mean.unsqueeze(-2)) / (variance + floor).sqrt().unsqueeze(-2)
        return scaled.view_as(rows)


class SeenFeatures(nn.Module):
    """Rows to a backbone's features, standardised: (..., n_features)."""

    def __init__(self, extractor: FeatureExtractor) -> None:
        super().__init__()
        self.extractor = extractor
        self.n_features = extractor.n_features
        self.norm = Standardising(extractor.n_features)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.extractor(x))
