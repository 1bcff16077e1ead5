"""How the paper's model is trained: a first phase for u, then everything, β drawn anew each epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from domindex.arrays import Floats
from domindex.geometry.domain_map import DomainMap
from domindex.vdi.adversary import Adversary
from domindex.vdi.aggregation import group_local_indices, raw_index
from domindex.vdi.alignments import ParameterGroup, trainable
from domindex.vdi.batches import BatchSampler, TrainingRows
from domindex.vdi.model import (
    PretrainingObjective,
    TermWeights,
    VariationalModel,
    VariationalObjective,
)
from domindex.vdi.networks import RunningStatistics
from domindex.vdi.rng import TorchRng
from domindex.vdi.training import Callback, Phase, Trainer


@dataclass
class IndexRefresh(Callback):
    """Draws the raw index from all u every so many steps, and turns it onto the one before."""

    module: VariationalModel
    rows: TrainingRows
    aggregation: str
    neighbors: tuple[int, ...]
    every: int
    current: DomainMap | None = None

    def draw(self, module: VariationalModel) -> DomainMap:
        """Equations 14 to 16 on the means of q(u|x) of all rows."""
        was_training = module.training
        with torch.no_grad():
            local = module.eval().local_posterior(self.rows.represented).mean.double()
        module.train(was_training)
        data, before = self.rows.data, self.current
        self.current = raw_index(
            data.domains,
            group_local_indices(local.cpu().numpy(), data),
            module.sizes.index_dim,
            self.aggregation,
            self.neighbors,
            None if before is None else before.coordinates,
        )
        return self.current

    def before_step(self, phase: Phase, step: int) -> None:
        if step % self.every == 0 and isinstance(phase.batches, BatchSampler):
            phase.batches = phase.batches.on_map(self.draw(self.module).coordinates)


def train_model(
    module: VariationalModel,
    refresh: IndexRefresh,
    weights: TermWeights,
    adversary: Adversary | None,
    trainer: Trainer,
    rng: np.random.Generator,
    torch_rng: TorchRng,
    blocks: bool,
) -> tuple[VariationalModel, DomainMap]:
    """Maximise equation 20; the averaged model, ready to predict, and its raw index.

    No target label is read, and the model of the last step counts.
    """
    settings, rows = trainer.settings, refresh.rows
    module.to(trainer.device)
    if adversary is not None:
        adversary.to(trainer.device)
    first = refresh.draw(module)
    batches = BatchSampler(rows, settings, rng, first.coordinates, torch_rng=torch_rng)
    parameters = [ParameterGroup(trainable(module.parameters()), 1.0)]
    averaged: nn.Module = module
    if settings.index_steps:
        phase = Phase(
            "pretraining",
            PretrainingObjective(module, weights),
            parameters,
            batches,
            settings.index_steps,
            settings.learning_rate,
        )
        trainer.run(phase, refresh)
        batches = batches.on_map(refresh.draw(module).coordinates)
    phase = Phase(
        "objective",
        VariationalObjective(module, weights, adversary, blocks),
        parameters,
        batches,
        settings.steps,
        settings.learning_rate,
        admission=settings.admission,
    )
    averaged = trainer.run(phase, *([] if blocks else [refresh]))
    assert isinstance(averaged, VariationalModel)
    raw = refresh.draw(averaged)
    _measure_statistics(averaged, batches.on_map(raw.coordinates), settings.norm_batches)
    return averaged.cpu().double().eval(), raw


def _measure_statistics(module: VariationalModel, batches: BatchSampler, n_batches: int) -> None:
    """The spread of z under the averaged weights, for predicting."""
    for layer in module.modules():
        if isinstance(layer, RunningStatistics):
            layer.measure_anew()
    module.train()
    with torch.no_grad():
        for _ in range(n_batches):
            batch = batches.draw()
            module.infer(batch.represented, batch.raw_index, sample=False)


def encode_domain(module: VariationalModel, x: Floats, place: Floats) -> torch.Tensor:
    """The mean of z, (rows, latent_dim), of the scaled rows of one domain at its raw index."""
    with torch.no_grad():
        rows = torch.tensor(x, dtype=torch.float64)[None]
        index = torch.tensor(place, dtype=torch.float64)[None]
        return module.infer(rows, index, sample=False).z[0]
