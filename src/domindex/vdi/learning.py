"""How the paper's model is trained: first u alone, then everything, β drawn anew each epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import euclidean_distances
from torch import nn

from domindex.arrays import Floats
from domindex.geometry import geodesic_distances
from domindex.geometry.domain_map import DomainMap
from domindex.neural.batches import BatchSampler, TrainingRows
from domindex.neural.layers import RunningStatistics
from domindex.neural.rng import TorchRng
from domindex.neural.settings import TrainingSettings
from domindex.neural.training import (
    Callback,
    Objective,
    Phase,
    Trainer,
)
from domindex.neural.weights import network_state
from domindex.vdi.adversary import Adversary
from domindex.vdi.aggregation import raw_index
from domindex.vdi.fitting import local_indices
from domindex.vdi.model import (
    PretrainingObjective,
    TermWeights,
    VariationalModel,
    VariationalObjective,
)


@dataclass
class IndexRefresh(Callback):
    """Draws the raw index from all u every so many steps, and turns it onto the one before.

    `admission` is the share of the steps after which all targets take part in the adversary; they
    join by their `rank`. In the objective u and β learn at `index_rate` times the rate of the
    others, and what β does to x decays by `motion_decay`.
    """

    module: VariationalModel
    rows: TrainingRows
    aggregation: str
    neighbors: tuple[int, ...]
    every: int
    rng: np.random.Generator
    torch_rng: TorchRng
    settings: TrainingSettings
    admission: float = 0.0
    index_rate: float = 1.0
    motion_decay: float = 0.0
    current: DomainMap | None = None
    rank: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def draw(self, module: VariationalModel) -> DomainMap:
        """Equations 14 to 16 on the means of q(u|x) of all rows."""
        before = self.current
        self.current = raw_index(
            self.rows.data.domains,
            local_indices(module, self.rows),
            module.sizes.index_dim,
            self.aggregation,
            self.neighbors,
            None if before is None else before.coordinates,
        )
        self.rank = distance_rank(self.current.coordinates, self.rows.data.is_source)
        return self.current

    def batches(self, module: VariationalModel) -> BatchSampler:
        """Batches along the raw index, drawn anew."""
        coordinates = self.draw(module).coordinates
        given = self.rows, self.settings, self.rng, coordinates
        return BatchSampler(*given, torch_rng=self.torch_rng)

    def state(self) -> dict[str, Any]:
        """The networks and the index as they are now."""
        index = None if self.current is None else self.current.state()
        return {"module": network_state(self.module, {}), "index": index}

    def restore(self, state: dict[str, Any]) -> None:
        weights = state["module"]["weights"]
        self.module.load_state_dict({name: torch.tensor(one) for name, one in weights.items()})
        if state["index"] is not None:
            self.current = DomainMap.from_state(state["index"])

    def before_step(self, phase: Phase, step: int) -> None:
        objective = phase.objective
        if step and step % self.every == 0:
            phase.batches = self.batches(self.module)
        if isinstance(objective, VariationalObjective) and self.admission:
            share = min(1.0, step / (self.admission * phase.n_steps))
            n_targets = max(1, int(np.ceil(share * (~self.rows.data.is_source).sum())))
            objective.admitted = torch.as_tensor(
                self.rank < n_targets, device=self.rows.inputs.device
            )


def distance_rank(places: Floats, sources: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(domains,) targets numbered from 0, those nearest to a source first; sources are -1.

    Near means along the map, from domain to domain: a domain is aligned with those that came before
    it, and which way round it belongs follows from them.
    """
    away = geodesic_distances(euclidean_distances(places), 2)[:, sources].min(axis=1)
    away[sources] = -1.0
    rank = np.argsort(np.argsort(away, kind="stable"), kind="stable")
    return np.where(sources, -1, rank - sources.sum())


def pretrain(refresh: IndexRefresh, weights: TermWeights, trainer: Trainer) -> None:
    """The first phase: q(u|x) and p(x|u) alone."""
    n_steps = refresh.settings.index_steps
    if n_steps:
        objective = PretrainingObjective(refresh.module, weights)
        _run("pretraining", objective, n_steps, refresh, trainer)


def _run(
    name: str,
    objective: Objective,
    n_steps: int,
    refresh: IndexRefresh,
    trainer: Trainer,
    **rates: float,
) -> nn.Module:
    """A phase in which the index is drawn anew now and then; its averaged module."""
    module, settings = refresh.module.to(trainer.device), refresh.settings
    trainer = Trainer(trainer.device, settings, [*trainer.callbacks, refresh])
    parameters = module.parameter_groups(**rates)
    batches = refresh.batches(module)
    return trainer.run(Phase(name, objective, parameters, batches, n_steps, settings.learning_rate))


def train_model(
    refresh: IndexRefresh,
    weights: TermWeights,
    adversary: Adversary | None,
    trainer: Trainer,
) -> tuple[VariationalModel, DomainMap]:
    """Maximise equation 20 after the first phase; the averaged model and its raw index.

    No target label is read, and the model of the last step counts.
    """
    module, settings = refresh.module, refresh.settings
    objective = VariationalObjective(module, weights, adversary)
    rates = {"index_rate": refresh.index_rate, "motion_decay": refresh.motion_decay}
    averaged = _run("objective", objective, settings.steps, refresh, trainer, **rates)
    assert isinstance(averaged, VariationalModel)
    _measure_statistics(averaged, refresh.batches(averaged), settings.norm_batches)
    assert refresh.current is not None
    return averaged.cpu().double().eval(), refresh.current


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
