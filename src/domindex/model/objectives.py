"""The two blocks of the objective: what the indices are for, and what the encoding is for.

The terms of the bound fall into those of u and β alone and those of z and y given them. Training
maximises the first block, then, at fixed indices, the second against the adversary: coordinate
ascent on one objective, in which the map stands still while the encoder learns to use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal, kl_divergence

from domindex.model import bound
from domindex.model.adversarial import Objective, Terms
from domindex.model.adversary import Adversary
from domindex.model.batch import Batch
from domindex.model.contrastive import contrastive_loss
from domindex.model.latents import Indices, Latents
from domindex.model.module import EncodingModule, IndexModule


@dataclass(frozen=True)
class Weights:
    """How much each term counts. Losses are to be minimised; terms of the bound, maximised."""

    input_reconstruction: float = 1.0
    local_index: float = 0.1
    contrastive: float = 0.1
    encoding: float = 1.0
    adversary: float = 6.0
    smoothness: float = 1.0
    strain: float = 0.3


class IndexObjective(Objective):
    """The loss of the indices: reconstruct x from u and u from β, agree within domains."""

    module: IndexModule

    def __init__(self, module: IndexModule, weights: Weights) -> None:
        super().__init__(module)
        self.weights = weights

    def infer(self, batch: Batch) -> Indices:
        chance = batch.share, batch.generator
        return self.module.infer(batch.x, batch.raw_index, True, *chance)

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
            "contrastive": contrastive_loss(
                module.contrast(latents.u), batch.share, generator=batch.generator
            ),
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
        return self.module.infer(batch.represented, indices, True, batch.share, batch.generator)

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
        _, borrowed = self.module.data_encoder.means(batch.represented, latents.beta + shift)
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
