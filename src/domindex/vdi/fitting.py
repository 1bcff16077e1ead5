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
from domindex.vdi.training import (
    Callback,
    Draws,
    EagerAdam,
    History,
    Phase,
    Trainer,
    warm_up_and_decay,
)


class MapRefresh(Callback):
    """Every so many steps, draws the map from the local indices and turns it onto the one before.

    Slices will do while u still moves.
    """

    def __init__(self, rows: TrainingRows, start: DomainMap, every: int) -> None:
        self._rows, self._every = rows, every
        self.coordinates = start.coordinates

    def before_step(self, phase: Phase, step: int) -> None:
        if step == 0 or step % self._every:
            return
        module = phase.objective.module
        assert isinstance(module, IndexModule)
        assert isinstance(phase.batches, BatchSampler)
        clouds, domains = local_indices(module, self._rows), self._rows.data.domains
        self.coordinates = DomainMap.fit(
            domains, clouds, module.index_dim, method="sliced", reference=self.coordinates
        ).coordinates
        phase.batches = phase.batches.on_map(self.coordinates)


def train_indices(
    module: IndexModule,
    rows: TrainingRows,
    domain_map: DomainMap,
    weights: Weights,
    trainer: Trainer,
    rng: np.random.Generator,
    *,
    redraw: bool,
    torch_rng: TorchRng | None = None,
) -> Floats:
    """Maximise the terms of u and β along a map, which is redrawn from u where asked.

    Returns the last coordinates of the map, (domains, index_dim).
    """
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
    every = max(1, settings.index_steps // max(settings.index_refreshes, 1))
    refresh = MapRefresh(rows, domain_map, every)
    trainer.run(phase, *([refresh] if redraw else []))
    return refresh.coordinates


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
    history: History,
) -> EncodingModule:
    """Maximise the terms of z and y against the adversary, perhaps from several starts.

    The start with the best and smoothest prediction of the sources is kept, with its part of the
    history. No target label is seen anywhere. The averaged module, ready to predict on the CPU.
    """
    best: tuple[float, EncodingModule, slice] | None = None
    n_domains = len(batches.rows.data.domains)
    for _ in range(trainer.settings.starts):
        begin = len(history.rows)
        with batches.torch_rng.as_default():
            module = start.redrawn().to(trainer.device)
            adversary = new_adversary(adversary_kinds, module, n_domains)
        objective = EncodingObjective(module, indices, adversary, weights)
        phase = encoding_phase("encoding", objective, batches, trainer.settings)
        averaged = trainer.run(phase)
        assert isinstance(averaged, EncodingModule)
        (averaged,) = finished([averaged], objective, batches)
        cost = history.recent("smoothness", begin) - history.recent("label_prediction", begin)
        if best is None or cost < best[0]:
            if best is not None:
                del history.rows[best[2]]
                begin -= best[2].stop - best[2].start
            best = cost, averaged, slice(begin, len(history.rows))
        else:
            del history.rows[begin:]
    assert best is not None
    return best[1]


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
        admission=settings.admission,
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
