"""The encoding of the committee's network: z and y at fixed indices, against the adversary.

The terms of the bound fall into those of u and β alone (`vdi`) and those of z and y given them,
which are maximised here: the map stands still while the encoder learns to use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from domindex.committee.alignments import ALIGNMENTS, FlowAlignment
from domindex.neural.backbones import FeatureExtractor
from domindex.neural.batches import Batch, BatchSampler
from domindex.neural.layers import RunningStatistics
from domindex.neural.settings import TrainingSettings
from domindex.neural.training import (
    Draws,
    EagerAdam,
    Objective,
    ParameterGroup,
    Phase,
    Terms,
    Trainer,
    trainable,
    warm_up_and_decay,
)
from domindex.neural.weights import Sizes, count, counts, network_from_state, network_state
from domindex.progress import Progress
from domindex.vdi import bound
from domindex.vdi.adversary import Adversary
from domindex.vdi.alignments import Alignment
from domindex.vdi.module import IndexModule, Indices, Latents, draw
from domindex.vdi.networks import OUTPUT_PREDICTORS, DataEncoder, OutputPredictor
from domindex.vdi.objectives import disagreement
from domindex.vdi.settings import Weights


class EncodingModule(nn.Module):
    """q(z|x,u,β), p(z|x,u,β) and p(y|z), with x as the chosen representation gives it.

    The predictor moves at `predictor_rate` times the learning rate, which was found with the
    accuracy on the paper's datasets in view.
    """

    predictor_rate = 5.0

    def __init__(
        self,
        alignment: Alignment,
        predictor: OutputPredictor,
        local_dim: int,
        index_dim: int,
        width: int,
    ) -> None:
        super().__init__()
        self.local_dim, self.index_dim, self.width = local_dim, index_dim, width
        self.data_encoder = DataEncoder(alignment, local_dim, index_dim, width)
        self.predictor = predictor

    @property
    def alignment(self) -> Alignment:
        return self.data_encoder.alignment

    def infer(
        self,
        represented: Tensor,
        indices: Indices,
        sample: bool = True,
        generator: torch.Generator | None = None,
    ) -> Latents:
        """q(z|x,u,β) given the indices; `represented` is (domains, batch, p)."""
        posterior, prior = self.data_encoder(represented, indices.u, indices.beta)
        z = draw(posterior, sample, generator)
        return Latents(**vars(indices), z_posterior=posterior, z_prior=prior, z=z)

    def predict(self, z: Tensor) -> Distribution:
        """p(y|z)."""
        return self.predictor(z)

    def parameter_groups(self) -> list[ParameterGroup]:
        """What is to be trained, and how fast."""
        return [
            *self.alignment.parameter_groups(),
            ParameterGroup(trainable(self.data_encoder.scale.parameters()), 1.0),
            ParameterGroup(trainable(self.predictor.parameters()), self.predictor_rate),
        ]

    def redrawn(self) -> EncodingModule:
        """A copy to be trained, with what starts at random drawn anew."""
        fresh = self.alignment.redrawn(), self.predictor.redrawn()
        return EncodingModule(*fresh, self.local_dim, self.index_dim, self.width)

    def state(self) -> dict[str, Any]:
        sizes = {
            "alignment": self.alignment.name,
            "alignment_sizes": self.alignment.sizes,
            "predictor": self.predictor.name,
            "predictor_sizes": self.predictor.sizes,
            "local_dim": self.local_dim,
            "index_dim": self.index_dim,
            "width": self.width,
        }
        return network_state(self, sizes)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> EncodingModule:
        return network_from_state(cls._build, state)

    @classmethod
    def _build(cls, sizes: Sizes) -> EncodingModule:
        alignment = ALIGNMENTS[sizes["alignment"]].of_sizes(sizes["alignment_sizes"])
        predictor = OUTPUT_PREDICTORS[sizes["predictor"]](**counts(sizes["predictor_sizes"]))
        dims = (count(sizes, name) for name in ("local_dim", "index_dim", "width"))
        return cls(alignment, predictor, *dims)


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


def train_encoding(
    start: EncodingModule,
    indices: IndexModule,
    batches: BatchSampler,
    adversary_kinds: Sequence[str],
    weights: Weights,
    trainer: Trainer,
) -> EncodingModule:
    """Maximise the terms of z and y against the adversary; no target label is seen anywhere.

    Returns the averaged module, ready to predict on the CPU.
    """
    with batches.torch_rng.as_default():
        module = start.redrawn().to(trainer.device)
        adversary = new_adversary(adversary_kinds, module, len(batches.rows.data.domains))
    objective = EncodingObjective(module, indices, adversary, weights)
    averaged = trainer.run(encoding_phase("encoding", objective, batches, trainer.settings))
    assert isinstance(averaged, EncodingModule)
    return finished([averaged], objective, batches)[0]


def new_adversary(kinds: Sequence[str], module: EncodingModule, n_domains: int) -> Adversary | None:
    """For an encoding; None where its alignment has nothing left to learn, and so to hide."""
    if module.alignment.is_settled:
        return None
    latent_dim = module.alignment.latent_dim
    return Adversary(kinds, latent_dim, n_domains, module.index_dim, module.width)


def encoding_phase(
    name: str,
    objective: EncodingObjective,
    batches: Draws,
    settings: TrainingSettings,
    n_steps: int | None = None,
) -> Phase:
    return Phase(
        name,
        objective,
        objective.module.parameter_groups(),
        batches,
        settings.steps if n_steps is None else n_steps,
        settings.learning_rate,
    )


def finished(
    averaged: Sequence[EncodingModule], objective: EncodingObjective, batches: BatchSampler
) -> list[EncodingModule]:
    """Averaged weights with the statistics of z measured anew under them, for predicting.

    Several modules are measured on the same batches.
    """
    layers = [layer for one in averaged for layer in one.modules()]
    measured = [layer for layer in layers if isinstance(layer, RunningStatistics)]
    for layer in measured:
        layer.measure_anew()
    if measured:
        has_backbone = any(isinstance(layer, FeatureExtractor) for layer in layers)
        drawn = batches.torch_rng.as_default() if has_backbone else nullcontext()
        settings = batches.settings
        n_batches = settings.backbone_norm_batches if has_backbone else settings.norm_batches
        with torch.no_grad(), drawn:
            for _ in range(n_batches):
                batch = batches.draw()
                indices = objective.infer_indices(batch)
                for one in averaged:
                    one.infer(batch.represented, indices, sample=False)
    return [one.cpu().double().eval() for one in averaged]


def straighten(alignment: FlowAlignment, batches: BatchSampler, progress: Progress) -> None:
    """Minimise the sliced misalignment of the aligned domains over the warp and the flow."""
    alignment.warp.requires_grad_(True)
    parameters = [alignment.coefficients, *alignment.warp.parameters()]
    settings = batches.settings
    optimizer = EagerAdam(parameters, lr=settings.straighten_rate, betas=(0.9, 0.999))
    n_steps = settings.straighten_steps
    for step in progress.track("straighten", n_steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.straighten_rate * warm_up_and_decay(step, n_steps, warm_up=20)
        batch = batches.draw()
        aligned = alignment.align(batch.represented, batch.raw_index)
        warp = alignment.warp(batch.represented).square().sum(dim=-1).mean()
        optimizer.zero_grad()
        apart = sliced_misalignment(aligned, generator=batch.generator)
        (apart + settings.warp_penalty * warp).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        optimizer.step()
    alignment.warp.requires_grad_(False)


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
