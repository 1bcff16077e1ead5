"""What candidates predicted and learned, taken from the journal of a fit that was cut off."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from domindex.arrays import Floats
from domindex.committee.candidates import Candidate
from domindex.committee.folds import RepresentedFolds
from domindex.committee.learners.base import Predictor, predictor_from_state, predictor_state
from domindex.committee.members import PredictorMember
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData
from domindex.persistence.journal import Journal
from domindex.representations import PlacedRows, Representation

WORTH_KEEPING = 0.5
"""Seconds that a predictor or a representation took, from which on it is kept: to write the trees
of a forest and read them again takes a good part of that. For time, not tuned."""


class KeptPieces:
    """Finds and keeps pieces by the candidate that they belong to.

    Candidates come in the same order in a fit that is begun again: they are known by their names,
    and by how many of that name were asked for before.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._names: dict[Candidate, str] = {}
        self._counts: dict[str, int] = {}

    def held_out(self, candidate: Candidate) -> Floats | None:
        """(n, columns) what it predicted of held-out rows, if that was kept."""
        return self._journal.find(f"held out {self._name(candidate)}")

    def keep_held_out(self, candidate: Candidate, predicted: Floats) -> None:
        self._journal.keep(f"held out {self._name(candidate)}", predicted)

    def member(self, candidate: Candidate, represented: RepresentedFolds) -> PredictorMember | None:
        """What it learned from all sources, if that was kept."""
        state = self._journal.find(f"predictor {self._name(candidate)}")
        if state is None:
            return None
        is_class = represented.data.classes is not None
        return PredictorMember(represented.representation, predictor_from_state(state), is_class)

    def keep_member(self, candidate: Candidate, member: PredictorMember, seconds: float) -> None:
        """Where it took long, and can be kept without pickle."""
        predictor: Predictor = member.predictor
        if self._journal.folder is None or seconds < WORTH_KEEPING or not predictor.kind:
            return
        try:
            state = predictor_state(predictor)
        except InputError:  # an estimator of the user's that skops does not know
            return
        self._journal.keep(f"predictor {self._name(candidate)}", state)

    def represented(
        self, kind: type[Representation], data: DomainData, geometry: DomainGeometry, is_cut: bool
    ) -> RepresentedFolds:
        """All rows in a representation, which is taken from the journal where it took long."""
        name = f"representation {kind.name}"
        state = self._journal.find(name)
        if state is not None:
            representation = kind.from_state(state)
            placed = PlacedRows.of_map(data, geometry.domain_map)
            return RepresentedFolds(
                data, geometry, representation, representation.apply(placed), is_cut
            )
        made, seconds = timed(RepresentedFolds.fit, kind, data, geometry, is_cut)
        if seconds >= WORTH_KEEPING and kind.__module__.startswith("domindex."):
            self._journal.keep(name, made.representation.state())
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
