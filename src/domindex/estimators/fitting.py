"""From checked data to a fitted model: scale, structure, train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from domindex.data import DomainData
from domindex.data.standardizing import InputScaler
from domindex.estimators.fitted import FittedModel
from domindex.estimators.planning import Plan, Planner
from domindex.estimators.settings import ModelSettings
from domindex.model.adversary import Adversary
from domindex.model.module import VDIModule
from domindex.training.loop import train
from domindex.training.problem import Problem
from domindex.training.progress import Progress
from domindex.training.threads import one_thread

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True, eq=False)
class FitResult:
    """The fitted model, the record of its training, and the plan it followed."""

    model: FittedModel
    history: pd.DataFrame
    plan: Plan


def fit_model(
    data: DomainData,
    settings: ModelSettings,
    make_plan: Planner,
    fabric: Fabric,
    seed: int,
    progress: Progress,
) -> FitResult:
    """The whole of a fit; the same seed gives the same result, and the global one is untouched."""
    scaler = InputScaler.fit(data)
    problem = Problem.of(data, scaler.apply(data.inputs), data.labels, fabric.device)
    rng = np.random.default_rng(seed)
    devices = [fabric.device] if fabric.device.type == "cuda" else []
    with one_thread(), torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        plan = make_plan(problem, scaler, settings, rng, progress)
        structure = plan.structure
        module = VDIModule(
            problem.inputs.shape[1],
            settings.local_dim,
            settings.index_dim,
            structure.make_carrier(),
            plan.make_predictor(),
            settings.width,
        ).to(fabric.device)

        def start_encoding(module: VDIModule) -> Adversary | None:
            module.start_encoding(structure.make_carrier(), plan.make_predictor())
            if structure.is_settled:
                return None
            return Adversary(
                settings.adversary_kinds,
                structure.latent_dim,
                data.n_domains,
                settings.index_dim,
                settings.width,
            )

        result = train(
            module,
            start_encoding,
            plan.problem,
            structure.make_map,
            settings.training,
            settings.weights,
            fabric,
            rng,
            progress,
        )
    model = FittedModel(scaler, plan.representation, result.module, result.atlas, structure.view)
    return FitResult(model, result.history, plan)
