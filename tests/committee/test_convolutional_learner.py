"""A small convolutional network as a predictor."""

import json

import numpy as np
import pytest
import torch

from domindex.committee.learners.base import (
    PREDICTORS,
    Predictor,
)
from domindex.committee.learners.convolutional import ConvolutionalLearner, ConvolutionalPredictor
from domindex.errors import InputError
from domindex.inputs.domain_data import read_layout
from domindex.persistence.codec import decode, encode


@pytest.fixture(scope="module")
def pulses():
    """Signals (rows, 20) with one pulse up or down somewhere: the place says nothing."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=160)
    at = rng.uniform(5, 15, size=(160, 1))
    rows = np.exp(-0.5 * (np.arange(20) - at) ** 2) * (2 * labels[:, None] - 1)
    return rows + 0.1 * rng.normal(size=rows.shape), labels


@pytest.fixture(scope="module")
def learner(pulses):
    return ConvolutionalLearner().for_layout(read_layout(pulses[0].shape, "signals"))


@pytest.fixture(scope="module")
def fitted(pulses, learner):
    rows, labels = pulses
    return learner.fit(rows[:80], 2 * labels[:80], 4, 0)


def test_it_learns_what_does_not_depend_on_the_place(pulses, fitted):
    rows, labels = pulses
    predicted = fitted.predict(rows[80:])
    assert (predicted.argmax(axis=1) == 2 * labels[80:]).mean() > 0.95
    assert np.allclose(predicted.sum(axis=1), 1.0)
    assert not predicted[:, [1, 3]].any()


def test_the_same_seed_gives_the_same_and_leaves_torchs_alone(pulses, learner, fitted):
    rows, labels = pulses
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    again = learner.fit(rows[:80], 2 * labels[:80], 4, 0)
    assert torch.equal(torch.rand(1), expected)
    assert np.array_equal(again.predict(rows), fitted.predict(rows))


def test_a_rows_prediction_does_not_depend_on_those_beside_it(pulses, fitted):
    rows, _ = pulses
    assert np.allclose(fitted.predict(rows)[3:4], fitted.predict(rows[3:4]), atol=1e-12)


def test_it_comes_back_from_its_state(pulses, fitted):
    tree, arrays = encode(fitted.entry())
    again = Predictor.from_entry(decode(json.loads(json.dumps(tree)), arrays))
    assert isinstance(again, ConvolutionalPredictor)
    assert np.array_equal(again.predict(pulses[0]), fitted.predict(pulses[0]))


@pytest.mark.parametrize(
    "damaged", [{"n_outputs": 1}, {"present": [0, 9]}, {"present": None}, {"present": [0]}]
)
def test_a_damaged_state_is_refused(fitted, damaged):
    with pytest.raises(ValueError, match="network"):
        ConvolutionalPredictor.from_state({**fitted.state(), **damaged})


def test_values_are_predicted_in_their_units(pulses, learner):
    rows, _ = pulses
    values = 100 + 50 * rows.sum(axis=1, keepdims=True)
    fitted = learner.fit(rows, values, None, 0)
    error = ((fitted.predict(rows) - values) ** 2).mean() / values.var()
    assert error < 0.3


def test_rows_that_count_for_nothing_might_as_well_not_be_there(pulses, learner):
    rows, labels = pulses
    weights = np.r_[np.ones(40), np.zeros(40)]
    one = learner.fit(rows[:80], labels[:80], 2, 0, weights)
    other = learner.fit(rows[:40], labels[:40], 2, 0, np.ones(40))
    assert np.array_equal(one.predict(rows), other.predict(rows))


def test_tables_and_other_shapes_are_refused(pulses, learner):
    with pytest.raises(InputError, match="for pictures and signals"):
        PREDICTORS["convolutional"].for_layout(read_layout((5, 20)))
    with pytest.raises(InputError, match="21 features to read"):
        learner.fit(np.zeros((4, 21)), np.array([0, 1, 0, 1]), 2, 0)
