"""The latent variables of a batch, with the posteriors they came from."""

from __future__ import annotations

from dataclasses import dataclass

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


def draw(posterior: Normal, sample: bool, share: Share | None = None) -> Tensor:
    """A reparameterised sample while training, the mean for a prediction.

    With a `share`, of rows (domains, rows of the share, ...), as the whole batch would be drawn.
    """
    if not sample:
        return posterior.mean
    if share is None:
        return posterior.rsample()
    return posterior.mean + posterior.stddev * share.noise(posterior.mean)
