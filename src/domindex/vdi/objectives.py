"""The two blocks of the objective: what the indices are for, and what the encoding is for.

The terms of the bound fall into those of u and β alone and those of z and y given them. Training
maximises the first block, then, at fixed indices, the second against the adversary: coordinate
ascent on one objective, in which the map stands still while the encoder learns to use it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Normal, kl_divergence
from torch.func import functional_call
from torch.nn import functional

from domindex.vdi import bound
from domindex.vdi.adversary import Adversary
from domindex.vdi.batches import Batch
from domindex.vdi.module import EncodingModule, IndexModule, Indices, Latents
from domindex.vdi.settings import Weights

Terms = dict[str, Tensor]


class Objective(nn.Module):
    """A loss of `module`, and perhaps an adversary with a loss of its own on what it reads.

    In a step the adversary learns first, on detached tensors; then the module learns, with the
    adversary's weights held fixed. What is trained beside the module may stand here as
    submodules.
    """

    def __init__(self, module: nn.Module, adversary: nn.Module | None = None) -> None:
        super().__init__()
        self.module = module
        # Not a submodule: the module's optimiser and averages must never touch the adversary.
        self._adversary = [adversary]

    @property
    def adversary(self) -> nn.Module | None:
        """Called with `adversary_inputs`, gives its own loss."""
        return self._adversary[0]

    @abstractmethod
    def infer(self, batch: Batch) -> Any:
        """The latents of a batch, with gradients."""

    @abstractmethod
    def forward(self, batch: Batch, latents: Any, ramp: float) -> tuple[Tensor, Terms]:
        """The loss, and its terms by name; `ramp` rises from 0 to 1 over the training."""

    def adversary_inputs(self, batch: Batch, latents: Any) -> tuple[Any, ...]:
        """What the adversary reads: z, and the facts it tries to read off it."""
        return latents.z, batch.facts

    def fixed_adversary(self, *inputs: Any) -> Tensor:
        """The adversary's loss with its weights held fixed: no gradient leaks into them."""
        adversary = self.adversary
        assert adversary is not None
        frozen = {name: value.detach() for name, value in adversary.named_parameters()}
        return functional_call(adversary, frozen, inputs)


def contrastive_loss(
    projections: Tensor,
    max_points: int = 1024,
    generator: torch.Generator | None = None,
) -> Tensor:
    """ℓ = −log( exp sim(h_ki, h_kj) / Σ_{m≠k,n} exp sim(h_ki, h_mn) ), j = i + 1 mod b, averaged.

    `projections` h are (domains, batch, size), sim is the cosine and the temperature 1. The
    sum is taken as a mean, so that the value does not grow with the number of domains. At most
    `max_points` rows enter, so memory is bounded by its square.
    """
    h = functional.normalize(_thin(projections, max_points, generator), dim=-1)
    n_domains, batch, _ = h.shape
    agreement = (h * h.roll(-1, dims=1)).sum(dim=-1).reshape(-1)
    points = h.reshape(n_domains * batch, -1)
    # A cosine is at most 1: its exponential needs no care, and is summed a domain at a time, so
    # that nothing but the products themselves is as large as all pairs.
    sums = (points @ points.T).exp().view(-1, n_domains, batch).sum(dim=-1)
    same = torch.eye(n_domains, dtype=torch.bool, device=h.device).repeat_interleave(batch, dim=0)
    others = sums.masked_fill(same, 0.0).sum(dim=1).log() - math.log((n_domains - 1) * batch)
    return (others - agreement).mean()


def _thin(projections: Tensor, max_points: int, generator: torch.Generator | None = None) -> Tensor:
    """Fewer rows per domain, down to two, then fewer domains, drawn at random."""
    n_domains, batch, _ = projections.shape
    if n_domains * batch <= max_points:
        return projections
    rows = max(2, max_points // n_domains)
    n_drawn = max(2, min(n_domains, max_points // rows))
    if n_drawn < n_domains:
        order = torch.randperm(n_domains, device=projections.device, generator=generator)
        projections = projections[order[:n_drawn]]
    return projections[:, :rows]


def sliced_misalignment(
    z: Tensor, n_directions: int = 16, generator: torch.Generator | None = None
) -> Tensor:
    """Mean squared 1-D transport distance between a domain's z and the average domain's.

    z is (domains, batch, latent_dim). Along random directions the sorted values of every domain
    are compared with their mean over domains, which is the barycentre of the projected clouds:
    zero where z says nothing about the domain. z is whitened first, so that it cannot come closer
    by shrinking.
    """
    z = _whitened(z)
    size = z.shape[-1], n_directions
    directions = torch.randn(size, device=z.device, dtype=z.dtype, generator=generator)
    directions = directions / directions.norm(dim=0)
    quantiles = (z @ directions).sort(dim=1).values
    return (quantiles - quantiles.mean(dim=0)).square().mean() * z.shape[-1]


def _whitened(z: Tensor) -> Tensor:
    """z with zero mean and unit covariance over the batch."""
    flat = z.flatten(0, 1)
    centred = flat - flat.mean(dim=0)
    covariance = centred.T @ centred / len(centred)
    floor = 1e-6 * covariance.diagonal().mean().detach().clamp_min(1e-30)
    factor = torch.linalg.cholesky(covariance + floor * torch.eye(z.shape[-1]).to(z))
    return torch.linalg.solve_triangular(factor, centred.T, upper=False).T.view_as(z)


class IndexObjective(Objective):
    """The loss of the indices: reconstruct x from u and u from β, agree within domains."""

    module: IndexModule

    def __init__(self, module: IndexModule, weights: Weights) -> None:
        super().__init__(module)
        self.weights = weights

    def infer(self, batch: Batch) -> Indices:
        return self.module.infer(batch.x, batch.raw_index, True, batch.generator)

    def forward(self, batch: Batch, latents: Indices, ramp: float) -> tuple[Tensor, Terms]:
        module, weights = self.module, self.weights
        terms = {
            "input_reconstruction": bound.input_reconstruction(
                module.reconstructed(batch.x), module.input_decoder(latents.u)
            ),
            "local_index_reconstruction": bound.local_index_reconstruction(
                latents, module.local_decoder(latents.beta)
            ),
            "local_index_entropy": bound.local_index_entropy(latents),
            "global_index_divergence": bound.global_index_divergence(
                latents, module.index_prior, batch.domain_sizes
            ),
            "contrastive": contrastive_loss(module.contrast(latents.u), generator=batch.generator),
        }
        gain = (
            weights.input_reconstruction * terms["input_reconstruction"]
            + weights.local_index * terms["local_index_reconstruction"]
            + weights.local_index * terms["local_index_entropy"]
            + weights.local_index * terms["global_index_divergence"]
        )
        return weights.contrastive * terms["contrastive"] - gain, terms


class EncodingObjective(Objective):
    """The loss of the encoding: predict y from z, hide the domain, move smoothly with β.

    Without an adversary nothing is hidden: for alignments whose structure leaves nothing to learn.
    """

    module: EncodingModule

    def __init__(
        self,
        module: EncodingModule,
        indices: IndexModule,
        adversary: Adversary | None,
        weights: Weights,
    ) -> None:
        super().__init__(module, adversary)
        self._indices = [indices]  # not a submodule: it is held fixed
        self.weights = weights

    def infer_indices(self, batch: Batch) -> Indices:
        """The means of u and β, which stand fixed."""
        with torch.no_grad():
            return self._indices[0].infer(batch.x, batch.raw_index, sample=False)

    def infer(self, batch: Batch) -> Latents:
        indices = self.infer_indices(batch)
        return self.module.infer(batch.represented, indices, True, batch.generator)

    def forward(self, batch: Batch, latents: Latents, ramp: float) -> tuple[Tensor, Terms]:
        predicted = self.module.predict(latents.z[batch.sources])
        terms = {
            "label_prediction": bound.label_prediction(batch.labels, predicted, batch.known),
            "encoding_divergence": bound.encoding_divergence(latents),
            "adversary": self._hiding(batch, latents),
            "smoothness": self._roughness(batch, latents),
            "strain": self.module.alignment.penalty(latents.beta),
        }
        loss = (
            -terms["label_prediction"]
            - self.weights.encoding * terms["encoding_divergence"]
            - self.weights.adversary * ramp * terms["adversary"]
            + self.weights.smoothness * terms["smoothness"]
            + self.weights.strain * terms["strain"]
        )
        return loss, terms

    def _hiding(self, batch: Batch, latents: Latents) -> Tensor:
        if self.adversary is None:
            return latents.z.new_zeros(())
        return self.fixed_adversary(*self.adversary_inputs(batch, latents))

    def _roughness(self, batch: Batch, latents: Latents) -> Tensor:
        """How much predictions change when a domain borrows its neighbour's index."""
        if not self.module.alignment.follows_index:
            return latents.z.new_zeros(())
        own = self.module.predict(latents.z_posterior.mean)
        shift = batch.neighbor_index - batch.raw_index
        _, borrowed = self.module.alignment(batch.represented, latents.beta + shift)
        return disagreement(own, self.module.predict(borrowed))


def disagreement(first: Distribution, second: Distribution) -> Tensor:
    """Symmetric KL divergence between two predictions, averaged over rows."""
    if isinstance(first, Categorical) and isinstance(second, Categorical):
        gap = (first.probs - second.probs) * (first.logits - second.logits)
        return gap.sum(dim=-1).mean()
    if isinstance(first, Normal) and isinstance(second, Normal):
        both = kl_divergence(first, second) + kl_divergence(second, first)
        return both.sum(dim=-1).mean()
    raise TypeError(f"no disagreement defined for {type(first)} and {type(second)}")
