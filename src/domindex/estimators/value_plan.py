"""What a regressor settles before training: the map, the frame of its rows, the linear path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.data import DomainData
from domindex.data.normalizing import (
    LEAST_FEATURES,
    NORMALIZATIONS,
    Normalization,
    NormalizedRows,
    share_units,
)
from domindex.data.standardizing import InputScaler, OutputScaler
from domindex.estimators.frames import FLOW, FittedFrame, Frame, Sources, choose_frame
from domindex.estimators.planning import Plan
from domindex.estimators.representation import RowRepresentation
from domindex.estimators.settings import ModelSettings
from domindex.estimators.structure import (
    Structure,
    always,
    learned_structure,
    structure_along,
    unroll_problem,
)
from domindex.geometry.atlas import Atlas, draw_map
from domindex.geometry.matching import resembling_rows
from domindex.geometry.projection import principal_components
from domindex.geometry.unrolled import UnrolledDomains
from domindex.geometry.views import CloudView, choose_view
from domindex.networks.carriers import StillCarrier
from domindex.networks.decoders import ValuePredictor
from domindex.training.problem import Problem
from domindex.training.progress import Progress

Floats = NDArray[np.float64]

MAX_LATENT = 128
"""Components of z; rows with more features are reduced to their principal components."""

LEAST_NEIGHBORS = 3
DOMAINS_PER_NEIGHBOR = 6
"""Geodesics are averaged over 3 neighbours up to a sixth of the domains."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ValuePlan(Plan):
    """The plan of a regressor.

    Attributes
    ----------
    fitted_frame : the chosen frame and its linear path
    output_scaler : between the outputs of the frame and those of the network
    """

    fitted_frame: FittedFrame
    output_scaler: OutputScaler


@dataclass(frozen=True)
class ValuePlanner:
    """Settles the plan; `normalize` and `flow` are as the user gave them."""

    normalize: Normalization | Literal["auto"]
    flow: str | None

    def __call__(
        self,
        problem: Problem,
        scaler: InputScaler,
        settings: ModelSettings,
        rng: np.random.Generator,
        progress: Progress,
    ) -> ValuePlan:
        data = problem.data
        candidates = {kind: _Candidate.of(kind, data, scaler) for kind in self._kinds(data)}
        frames = [candidate.frame for candidate in candidates.values()]
        atlas, view = _map_by_resemblance(problem, frames, settings)
        sources = _sources(data, atlas)
        unrolled = self._unrolled(problem, scaler, settings)
        if unrolled is not None:
            frames.append(_flow_frame(unrolled, problem))
        fitted = choose_frame(frames, sources)
        if fitted.frame.name == FLOW and unrolled is not None:
            candidate = candidates.get("none") or _Candidate.of("none", data, scaler)
            structure = structure_along(unrolled, problem, settings, rng, progress)
            fitted = _on_the_carrier(fitted, structure, unrolled, problem, sources)
        else:
            candidate = candidates[fitted.frame.name]  # type: ignore[index]
            structure = _still_structure(fitted, candidate.projection, atlas, view, settings)
        outputs = _frame_values(data, fitted.frame)
        output_scaler = OutputScaler.fit(outputs[data.row_is_source], fitted.row_weights)
        told = problem.told(
            candidate.representation.apply(data.inputs, data.row_names),
            output_scaler.apply(outputs),
            _all_rows(fitted.row_weights, data),
        )
        if self.flow is None:
            structure = learned_structure(told, scaler, settings, rng, progress)
            make_predictor = partial(ValuePredictor, structure.latent_dim, outputs.shape[1])
        else:
            make_predictor = partial(_following, fitted, output_scaler)
        return ValuePlan(
            problem=told,
            structure=structure,
            make_predictor=make_predictor,
            representation=candidate.representation,
            fitted_frame=fitted,
            output_scaler=output_scaler,
        )

    def _kinds(self, data: DomainData) -> Sequence[Normalization]:
        """The normalisations to try: those the user named, or all that make sense here."""
        if self.normalize != "auto":
            return (self.normalize,)
        if not share_units(data):
            return ("none",)
        n_features = int(np.prod(data.inputs.shape[1:]))
        return [kind for kind in NORMALIZATIONS if n_features >= LEAST_FEATURES[kind]]

    def _unrolled(
        self, problem: Problem, scaler: InputScaler, settings: ModelSettings
    ) -> UnrolledDomains | None:
        """The flow as one more frame, where the choice is free and there is one."""
        if self.flow is None or self.normalize != "auto":
            return None
        unrolled = unroll_problem(problem, scaler, settings)
        return None if unrolled.choice.flow.family == "none" else unrolled


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A normalisation with its frame, and the projection (features, p) to the frame's rows."""

    representation: RowRepresentation
    projection: Floats
    frame: Frame

    @classmethod
    def of(cls, kind: Normalization, data: DomainData, scaler: InputScaler) -> _Candidate:
        representation, rows = RowRepresentation.fit(kind, data, scaler)
        told = representation.scaler.apply(rows.shapes)
        projection = principal_components(told, MAX_LATENT)
        frame = Frame.of(kind, told @ projection, rows, data.row_is_source)
        return cls(representation, projection, frame)


def _map_by_resemblance(
    problem: Problem, frames: Sequence[Frame], settings: ModelSettings
) -> tuple[Atlas, CloudView]:
    """A map of what targets and target-like source rows look like, and how they are seen."""
    data = problem.data
    by_domain, clouds = data.rows_by_domain(), problem.clouds()
    weights = _all_rows(max(frames, key=lambda frame: frame.overlap).weights, data)
    kept = resembling_rows(clouds, data.is_source, [weights[rows] for rows in by_domain])
    clouds = [cloud[rows] for cloud, rows in zip(clouds, kept)]
    view = choose_view(clouds)
    most = max(LEAST_NEIGHBORS, data.n_domains // DOMAINS_PER_NEIGHBOR)
    atlas = draw_map(
        data.domains,
        [view.apply(cloud) for cloud in clouds],
        settings.index_dim,
        neighbors=range(LEAST_NEIGHBORS, most + 1),
        n_jobs=settings.n_jobs,
    )
    return atlas, view


def _sources(data: DomainData, atlas: Atlas) -> Sources:
    """The labelled rows; a source counts the more, the nearer a target is on the map."""
    rows = data.row_is_source
    values = data.labels[rows]
    numbers = np.cumsum(data.is_source) - 1
    gaps = atlas.index.map_distances[np.ix_(data.is_source, ~data.is_source)].min(axis=1)
    spread = values.std(axis=0)
    return Sources(
        is_source=rows,
        values=values,
        domains=numbers[data.row_domains[rows]],
        domain_weights=np.exp(-gaps / (np.median(gaps) or 1.0)),
        unit=np.where(spread > 0, spread, 1.0),
    )


def _all_rows(source_weights: Floats, data: DomainData) -> Floats:
    """Weights (rows,): those of the source rows, and 1 for every other."""
    weights = np.ones(data.n_rows)
    weights[data.row_is_source] = source_weights
    return weights


def _frame_values(data: DomainData, frame: Frame) -> Floats:
    return frame.outputs.normalize(data.labels)


def _flow_frame(unrolled: UnrolledDomains, problem: Problem) -> Frame:
    """Rows carried in closed form."""
    data = problem.data
    carried = np.empty((data.n_rows, unrolled.projection.matrix.shape[1]))
    places = unrolled.atlas.index.coordinates
    for rows, cloud, place in zip(data.rows_by_domain(), problem.clouds(), places):
        carried[rows] = unrolled.carry(cloud, place)
    carried -= carried.mean(axis=0)
    carried /= np.sqrt(carried.var(axis=0).mean()) or 1.0
    return _plain_frame(carried, data)


def _plain_frame(rows: Floats, data: DomainData) -> Frame:
    """Carried rows, with outputs as they are."""
    outputs = NormalizedRows(rows, np.zeros((len(rows), 1)), np.ones((len(rows), 1)))
    return Frame.of(FLOW, rows, outputs, data.row_is_source)


def _on_the_carrier(
    fitted: FittedFrame,
    structure: Structure,
    unrolled: UnrolledDomains,
    problem: Problem,
    sources: Sources,
) -> FittedFrame:
    """The linear path solved anew where the carrier, perhaps straightened, puts the rows."""
    data = problem.data
    carrier = structure.make_carrier()
    places = torch.tensor(unrolled.atlas.index.coordinates, dtype=torch.float32)
    rows = np.empty((data.n_rows, structure.latent_dim))
    with torch.no_grad():
        for members, place in zip(data.rows_by_domain(), places):
            x = problem.inputs[torch.as_tensor(members)].cpu()[None]
            rows[members] = carrier(x, place[None])[0][0].numpy()
    return choose_frame([_plain_frame(rows, data)], sources).with_trials(fitted.trials)


def _still_structure(
    fitted: FittedFrame,
    projection: Floats,
    atlas: Atlas,
    view: CloudView,
    settings: ModelSettings,
) -> Structure:
    make_carrier = partial(StillCarrier, projection, settings.width, fitted.may_bend)
    return Structure(
        make_carrier,
        projection.shape[1],
        always(atlas),
        view,
        is_settled=not fitted.may_bend,
    )


def _following(fitted: FittedFrame, output_scaler: OutputScaler) -> ValuePredictor:
    """A predictor that starts on the linear path, in the network's units."""
    path = fitted.path
    predictor = ValuePredictor(*path.slopes.shape)
    return predictor.follow(
        path.slopes / output_scaler.scale,
        output_scaler.apply(path.intercept),
        may_bend=fitted.may_bend,
    )
