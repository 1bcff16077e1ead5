"""The latent variables of a batch, with the posteriors they came from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributions import Normal

from domindex.networks.shares import Share


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


def draw(
    posterior: Normal,
    sample: bool,
    share: Share | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """A reparameterised sample while training, the mean for a prediction.

    With a `share`, of rows (domains, rows of the share, ...), as the whole batch would be drawn.
    """
    if not sample:
        return posterior.mean
    return posterior.mean + posterior.stddev * noise_like(posterior.mean, share, generator)


def noise_like(
    one: Tensor, share: Share | None = None, generator: torch.Generator | None = None
) -> Tensor:
    """Standard normal, of the shape of `one`; of a share, its part of the whole batch's."""
    if share is not None:
        return share.noise(one, generator)
    return torch.empty(one.shape, dtype=one.dtype, device=one.device).normal_(generator=generator)
