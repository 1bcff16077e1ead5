"""The networks: inference q(u|x), q(β|u), q(z|x,u,β); generation p(x|u), p(u|β), p(y|z)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Categorical, Normal

from domindex.neural.layers import GaussianHead, bounded_scale, mlp, start_small

if TYPE_CHECKING:
    from domindex.vdi.alignments import Alignment


class LocalIndexEncoder(nn.Module):
    """q(u|x): a projection of x, plus a network that starts small.

    The projection holds the directions along which the domains differ; the network bends it where
    the bound gains from it. Behind a backbone the network is given its `n_seen` features,
    and the projection still the inputs themselves.
    """

    log_variance = (-6.0, 0.0)
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
        """Of flat rows (..., n_features), and a backbone's features of them, (..., n_seen)."""
        mean, raw = self.network(x if seen is None else seen).chunk(2, dim=-1)
        scale = bounded_scale(raw, *self.log_variance)
        return Normal(x @ self.projection + mean, scale, validate_args=False)


class GlobalIndexEncoder(nn.Module):
    """Equation 17: q(β|u) = N(β^r, σ_r²(β^r)) of the raw index β^r.

    The mean is the raw index itself, as in the authors' release; only the scale is learned. A
    learned mean gains nothing that the networks behind it could not do, and bends the map.
    """

    log_variance = (-8.0, -2.0)

    def __init__(self, index_dim: int, width: int) -> None:
        super().__init__()
        self.network = mlp(index_dim, index_dim, width, depth=1)
        start_small(self.network, 0.1)

    def forward(self, raw_index: Tensor) -> Normal:
        scale = bounded_scale(self.network(raw_index), *self.log_variance)
        return Normal(raw_index, scale, validate_args=False)


class DataEncoder(nn.Module):
    """q(z|x,u,β), and the p(z|x,u,β) it departs from.

    The prior lies where the alignment's structure alone puts x, with a fixed scale. The posterior
    lies where a network bent it to, and pays for that in KL[q ‖ p]: what the structure can do needs
    no network, and a network free of charge fits the sources and loses the targets. Both share the
    structure, so an untrained prior cannot pull z to a constant.

    Attributes
    ----------
    prior_scale : deviation of p(z|x,u,β) in units of the spread of z: the cost of departing
    """

    log_variance = (-8.0, 0.0)
    prior_scale = 0.1

    def __init__(self, alignment: Alignment, local_dim: int, index_dim: int, width: int) -> None:
        super().__init__()
        self.alignment = alignment
        latent_dim = alignment.latent_dim
        self.scale = mlp(latent_dim + local_dim + index_dim, latent_dim, width, depth=1)

    def forward(self, x: Tensor, u: Tensor, beta: Tensor) -> tuple[Normal, Normal]:
        """The posterior and the prior of z, both (domains, batch, latent_dim)."""
        straight, bent = self.alignment(x, beta)
        index = beta[:, None, :].expand(*x.shape[:2], -1)
        raw = self.scale(torch.cat([straight, u, index], dim=-1))
        scale = bounded_scale(raw, *self.log_variance)
        prior = Normal(straight, torch.full_like(straight, self.prior_scale), validate_args=False)
        return Normal(bent, scale, validate_args=False), prior


class InputDecoder(nn.Module):
    """Equation 3: p(x|u) of standardised inputs.

    Its scale is fixed: learned, it would drown other terms.
    """

    scale = 0.05**0.5

    def __init__(self, local_dim: int, n_features: int, width: int) -> None:
        super().__init__()
        self.network = mlp(local_dim, n_features, width, depth=2)

    def forward(self, u: Tensor) -> Normal:
        mean = self.network(u)
        return Normal(mean, torch.full_like(mean, self.scale), validate_args=False)


class LocalIndexDecoder(GaussianHead):
    """Equation 2: p(u|β), for β (domains, index_dim) a distribution (domains, 1, local_dim)."""

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
    log_variance = (-10.0, 4.0)

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
        scale = bounded_scale(self.spread(z), *self.log_variance)
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
