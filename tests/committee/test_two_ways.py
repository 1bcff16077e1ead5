"""How far predictions differ that reach a domain one way round a ring and the other."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from domindex.committee.committee import Deviations, Prediction, ways_apart
from domindex.geometry.rings import RingCoordinate
from domindex.representations import PlacedRows

ANGLES = {name: np.deg2rad(degrees) for name, degrees in [("near", 20), ("far", 170)]}
RING = RingCoordinate(middle=0.0, half_width=0.1)


@dataclass
class Turning:
    """A committee whose answers hang on the way: class 1, or a value of 3, the other way round."""

    ring: RingCoordinate | None = RING
    deviations: Deviations | None = None
    asked: list = field(default_factory=list)

    def predict(self, rows, indices):
        self.asked.append([domain.name for domain in rows.domains])
        answer = 1 if rows.other_way else 0
        if self.deviations is not None:
            return Prediction(np.full((len(rows.inputs), 1), 3.0 * answer))
        return Prediction(np.eye(2)[np.full(len(rows.inputs), answer)])


@pytest.fixture
def rows():
    places = {name: np.zeros(2) for name in ANGLES}
    return PlacedRows.of(np.zeros((6, 1)), ["near", "far"] * 3, places, ANGLES)


def apart(committee, rows):
    predicted = committee.predict(rows, None).mean
    return ways_apart(committee, rows, None, predicted)


def test_classes_that_all_change_are_all_apart_where_both_ways_are_in_question(rows):
    committee = Turning()
    assert apart(committee, rows) == {"near": 0.0, "far": 1.0}
    assert committee.asked[1] == ["far"]


def test_values_are_apart_by_their_difference_in_units_of_spread(rows):
    unit = Deviations(np.array([2.0]), np.ones(1), np.ones(1), 1e-9)
    assert apart(Turning(deviations=unit), rows) == {"near": 0.0, "far": pytest.approx(1.5)}


def test_nothing_is_said_where_nothing_runs_around(rows):
    assert apart(Turning(ring=None), rows) is None


def test_nothing_is_asked_where_only_one_way_is_in_question(rows):
    committee = Turning()
    assert apart(committee, rows.only(["near"])) == {"near": 0.0}
    assert len(committee.asked) == 1
