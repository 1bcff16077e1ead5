"""The blocks that are trained: the indices, the encoding at fixed indices, and a flow's warp."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import torch

from domindex.arrays import Floats
from domindex.geometry.domain_map import DomainMap
from domindex.progress import Progress
from domindex.vdi.adversary import Adversary
from domindex.vdi.alignments import FlowAlignment
from domindex.vdi.backbones import FeatureExtractor
from domindex.vdi.batches import BatchSampler, TrainingRows
from domindex.vdi.module import EncodingModule, IndexModule
from domindex.vdi.networks import RunningStatistics
from domindex.vdi.objectives import EncodingObjective, IndexObjective, sliced_misalignment
from domindex.vdi.rng import TorchRng
from domindex.vdi.settings import TrainingSettings, Weights
from domindex.vdi.training import Draws, EagerAdam, Phase, Trainer, warm_up_and_decay


def train_indices(
    module: IndexModule,
    rows: TrainingRows,
    domain_map: DomainMap,
    weights: Weights,
    trainer: Trainer,
    rng: np.random.Generator,
    *,
    torch_rng: TorchRng | None = None,
) -> None:
    """Maximise the terms of u and β along a map, which stays as it is."""
    settings = trainer.settings
    phase = Phase(
        "indices",
        IndexObjective(module, weights),
        module.parameter_groups(),
        BatchSampler(rows, settings, rng, domain_map.coordinates, torch_rng=torch_rng),
        settings.index_steps,
        settings.index_learning_rate,
        memory=0.999,
    )
    trainer.run(phase)


def local_indices(module: IndexModule, rows: TrainingRows) -> list[Floats]:
    """The means of q(u|x), grouped by domain."""
    was_training = module.training
    module.eval()
    with torch.no_grad():
        inferred = module.local_posterior(rows.inputs).mean
    module.train(was_training)
    u = inferred.cpu().numpy().astype(np.float64)
    return [u[members] for members in rows.data.rows_by_domain()]


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
