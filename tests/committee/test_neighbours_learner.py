"""Nearest neighbours as a predictor."""

import json

import numpy as np
import pytest

from domindex.committee.learners.base import Predictor
from domindex.committee.learners.estimators import NeighboursLearner
from domindex.persistence.codec import decode, encode


@pytest.fixture
def groups():
    """Two groups of rows far apart, classes 0 and 2 of three."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 2], 20)
    return rng.normal(size=(40, 4)) + 10 * labels[:, None], labels


def test_five_who_agree_are_not_certain(groups):
    rows, labels = groups
    predicted = NeighboursLearner().fit(rows, labels, 3, 0).predict(rows)
    assert np.allclose(predicted.sum(axis=1), 1.0)
    assert not predicted[:, 1].any()
    own = predicted[np.arange(40), labels]
    assert np.allclose(own, (5 + 0.5) / (5 + 1))


def test_values_are_means_of_the_nearest(groups):
    rows, labels = groups
    values = np.stack([labels, 1.0 - labels], axis=1)
    predicted = NeighboursLearner().fit(rows, values, None, 0).predict(rows)
    assert np.allclose(predicted, values)


def test_rows_of_no_weight_are_forgotten_and_others_count_by_theirs():
    rows = np.zeros((3, 2))
    weights = np.array([3.0, 1.0, 0.0])
    learned = NeighboursLearner().fit(rows, np.array([[1.0], [5.0], [1e6]]), None, 0, weights)
    assert learned.predict(rows[:1]) == pytest.approx(2.0)


def test_no_rows_give_no_predictions(groups):
    rows, labels = groups
    learned = NeighboursLearner().fit(rows, labels, 3, 0)
    assert learned.predict(rows[:0]).shape == (0, 3)


def test_it_comes_back_from_its_state(groups):
    rows, labels = groups
    learned = NeighboursLearner().fit(rows, labels, 3, 0)
    plain, arrays = encode(learned.entry())
    again = Predictor.from_entry(decode(json.loads(json.dumps(plain)), arrays))
    assert np.array_equal(again.predict(rows), learned.predict(rows))


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("rows", np.ones((3, 4))),
        ("answers", np.ones(40)),
        ("weights", np.zeros(40)),
        ("prior", np.ones(2)),
    ],
)
def test_a_damaged_state_is_refused(groups, name, damaged):
    rows, labels = groups
    state = NeighboursLearner().fit(rows, labels, 3, 0).entry()
    state["state"][name] = damaged
    with pytest.raises(ValueError, match=r"rows|prior|counts"):
        Predictor.from_entry(state)
