"""The generative networks p(x|u), p(u|β) and p(y|z)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Categorical, Normal

from domindex.networks.blocks import GaussianHead, bounded_scale, mlp, start_small

INPUT_SCALE = 0.05**0.5
"""Fixed deviation of p(x|u) on standardised inputs: learned, it would drown the other terms."""


VALUE_LOG_VARIANCE = (-10.0, 4.0)


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


class OutputPredictor(nn.Module, ABC):
    """p(y|z); the constructor's arguments stand in `sizes`."""

    name: ClassVar[str]
    sizes: dict[str, int]

    @abstractmethod
    def redrawn(self) -> OutputPredictor:
        """One to be trained, with what starts at random drawn anew."""


class ClassPredictor(OutputPredictor):
    """p(y|z) for classes: a linear path, which extrapolates, and a small network beside it."""

    name: ClassVar[str] = "classes"

    def __init__(self, latent_dim: int, n_classes: int, width: int = 32) -> None:
        super().__init__()
        self.sizes = {"latent_dim": latent_dim, "n_classes": n_classes, "width": width}
        self.linear = nn.Linear(latent_dim, n_classes)
        self.bend = mlp(latent_dim, n_classes, width, depth=1)

    def forward(self, z: Tensor) -> Categorical:
        return Categorical(logits=self.linear(z) + self.bend(z), validate_args=False)

    def redrawn(self) -> ClassPredictor:
        """A fresh one of the same sizes."""
        return ClassPredictor(**self.sizes)


class ValuePredictor(OutputPredictor):
    """p(y|z) for values: a linear path, which extrapolates, a small network, and a variance.

    The path may be given in closed form; see `follow`.
    """

    name: ClassVar[str] = "values"

    def __init__(self, latent_dim: int, n_outputs: int, width: int = 32) -> None:
        super().__init__()
        self.sizes = {"latent_dim": latent_dim, "n_outputs": n_outputs, "width": width}
        self.linear = nn.Linear(latent_dim, n_outputs)
        self.bend = mlp(latent_dim, n_outputs, width, depth=1)
        start_small(self.bend, 0.0)
        self._follows = False
        self.spread = mlp(latent_dim, n_outputs, width, depth=1)

    def follow(self, slopes: NDArray, intercept: NDArray, may_bend: bool) -> ValuePredictor:
        """Take slopes (latent_dim, outputs) and intercept for the linear path.

        With `may_bend` that is where it starts, and the network bends it as the likelihood asks;
        without, the path is followed to the letter.
        """
        with torch.no_grad():
            self.linear.weight.copy_(torch.as_tensor(slopes.T))
            self.linear.bias.copy_(torch.as_tensor(intercept))
        self.linear.requires_grad_(may_bend)
        self.bend.requires_grad_(may_bend)
        self._follows = True
        return self

    def forward(self, z: Tensor) -> Normal:
        scale = bounded_scale(self.spread(z), *VALUE_LOG_VARIANCE)
        return Normal(self.linear(z) + self.bend(z), scale, validate_args=False)

    def redrawn(self) -> ValuePredictor:
        """A fresh one of the same sizes, on the same linear path where one was given."""
        fresh = ValuePredictor(**self.sizes)
        if not self._follows:
            return fresh
        slopes, intercept = self.linear.weight.detach().numpy().T, self.linear.bias.detach().numpy()
        return fresh.follow(slopes, intercept, may_bend=self.linear.weight.requires_grad)


OUTPUT_PREDICTORS: dict[str, type[OutputPredictor]] = {
    kind.name: kind for kind in (ClassPredictor, ValuePredictor)
}
