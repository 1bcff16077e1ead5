"""The latent variables, and the networks of the indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from domindex.neural.backbones import FeatureExtractor, extractor_of_sizes
from domindex.neural.builtin_backbones import Flatten
from domindex.neural.layers import SeenFeatures, mlp
from domindex.neural.training import ParameterGroup, trainable
from domindex.neural.weights import Sizes, count, network_from_state, network_state
from domindex.vdi.networks import (
    GlobalIndexEncoder,
    InputDecoder,
    LocalIndexDecoder,
    LocalIndexEncoder,
)


@dataclass
class Indices:
    """A draw (or the means) of the local and global indices, from q(u|x) q(β|u).

    Attributes
    ----------
    u_posterior, u : (domains, batch, local_dim)
    beta_posterior, beta : (domains, index_dim), one index per domain
    """

    u_posterior: Normal
    u: Tensor
    beta_posterior: Normal
    beta: Tensor


@dataclass
class Latents(Indices):
    """The indices, and z from q(z|x,u,β) given them.

    Attributes
    ----------
    z_posterior, z_prior, z : (domains, batch, latent_dim)
    """

    z_posterior: Normal
    z_prior: Normal
    z: Tensor


def draw(posterior: Normal, sample: bool, generator: torch.Generator | None = None) -> Tensor:
    """A reparameterised sample while training, the mean for a prediction."""
    if not sample:
        return posterior.mean
    return posterior.mean + posterior.stddev * noise_like(posterior.mean, generator)


def noise_like(one: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard normal, of the shape of `one`."""
    return torch.empty(one.shape, dtype=one.dtype, device=one.device).normal_(generator=generator)


class IndexModule(nn.Module):
    """q(u|x) q(β|u) and p(β) p(u|β) p(x|u).

    Inputs come as (domains, batch, *input_shape) with the raw index of the same domains,
    (domains, index_dim). With a backbone, q(u|x) also sees its features, and p(x|u) reconstructs
    these, standardised, in place of x.
    """

    prior_mean: Tensor
    prior_scale: Tensor

    def __init__(
        self,
        input_shape: tuple[int, ...],
        local_dim: int,
        index_dim: int,
        width: int,
        extractor: FeatureExtractor | None = None,
        rate: float = 1.0,
    ) -> None:
        super().__init__()
        self.flatten = Flatten(input_shape)
        self.backbone = None if extractor is None else SeenFeatures(extractor)
        self.local_dim, self.index_dim, self.width, self.rate = local_dim, index_dim, width, rate
        n_features = self.flatten.n_features
        n_seen = n_features if extractor is None else extractor.n_features
        self.local_encoder = LocalIndexEncoder(n_features, local_dim, width, n_seen)
        self.index_encoder = GlobalIndexEncoder(index_dim, width)
        self.input_decoder = InputDecoder(local_dim, n_seen, width)
        self.local_decoder = LocalIndexDecoder(index_dim, local_dim, width)
        self.contrast = mlp(local_dim, width, width, depth=1)
        self.register_buffer("prior_mean", torch.zeros(index_dim))
        self.register_buffer("prior_scale", torch.ones(index_dim))

    @property
    def index_prior(self) -> Normal:
        """p(β) = N(μ_α, σ_α²): the raw index has unit scale, and so has its prior."""
        return Normal(self.prior_mean, self.prior_scale, validate_args=False)

    def local_posterior(self, x: Tensor) -> Normal:
        """q(u|x) of rows (..., *input_shape)."""
        flat = self.flatten(x)
        return self.local_encoder(flat, None if self.backbone is None else self.backbone(flat))

    def reconstructed(self, x: Tensor) -> Tensor:
        """What p(x|u) is of: x flat, or the backbone's features of it, without gradient."""
        flat = self.flatten(x)
        if self.backbone is None:
            return flat
        with torch.no_grad():
            return self.backbone(flat)

    def parameter_groups(self) -> list[ParameterGroup]:
        """What is to be trained, and how fast."""
        backbone = [] if self.backbone is None else list(self.backbone.parameters())
        known = {id(parameter) for parameter in backbone}
        others = [parameter for parameter in self.parameters() if id(parameter) not in known]
        return [ParameterGroup(others, 1.0), ParameterGroup(trainable(backbone), self.rate)]

    def infer(
        self,
        x: Tensor,
        raw_index: Tensor,
        sample: bool = True,
        generator: torch.Generator | None = None,
    ) -> Indices:
        """q(u|x) and q(β|u), with a draw of each, or their means for a prediction."""
        u, beta = self.local_posterior(x), self.index_encoder(raw_index)
        local = draw(u, sample, generator)
        return Indices(u, local, beta, draw(beta, sample, generator))

    def state(self) -> dict[str, Any]:
        sizes = {
            "input_shape": list(self.flatten.input_shape),
            "extractor": None if self.backbone is None else self.backbone.extractor.sizes,
            "local_dim": self.local_dim,
            "index_dim": self.index_dim,
            "width": self.width,
        }
        return network_state(self, sizes)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> IndexModule:
        return network_from_state(cls._build, state)

    @classmethod
    def _build(cls, sizes: Sizes) -> IndexModule:
        shape = [count({"input_shape": size}, "input_shape") for size in sizes["input_shape"]]
        local_dim, index_dim, width = (
            count(sizes, name) for name in ("local_dim", "index_dim", "width")
        )
        extractor = None
        if sizes.get("extractor") is not None:
            extractor = extractor_of_sizes(sizes["extractor"])
            if extractor.input_shape != tuple(shape):
                raise ValueError("the backbone does not fit the inputs")
        return cls(tuple(shape), local_dim, index_dim, width, extractor)
