"""The network of the model: infer the latents, generate from them, predict."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from domindex.model.latents import Indices, Latents, draw
from domindex.networks.blocks import mlp
from domindex.networks.decoders import InputDecoder, LocalIndexDecoder
from domindex.networks.encoders import DataEncoder, GlobalIndexEncoder, LocalIndexEncoder


class VDIModule(nn.Module):
    """q(u|x) q(β|u) q(z|x,u,β) and p(β) p(u|β) p(x|u) p(z|x,u,β) p(y|z).

    Inputs come as (domains, batch, features) with the raw index of the same domains,
    (domains, index_dim).
    """

    prior_mean: Tensor
    prior_scale: Tensor

    def __init__(
        self,
        n_features: int,
        local_dim: int,
        index_dim: int,
        carrier: nn.Module,
        predictor: nn.Module,
        width: int,
    ) -> None:
        super().__init__()
        self.local_dim, self.index_dim, self.width = local_dim, index_dim, width
        self.local_encoder = LocalIndexEncoder(n_features, local_dim, width)
        self.index_encoder = GlobalIndexEncoder(index_dim, width)
        self.input_decoder = InputDecoder(local_dim, n_features, width)
        self.local_decoder = LocalIndexDecoder(index_dim, local_dim, width)
        self.contrast = mlp(local_dim, width, width, depth=1)
        self.register_buffer("prior_mean", torch.zeros(index_dim))
        self.register_buffer("prior_scale", torch.ones(index_dim))
        self.start_encoding(carrier, predictor)

    @property
    def index_prior(self) -> Normal:
        """p(β) = N(μ_α, σ_α²): the raw index has unit scale, and so has its prior."""
        return Normal(self.prior_mean, self.prior_scale, validate_args=False)

    def start_encoding(self, carrier: nn.Module, predictor: nn.Module) -> None:
        """Take a new, untrained encoder and predictor; the indices stay."""
        device = self.prior_mean.device
        sizes = self.local_dim, self.index_dim, self.width
        self.data_encoder = DataEncoder(carrier, *sizes).to(device)
        self.predictor = predictor.to(device)

    def infer_indices(self, x: Tensor, raw_index: Tensor, sample: bool = True) -> Indices:
        """q(u|x) and q(β|u), with a draw of each, or their means for a prediction."""
        u_posterior = self.local_encoder(x)
        beta_posterior = self.index_encoder(raw_index)
        return Indices(
            u_posterior, draw(u_posterior, sample), beta_posterior, draw(beta_posterior, sample)
        )

    def encode(self, normalized: Tensor, indices: Indices, sample: bool = True) -> Latents:
        """q(z|x,u,β) given the indices, with x normalised where the task asks for it."""
        posterior, prior = self.data_encoder(normalized, indices.u, indices.beta)
        return Latents(
            **vars(indices), z_posterior=posterior, z_prior=prior, z=draw(posterior, sample)
        )

    def infer(
        self, x: Tensor, normalized: Tensor, raw_index: Tensor, sample: bool = True
    ) -> Latents:
        """All latents of a batch."""
        return self.encode(normalized, self.infer_indices(x, raw_index, sample), sample)

    def predict(self, z: Tensor) -> Distribution:
        """p(y|z)."""
        return self.predictor(z)
