"""From checked data to a fitted model: scale, structure, train."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import nn

from domindex.data import DomainData
from domindex.data.standardizing import InputScaler
from domindex.estimators.fitted import FittedModel
from domindex.estimators.structure import Structure, flow_structure, learned_structure
from domindex.model.adversary import Adversary
from domindex.model.module import VDIModule
from domindex.model.objectives import Weights
from domindex.training.loop import train
from domindex.training.problem import Problem
from domindex.training.progress import Progress
from domindex.training.settings import TrainingSettings
from domindex.training.threads import one_thread


@dataclass(frozen=True)
class ModelSettings:
    """The shape of the model, and how it is trained."""

    index_dim: int = 2
    local_dim: int = 4
    use_flow: bool = True
    adversary_kinds: tuple[str, ...] = ("graph", "domain")
    width: int = 64
    training: TrainingSettings = field(default_factory=TrainingSettings)
    weights: Weights = field(default_factory=Weights)
    n_jobs: int | None = None


@dataclass(frozen=True, eq=False)
class FitResult:
    """The fitted model, the record of its training, and the structure it started from."""

    model: FittedModel
    history: pd.DataFrame
    structure: Structure


def fit_model(
    data: DomainData,
    labels: NDArray,
    make_predictor: type[nn.Module],
    n_outputs: int,
    settings: ModelSettings,
    fabric: Fabric,
    seed: int,
    progress: Progress,
) -> FitResult:
    """The whole of a fit; the same seed gives the same result, and the global one is untouched."""
    scaler = InputScaler.fit(data)
    problem = Problem.of(data, scaler.apply(data.inputs), labels, fabric.device)
    rng = np.random.default_rng(seed)
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        structure = _structure(problem, scaler, settings, rng, progress)
        latent_dim = int(structure.carrier.n_outputs)  # type: ignore[arg-type]
        module = VDIModule(
            problem.inputs.shape[1],
            settings.local_dim,
            settings.index_dim,
            structure.carrier,
            make_predictor(latent_dim, n_outputs),
            settings.width,
        )
        adversary = Adversary(
            settings.adversary_kinds,
            latent_dim,
            data.n_domains,
            settings.index_dim,
            settings.width,
        )
        result = train(
            module,
            adversary,
            problem,
            structure.make_map,
            settings.training,
            settings.weights,
            fabric,
            rng,
            progress,
        )
    model = FittedModel(scaler, result.module, result.atlas, structure.projection)
    return FitResult(model, result.history, structure)


def _structure(
    problem: Problem,
    scaler: InputScaler,
    settings: ModelSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Structure:
    if not settings.use_flow:
        return learned_structure(
            problem.data,
            problem.inputs.shape[1],
            settings.index_dim,
            settings.width,
            settings.n_jobs,
        )
    return flow_structure(
        problem,
        scaler,
        settings.training,
        settings.index_dim,
        settings.width,
        settings.n_jobs,
        rng,
        progress,
    )
