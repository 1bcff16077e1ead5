"""The latent variables of a batch, with the posteriors they came from."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.distributions import Normal


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


def draw(posterior: Normal, sample: bool) -> Tensor:
    """A reparameterised sample while training, the mean for a prediction."""
    return posterior.rsample() if sample else posterior.mean
