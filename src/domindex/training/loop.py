"""The training loop: first the indices, then the encoding against its adversary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import nn
from torch.optim import Adam, Optimizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from domindex.geometry.atlas import Atlas
from domindex.model.adversary import Adversary
from domindex.model.contest import Contest
from domindex.model.module import VDIModule
from domindex.model.objectives import EncodingObjective, IndexObjective, Weights
from domindex.networks.blocks import Whitening
from domindex.training.history import History
from domindex.training.problem import BatchMaker, Problem
from domindex.training.progress import Progress
from domindex.training.schedules import adversary_ramp, warm_up_and_decay
from domindex.training.settings import TrainingSettings

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Floats = NDArray[np.float64]
MapMaker = Callable[[list[Floats], Floats | None, bool], Atlas]
"""Local indices of each domain, the map before, and whether it is the last, to a new map."""

EncodingStart = Callable[[VDIModule], Adversary | None]
"""Gives a module a fresh encoder and predictor, and returns a fresh adversary if it needs one."""


NORM_BATCHES = 50
"""Batches over which the spread of z is measured for good, once training is over."""


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """The averaged module, ready to predict on the CPU; the map; the record of the terms."""

    module: VDIModule
    atlas: Atlas
    history: pd.DataFrame


def train(
    module: VDIModule,
    start_encoding: EncodingStart,
    problem: Problem,
    make_map: MapMaker,
    settings: TrainingSettings,
    weights: Weights,
    fabric: Fabric,
    rng: np.random.Generator,
    progress: Progress,
) -> TrainingResult:
    """Fit `module` by coordinate ascent: the indices' block of the bound, then the encoding's.

    The encoding may start several times; the start with the best and smoothest prediction of the
    sources is kept. No target label is seen anywhere.
    """
    sizes = problem.data.domain_sizes
    steps_per_epoch = int(np.ceil(np.median(sizes) / settings.batch_size))
    batches = BatchMaker(problem, settings, rng)
    history = History(steps_per_epoch)
    atlas = _train_indices(
        module, problem, make_map, batches, settings, weights, fabric, history, progress
    )
    best: tuple[float, VDIModule, History] | None = None
    for _ in range(settings.starts):
        record = history.copy()
        adversary = start_encoding(module)
        if adversary is not None:
            adversary.to(fabric.device)
        averaged = _train_encoding(
            module, adversary, batches, settings, weights, fabric, record, progress
        )
        cost = record.recent("smoothness") - record.recent("label_prediction")
        if best is None or cost < best[0]:
            best = cost, averaged, record
    assert best is not None
    return TrainingResult(best[1], atlas, best[2].to_frame())


def _train_indices(
    module: VDIModule,
    problem: Problem,
    make_map: MapMaker,
    batches: BatchMaker,
    settings: TrainingSettings,
    weights: Weights,
    fabric: Fabric,
    history: History,
    progress: Progress,
) -> Atlas:
    """Maximise the terms of u and β; the map is redrawn from u as it changes, and at the end."""
    objective, optimizer = fabric.setup(
        IndexObjective(module, weights),
        Adam(_index_parameters(module), lr=settings.index_learning_rate),
    )
    refresh = max(1, settings.index_steps // max(settings.index_refreshes, 1))
    reference: Floats | None = None
    history.start_phase("index")
    for step in progress.track("indices", settings.index_steps):
        if step % refresh == 0:
            reference = make_map(local_indices(module, problem), reference, False).index.coordinates
            batches.use_map(reference)
        _set_rate(optimizer, warm_up_and_decay(step, settings.index_steps, settings.warm_up))
        loss, terms = objective(batches.draw())
        history.record(terms)
        _descend(fabric, objective, optimizer, loss, settings.clip)
    atlas = make_map(local_indices(module, problem), reference, True)
    batches.use_map(atlas.index.coordinates)
    return atlas


def _train_encoding(
    module: VDIModule,
    adversary: Adversary | None,
    batches: BatchMaker,
    settings: TrainingSettings,
    weights: Weights,
    fabric: Fabric,
    history: History,
    progress: Progress,
) -> VDIModule:
    """Maximise the terms of z and y against the adversary, at fixed indices."""
    objective = EncodingObjective(module, adversary, weights)
    parameters = _encoding_parameters(module, settings)
    averaged = train_block(
        "encoding", objective, parameters, batches, settings, fabric, history, progress
    )
    assert isinstance(averaged, VDIModule)
    return _finished(averaged, batches)


def train_block(
    name: str,
    contest: Contest,
    parameters: Iterable[nn.Parameter] | Iterable[dict[str, object]],
    batches: BatchMaker,
    settings: TrainingSettings,
    fabric: Fabric,
    history: History,
    progress: Progress,
) -> nn.Module:
    """Minimise a contest's loss over `parameters`, in turns with its opponent where it has one.

    Returns the moving average of the contest's module, in training mode.
    """
    opponent = None
    if contest.opponent is not None:
        weights = contest.opponent.parameters()
        opponent, opponent_optimizer = fabric.setup(
            contest.opponent, Adam(weights, lr=settings.learning_rate, betas=(0.5, 0.99))
        )
    objective, optimizer = fabric.setup(
        contest, Adam(parameters, lr=settings.learning_rate, betas=(0.9, 0.99))
    )
    average = AveragedModel(contest.module, multi_avg_fn=get_ema_multi_avg_fn(settings.average))
    history.start_phase(name)
    for step in progress.track(name, settings.steps):
        rate = warm_up_and_decay(step, settings.steps, settings.warm_up)
        done = step / settings.steps
        batch = batches.draw(done / settings.admission if settings.admission else 1.0)
        latents = contest.infer(batch)
        record = {}
        if opponent is not None:
            _set_rate(opponent_optimizer, rate)
            loss = opponent(*_detached(contest.shown(batch, latents)))
            record["adversary_own_loss"] = loss
            _descend(fabric, opponent, opponent_optimizer, loss, settings.clip)
        _set_rate(optimizer, rate)
        loss, terms = objective(batch, latents, adversary_ramp(done))
        history.record({**record, **terms})
        _descend(fabric, objective, optimizer, loss, settings.clip)
        average.update_parameters(contest.module)
    return average.module


def local_indices(module: VDIModule, problem: Problem) -> list[Floats]:
    """The means of u, grouped by domain."""
    with torch.no_grad():
        u = module.local_encoder(problem.inputs).mean.cpu().numpy().astype(np.float64)
    return [u[rows] for rows in problem.data.rows_by_domain()]


def _index_parameters(module: VDIModule) -> list[nn.Parameter]:
    parts = (
        module.local_encoder,
        module.index_encoder,
        module.input_decoder,
        module.local_decoder,
        module.contrast,
    )
    return [parameter for part in parts for parameter in part.parameters()]


def _encoding_parameters(module: VDIModule, settings: TrainingSettings) -> list[dict[str, object]]:
    """The encoder and the predictor; a flow's coefficients, already solved for, move slowly."""
    groups: dict[float, list[nn.Parameter]] = defaultdict(list)
    for name, parameter in module.data_encoder.named_parameters():
        multiple = 1.0
        if name == "carrier.coefficients":
            multiple = settings.flow_learning_rate
        elif name.startswith("carrier.network"):
            multiple = settings.map_learning_rate
        if parameter.requires_grad:
            groups[multiple].append(parameter)
    groups[settings.predictor_learning_rate] += [
        parameter for parameter in module.predictor.parameters() if parameter.requires_grad
    ]
    return [{"params": p, "lr": settings.learning_rate * m} for m, p in groups.items()]


def _descend(
    fabric: Fabric, module: nn.Module, optimizer: Optimizer, loss: torch.Tensor, clip: float
) -> None:
    optimizer.zero_grad()
    fabric.backward(loss)
    fabric.clip_gradients(module, optimizer, max_norm=clip, error_if_nonfinite=False)
    optimizer.step()


def _detached(shown: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.detach() if isinstance(part, torch.Tensor) else part for part in shown)


def _set_rate(optimizer: Optimizer, factor: float) -> None:
    for group in optimizer.param_groups:
        group.setdefault("full_lr", group["lr"])
        group["lr"] = group["full_lr"] * factor


def _finished(averaged: VDIModule, batches: BatchMaker) -> VDIModule:
    """The averaged weights with the statistics of z measured anew under them, for predicting."""
    for layer in averaged.modules():
        if isinstance(layer, Whitening):
            layer.measure_anew()
    with torch.no_grad():
        for _ in range(NORM_BATCHES):
            batch = batches.draw()
            averaged.infer(batch.x, batch.normalized, batch.raw_index, sample=False)
    return averaged.cpu().double().eval()
