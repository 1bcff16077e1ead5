"""A fitted committee: the weighted mean of its members, and how far to believe it."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from domindex.committee.committee import (
    Committee,
    Deviations,
    Member,
    PredictorMember,
    disagreement,
)
from domindex.committee.folds import temper
from domindex.committee.learners.estimators import LinearLearner
from domindex.committee.weighing import OutputRange
from domindex.persistence.codec import decode, encode
from domindex.representations import PlacedRows
from domindex.representations.base import Raw


@dataclass(frozen=True, eq=False)
class Says(Member):
    """A member that says the same of every row, whatever it is."""

    kind: ClassVar[str] = "says"
    row: np.ndarray

    def predict(self, rows, indices):
        return np.tile(self.row, (len(rows.inputs), 1))

    def spread(self, rows):
        return np.ones((len(rows.inputs), 1))

    def represent(self, rows, indices):
        return rows.features

    def state(self):
        return {}


@pytest.fixture
def rows():
    return PlacedRows(np.arange(8.0).reshape(4, 2), ())


def of_classes(members, weights, temperatures):
    said = tuple(Says(np.array(one)) for one in members)
    return Committee(said, np.array(weights), np.array(temperatures), 0.02)


def test_probabilities_are_the_weighted_mean_of_calibrated_ones(rows):
    first, second = [0.9, 0.1], [0.3, 0.7]
    found = of_classes([first, second], [0.75, 0.25], [1.0, 2.0]).predict(rows, None).mean
    expected = 0.75 * temper(np.array([first]), 1.0, 0.02) + 0.25 * temper(
        np.array([second]), 2.0, 0.02
    )
    np.testing.assert_allclose(found, np.tile(expected, (4, 1)))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_members_that_agree_do_not_disagree(rows):
    alike = of_classes([[0.8, 0.2]] * 2, [0.5, 0.5], [1.0, 1.0]).predict(rows, None)
    apart = of_classes([[0.8, 0.2], [0.2, 0.8]], [0.5, 0.5], [1.0, 1.0]).predict(rows, None)
    np.testing.assert_allclose(alike.disagreement, 0.0)
    assert (apart.disagreement > 0.05).all()


def of_values(members, weights, deviations):
    reach = OutputRange(np.array([0.0]), np.array([10.0]))
    said = tuple(Says(np.array([one])) for one in members)
    return Committee(said, np.array(weights), np.ones(len(weights)), 0.02, reach, deviations)


@pytest.fixture
def deviations():
    return Deviations(np.array([2.0]), np.array([1.0]), np.array([1.5]), 1e-9)


def test_values_are_the_weighted_mean_within_reach(rows, deviations):
    found = of_values([4.0, 1e9], [0.75, 0.25], deviations).predict(rows, None)
    np.testing.assert_allclose(found.mean, 0.75 * 4.0 + 0.25 * 10.0)


def test_deviations_are_larger_where_members_disagree(rows, deviations):
    alike = of_values([4.0, 4.0], [0.5, 0.5], deviations).predict(rows, None)
    apart = of_values([2.0, 6.0], [0.5, 0.5], deviations).predict(rows, None)
    np.testing.assert_allclose(alike.deviation, 1.5 * 1.0)
    np.testing.assert_allclose(apart.deviation, 1.5 * np.sqrt(1.0 + 4.0))


def test_disagreement_is_in_units_of_spread():
    members = np.array([[[0.0]], [[4.0]]])
    weights, mean = np.array([0.5, 0.5]), np.array([[2.0]])
    np.testing.assert_allclose(disagreement(members, weights, mean, np.array([2.0])), [1.0])


def test_intervals_hold_what_they_say_of_held_out_rows(held_out_of):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 1))
    rows = held_out_of(values, np.arange(600) // 100)
    members = np.stack([values + rng.standard_t(3, size=values.shape) for _ in range(2)])
    weights = np.array([0.5, 0.5])
    measured = Deviations.measure(members, weights, np.ones((members.shape[1], 1)), rows, 0.9)
    mean = members.mean(axis=0)
    inside = np.abs(mean - values) <= 1.645 * measured.apply(
        members, weights, np.ones((len(mean), 1)), mean
    )
    assert inside.mean() == pytest.approx(0.9, abs=0.02)


def test_perfect_members_have_no_deviation_of_zero(held_out_of):
    values = np.linspace(1, 2, 40)[:, None]
    rows = held_out_of(values, np.arange(40) // 10)
    members, weights = np.stack([values, values]), np.array([0.5, 0.5])
    measured = Deviations.measure(members, weights, np.ones((members.shape[1], 1)), rows, 0.9)
    assert (measured.apply(members, weights, np.ones((len(values), 1)), values) > 0).all()


@pytest.fixture
def fitted(line, line_geometry):
    def member(penalty):
        representation = Raw.fit(line, line_geometry)
        rows = representation.apply(PlacedRows.of_data(line))
        known = line.row_is_source
        predictor = LinearLearner(penalty).fit(rows.features[known], line.labels[known], 2, 0)
        return PredictorMember(representation, predictor, True)

    return Committee((member(1e-3), member(1.0)), np.array([0.6, 0.4]), np.array([1.0, 1.5]), 0.02)


def test_a_state_comes_back_from_a_file_and_predicts_the_same(fitted, line):
    tree, arrays = encode(fitted.state())
    again = Committee.from_state(decode(json.loads(json.dumps(tree)), arrays))
    rows = PlacedRows.of_data(line)
    assert again.predict(rows, None).mean.tobytes() == fitted.predict(rows, None).mean.tobytes()
    assert len(again.members) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"members": {}},
        {"weights": np.ones(3)},
        {"temperatures": np.array([1.0, 0.0])},
        {"weights": np.array([1.5, -0.5])},
        {"weights": np.array([np.nan, 1.0])},
    ],
    ids=str,
)
def test_a_damaged_state_is_refused(fitted, change):
    with pytest.raises(ValueError, match="weights"):
        Committee.from_state(fitted.state() | change)
