"""The structure that training starts from: a map of the domains, and how β acts on x."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from domindex.data.standardizing import InputScaler
from domindex.estimators.earning import helps_on_held_out_domains
from domindex.estimators.settings import ModelSettings
from domindex.geometry.atlas import Atlas, draw_map
from domindex.geometry.flow import AffineFlow
from domindex.geometry.flow_choice import FlowChoice, misfit, whitening
from domindex.geometry.projection import Projection
from domindex.geometry.unrolled import UnrolledDomains, unroll
from domindex.geometry.views import CloudView
from domindex.networks.carriers import FlowCarrier, IndexedAffine
from domindex.training.loop import MapMaker
from domindex.training.problem import BatchMaker, Problem
from domindex.training.progress import Progress
from domindex.training.straightening import straighten

Floats = NDArray[np.float64]

MAX_MISFIT = 1.15
"""Misfit of a flow beyond which inputs are taken to be bent, and straightened first."""


@dataclass(frozen=True, eq=False)
class Structure:
    """How β acts on x, where the map comes from, and what was found on the way.

    Attributes
    ----------
    make_carrier : a network that carries x, ready to be trained
    latent_dim : the size of its output
    make_map : the map of the domains, given their local indices
    view : how scaled inputs are seen by the map; None where that is drawn from local indices
    flow_choice : the flow in closed form; None without one
    straightened : whether the inputs were bent
    is_settled : whether the carrier leaves nothing to learn, and so nothing to hide
    """

    make_carrier: Callable[[], nn.Module]
    latent_dim: int
    make_map: MapMaker
    view: CloudView | None
    flow_choice: FlowChoice | None = None
    straightened: bool = False
    is_settled: bool = False

    def summary(self) -> dict[str, Any] | None:
        """What was chosen, in plain values; None without a flow."""
        if self.flow_choice is None:
            return None
        return {
            "family": self.flow_choice.flow.family,
            "n_components": self.flow_choice.flow.n_components,
            "n_neighbors": self.flow_choice.n_neighbors,
            "misfit": self.flow_choice.misfit,
            "straightened": self.straightened,
        }


StructureMaker = Callable[
    [Problem, InputScaler, ModelSettings, np.random.Generator, Progress], Structure
]


def learned_structure(
    problem: Problem,
    scaler: InputScaler,
    settings: ModelSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Structure:
    """The paper's: group u by domain, transport, scaling; an affine map that β chooses.

    Slices will do while u still moves; the last map is exact where the domains are few.
    """

    def make_map(local_indices: list[Floats], reference: Floats | None, last: bool) -> Atlas:
        return draw_map(
            problem.data.domains,
            local_indices,
            settings.index_dim,
            method=None if last else "sliced",
            reference=reference,
            n_jobs=settings.n_jobs,
        )

    def make_carrier() -> IndexedAffine:
        return IndexedAffine(problem.normalized.shape[1], settings.index_dim, settings.width)

    return Structure(make_carrier, make_carrier().n_outputs, make_map, None)


def flow_structure(
    problem: Problem,
    scaler: InputScaler,
    settings: ModelSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Structure:
    """Geodesics and a flow along them, in closed form; straightened where that does not fit."""
    unrolled = unroll_problem(problem, scaler, settings)
    return structure_along(unrolled, problem, settings, rng, progress)


def unroll_problem(
    problem: Problem, scaler: InputScaler, settings: ModelSettings
) -> UnrolledDomains:
    """The closed form of the inputs."""
    return unroll(
        problem.data.domains,
        problem.clouds(),
        settings.index_dim,
        scaler.origin,
        settings.n_jobs,
    )


def structure_along(
    unrolled: UnrolledDomains,
    problem: Problem,
    settings: ModelSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Structure:
    """The network of a flow in closed form, straightened where the flow does not fit."""
    choice, atlas, projection = unrolled.choice, unrolled.atlas, unrolled.projection
    carrier = _carrier(choice.flow, projection, settings.width)
    straightened = False
    if choice.flow.family != "none" and choice.misfit > MAX_MISFIT:
        batches = BatchMaker(problem, settings.training, rng)
        batches.use_map(atlas.index.coordinates)
        bent = _carrier(choice.freest, projection, settings.width).to(problem.inputs.device)
        straighten(bent, batches, progress)
        bent.cpu()
        straightened = misfit(_carried(bent, problem, atlas)) < choice.misfit
        carrier = bent if straightened else carrier
    carried = _carried(carrier, problem, atlas)
    pooled = np.concatenate(carried)
    carrier.use_spread(pooled.mean(axis=0), whitening(pooled))
    if not _still_coordinates_help(problem, carried, projection):
        carrier.drop_still()
    return Structure(
        partial(copy.deepcopy, carrier),
        carrier.n_outputs,
        always(atlas),
        CloudView(projection.moving),
        choice,
        straightened,
    )


def _still_coordinates_help(
    problem: Problem, carried: list[Floats], projection: Projection
) -> bool:
    """Whether the coordinates that the flow leaves alone are worth their noise."""
    if not projection.still.size:
        return False
    data = problem.data
    order = np.concatenate(data.rows_by_domain())
    is_source = data.row_is_source[order]
    rows = order[is_source]
    return helps_on_held_out_domains(
        np.concatenate(carried)[is_source],
        problem.inputs.cpu().numpy()[rows] @ projection.still,
        data.labels[rows],
        data.row_domains[rows],
    )


def _carrier(flow: AffineFlow, projection: Projection, width: int) -> FlowCarrier:
    return FlowCarrier(flow.coefficients, flow.basis, projection.matrix, projection.n_moving, width)


def _carried(carrier: FlowCarrier, problem: Problem, atlas: Atlas) -> list[Floats]:
    index = torch.tensor(atlas.index.coordinates, dtype=torch.float32)
    with torch.no_grad():
        return [
            carrier.carry(problem.inputs[torch.as_tensor(rows)].cpu()[None], index[number][None])[0]
            .numpy()
            .astype(np.float64)
            for number, rows in enumerate(problem.data.rows_by_domain())
        ]


def always(atlas: Atlas) -> MapMaker:
    """A map that does not depend on the local indices."""
    return lambda local_indices, reference, last: atlas
