"""The evidence lower bound, term by term, named as in the paper.

log p(x, y) ≥ E_q[log p(x|u)] + E_q[log p(y|z)] + E_q[log p(u|β)]
            − KL[q(β|u) ‖ p(β)] − KL[q(z|x,u,β) ‖ p(z|x,u,β)] − E_q[log q(u|x)]

Each function returns one term, averaged over what it is defined on and larger when better, so the
bound is their sum.
"""

from __future__ import annotations

from torch import Tensor
from torch.distributions import Distribution, Normal, kl_divergence

from domindex.vdi.module import Indices, Latents


def input_reconstruction(x: Tensor, decoded: Normal) -> Tensor:
    """Equation 10: E_q(u|x)[log p(x|u)] per row, averaged: u keeps the information on x."""
    return decoded.log_prob(x).sum(dim=-1).mean()


def label_prediction(
    labels: Tensor, predicted: Distribution, known: Tensor | None = None
) -> Tensor:
    """Equation 11: E_q[log p(y|z)] per source row, all outputs together: z keeps what y needs.

    With `known` (folds, sources of one) bool, averaged over those that a fold knows, then over the
    folds, which stand one after the other; where none is known, nothing is gained.
    """
    log_likelihood = predicted.log_prob(labels).reshape(*labels.shape[:2], -1).sum(dim=-1)
    if known is None:
        return log_likelihood.mean()
    share = known.to(log_likelihood.dtype)
    share = share / share.sum(dim=1, keepdim=True).clamp_min(1.0)
    return (log_likelihood.mean(dim=1).view_as(share) * share).sum(dim=1).mean()


def local_index_reconstruction(latents: Indices, decoded: Normal) -> Tensor:
    """Equation 12: E_q(u|x) E_q(β|u)[log p(u|β)] per row: β keeps the information on u."""
    return decoded.log_prob(latents.u).sum(dim=-1).mean()


def global_index_divergence(latents: Indices, prior: Normal, domain_sizes: Tensor) -> Tensor:
    """Equation 13: −KL[q(β|u) ‖ N(μ_α, σ_α²)] per row, averaged over domains.

    A domain has one β for all of its rows, so a row pays its share: the more rows, the surer β.
    """
    divergence = kl_divergence(latents.beta_posterior, prior).sum(dim=-1)
    return -(divergence / domain_sizes).mean()


def encoding_divergence(latents: Latents) -> Tensor:
    """Equation 13: −KL[q(z|x,u,β) ‖ p(z|x,u,β)] per row: z departs from its prior at a cost."""
    return -kl_divergence(latents.z_posterior, latents.z_prior).sum(dim=-1).mean()


def local_index_entropy(latents: Indices) -> Tensor:
    """Equation 13: −E_q[log q(u|x)] per row, averaged: u is not surer than the data allow."""
    return latents.u_posterior.entropy().sum(dim=-1).mean()
