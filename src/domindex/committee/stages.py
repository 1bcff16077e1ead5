"""The stages of a fit that are stored, so that one that was cut off need not repeat them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from domindex.arrays import Floats
from domindex.committee.candidates import Candidate
from domindex.committee.committee import PredictorMember
from domindex.committee.context import FitContext
from domindex.committee.folds import RepresentedFolds
from domindex.committee.learners.base import Predictor
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData
from domindex.persistence.stage_cache import StageCache
from domindex.representations import PlacedRows, Representation
from domindex.vdi.fitted_indices import FittedIndices
from domindex.vdi.module import IndexModule


def load_map(context: FitContext) -> tuple[FittedIndices, DomainGeometry] | None:
    """Indices and geometry, where they were stored."""
    found = context.load_stage("map")
    if found is None:
        return None
    geometry, module = found["geometry"], IndexModule.from_state(found["module"])
    return FittedIndices(geometry.scaler, module, geometry.domain_map), geometry


def store_map(context: FitContext, indices: FittedIndices, geometry: DomainGeometry) -> None:
    context.store_stage("map", {"geometry": geometry, "module": indices.module.state()})


class CandidateStages:
    """What candidates predicted and learned.

    Candidates come in the same order in a fit that is started again: they are known by their names,
    and by how many of that name were asked for before. What took less than `min_seconds` is not
    stored: to write the trees of a forest and read them again takes a good part of that.
    """

    min_seconds = 0.5

    def __init__(self, cache: StageCache) -> None:
        self._cache = cache
        self._names: dict[Candidate, str] = {}
        self._counts: dict[str, int] = {}

    def held_out(self, candidate: Candidate) -> Floats | None:
        """(n, columns) what it predicted of held-out rows, if that was stored."""
        return self._cache.load(f"held out {self._name(candidate)}")

    def store_held_out(self, candidate: Candidate, predicted: Floats) -> None:
        self._cache.store(f"held out {self._name(candidate)}", predicted)

    def member(self, candidate: Candidate, represented: RepresentedFolds) -> PredictorMember | None:
        """What it learned from all sources, if that was stored."""
        state = self._cache.load(f"predictor {self._name(candidate)}")
        if state is None:
            return None
        is_class = represented.data.classes is not None
        return PredictorMember(represented.representation, Predictor.from_entry(state), is_class)

    def store_member(self, candidate: Candidate, member: PredictorMember, seconds: float) -> None:
        """Where it took long, and can be written without pickle."""
        if self._cache.folder is None or seconds < self.min_seconds or not member.predictor.kind:
            return
        try:
            state = member.predictor.entry()
        except InputError:  # an estimator of the user's that skops does not know
            return
        self._cache.store(f"predictor {self._name(candidate)}", state)

    def represented(
        self, kind: type[Representation], data: DomainData, geometry: DomainGeometry, is_cut: bool
    ) -> RepresentedFolds:
        """All rows in a representation, which is stored where it took long."""
        name = f"representation {kind.name}"
        state = self._cache.load(name)
        if state is not None:
            representation = kind.from_state(state)
            rows = representation.apply(PlacedRows.of_map(data, geometry.domain_map))
            return RepresentedFolds(data, geometry, representation, rows, is_cut)
        made, seconds = timed(RepresentedFolds.fit, kind, data, geometry, is_cut)
        if seconds >= self.min_seconds and kind.__module__.startswith("domindex."):
            self._cache.store(name, made.representation.state())
        return made

    def _name(self, candidate: Candidate) -> str:
        if candidate not in self._names:
            number = self._counts[candidate.name] = self._counts.get(candidate.name, -1) + 1
            self._names[candidate] = f"{candidate.name} {number}"
        return self._names[candidate]


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a function returns, and the seconds that it took."""
    start = time.monotonic()
    result = function(*arguments)
    return result, time.monotonic() - start
