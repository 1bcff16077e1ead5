"""The first block: the indices, along a map that may be drawn anew from u as it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.geometry.domain_map import DomainMap
from domindex.model.module import IndexModule
from domindex.model.objectives import IndexObjective, Weights
from domindex.networks.chance import Chance
from domindex.networks.shares import Share
from domindex.training.batches import BatchSampler, TrainingRows
from domindex.training.callbacks import Callback
from domindex.training.trainer import Phase, Trainer

Floats = NDArray[np.float64]


class MapRefresh(Callback):
    """Every so many steps, draws the map from the local indices and turns it onto the one before.

    Slices will do while u still moves. Several processes infer u of a part of the rows each; the
    one that leads draws the map for all.
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
        share = phase.batches.share
        clouds, domains = local_indices(module, self._rows, share), self._rows.data.domains
        if share is None or share.rank == 0:
            self.coordinates = DomainMap.fit(
                domains, clouds, module.index_dim, method="sliced", reference=self.coordinates
            ).coordinates
        if share is not None:
            self.coordinates = share.connection.send_object(self.coordinates)
        phase.batches = phase.batches.on_map(self.coordinates)

    def state(self) -> dict[str, Any]:
        return {"coordinates": self.coordinates}

    def resume(self, phase: Phase, step: int, state: dict[str, Any]) -> None:
        assert isinstance(phase.batches, BatchSampler)
        self.coordinates = state["coordinates"]
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
    chance: Chance | None = None,
) -> Floats:
    """Maximise the terms of u and β along a map, which is redrawn from u where asked.

    Returns the last coordinates of the map, (domains, index_dim).
    """
    settings = trainer.settings
    phase = Phase(
        "indices",
        IndexObjective(module, weights),
        module.parameter_groups(),
        BatchSampler(rows, settings, rng, domain_map.coordinates, chance=chance),
        settings.index_steps,
        settings.index_learning_rate,
        memory=0.999,
    )
    every = max(1, settings.index_steps // max(settings.index_refreshes, 1))
    refresh = MapRefresh(rows, domain_map, every)
    trainer.run(phase, *([refresh] if redraw else []))
    return refresh.coordinates


def local_indices(
    module: IndexModule, rows: TrainingRows, share: Share | None = None
) -> list[Floats]:
    """The means of q(u|x), grouped by domain; with a `share`, of all processes' parts."""
    was_training = module.training
    module.eval()
    with torch.no_grad():
        if share is None:
            inferred = module.local_posterior(rows.inputs).mean
        else:
            part = share.part(len(rows.inputs))
            inferred = rows.inputs.new_zeros(len(rows.inputs), module.local_dim)
            inferred[part] = module.local_posterior(rows.inputs[part]).mean
            share.connection.add_up(inferred)
    module.train(was_training)
    u = inferred.cpu().numpy().astype(np.float64)
    return [u[members] for members in rows.data.rows_by_domain()]
