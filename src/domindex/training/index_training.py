"""The first block: the indices, along a map that may be drawn anew from u as it changes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.geometry.domain_map import DomainMap
from domindex.model.module import IndexModule
from domindex.model.objectives import IndexObjective, Weights
from domindex.training.batches import BatchSampler, TrainingRows
from domindex.training.callbacks import Callback
from domindex.training.trainer import Phase, Trainer

Floats = NDArray[np.float64]


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
        clouds, domains = local_indices(module, self._rows), self._rows.data.domains
        fresh = DomainMap.fit(
            domains, clouds, module.index_dim, method="sliced", reference=self.coordinates
        )
        self.coordinates = fresh.coordinates
        assert isinstance(phase.batches, BatchSampler)
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
) -> Floats:
    """Maximise the terms of u and β along a map, which is redrawn from u where asked.

    Returns the last coordinates of the map, (domains, index_dim).
    """
    settings = trainer.settings
    phase = Phase(
        "indices",
        IndexObjective(module, weights),
        module.parameter_groups(),
        BatchSampler(rows, settings, rng, domain_map.coordinates),
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
        u = module.local_posterior(rows.inputs).mean.cpu().numpy().astype(np.float64)
    module.train(was_training)
    return [u[members] for members in rows.data.rows_by_domain()]
