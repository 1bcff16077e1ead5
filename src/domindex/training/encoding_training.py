"""The second block: the encoding and the prediction, against the adversary, at fixed indices."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import torch

from domindex.model.adversary import Adversary
from domindex.model.module import EncodingModule, IndexModule
from domindex.model.objectives import EncodingObjective, Weights
from domindex.networks.blocks import Standardising, Whitening
from domindex.networks.feature_extractor import FeatureExtractor
from domindex.training.batches import BatchSampler
from domindex.training.history import History
from domindex.training.trainer import Phase, Trainer

NORM_BATCHES = 50
BACKBONE_NORM_BATCHES = 10
"""Batches over which the spread of z is measured for good, once training is over; fewer where a
backbone has to see them, for time."""


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
        begin = len(history)
        with batches.chance.lent():
            module = start.redrawn().to(trainer.fabric.device)
        adversary = None
        if not module.alignment.is_settled:
            latent_dim, index_dim = module.alignment.latent_dim, module.index_dim
            sizes = latent_dim, n_domains, index_dim, module.width
            with batches.chance.lent():
                adversary = Adversary(adversary_kinds, *sizes)
            adversary.to(trainer.fabric.device)
        averaged = _train_once(
            EncodingObjective(module, indices, adversary, weights), batches, trainer
        )
        cost = history.recent("smoothness", begin) - history.recent("label_prediction", begin)
        if best is None or cost < best[0]:
            if best is not None:
                history.drop(best[2])
                begin -= best[2].stop - best[2].start
            best = cost, averaged, slice(begin, len(history))
        else:
            history.drop(slice(begin, len(history)))
    assert best is not None
    return best[1]


def _train_once(
    objective: EncodingObjective, batches: BatchSampler, trainer: Trainer
) -> EncodingModule:
    settings = trainer.settings
    phase = Phase(
        "encoding",
        objective,
        objective.module.parameter_groups(),
        batches,
        settings.steps,
        settings.learning_rate,
        admission=settings.admission,
    )
    averaged = trainer.run(phase)
    assert isinstance(averaged, EncodingModule)
    return finished([averaged], objective, batches)[0]


def finished(
    averaged: Sequence[EncodingModule], objective: EncodingObjective, batches: BatchSampler
) -> list[EncodingModule]:
    """Averaged weights with the statistics of z measured anew under them, for predicting.

    Several modules are measured on the same batches.
    """
    layers = [layer for one in averaged for layer in one.modules()]
    measured = [layer for layer in layers if isinstance(layer, Whitening | Standardising)]
    for layer in measured:
        layer.measure_anew()
    if measured:
        has_backbone = any(isinstance(layer, FeatureExtractor) for layer in layers)
        drawn = batches.chance.lent() if has_backbone else nullcontext()
        with torch.no_grad(), drawn:
            for _ in range(BACKBONE_NORM_BATCHES if has_backbone else NORM_BATCHES):
                batch = batches.draw()
                indices = objective.infer_indices(batch)
                for one in averaged:
                    one.infer(batch.represented, indices, sample=False)
    return [one.cpu().double().eval() for one in averaged]
