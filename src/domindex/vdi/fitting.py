"""Training of the indices."""

from __future__ import annotations

import numpy as np
import torch

from domindex.arrays import Floats
from domindex.geometry.domain_map import DomainMap
from domindex.neural.batches import BatchSampler, TrainingRows
from domindex.neural.rng import TorchRng
from domindex.neural.training import Phase, Trainer
from domindex.vdi.model import VariationalModel
from domindex.vdi.module import IndexModule
from domindex.vdi.objectives import IndexObjective
from domindex.vdi.settings import Weights


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


def local_indices(module: IndexModule | VariationalModel, rows: TrainingRows) -> list[Floats]:
    """Equation 14: U_k, the means of q(u|x) (rows, local_dim) of each domain."""
    was_training = module.training
    module.eval()
    with torch.no_grad():
        inferred = module.local_posterior(rows.inputs).mean
    module.train(was_training)
    u = inferred.cpu().numpy().astype(np.float64)
    return [u[members] for members in rows.data.rows_by_domain()]
