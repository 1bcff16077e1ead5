"""Rows in other roles: what was known is hidden."""

import numpy as np
import pytest

from domindex.inputs import check_domain_data
from domindex.inputs.domain_data import HIDDEN_CLASS
from domindex.inputs.gate import with_row_weights

NAMES = ["a", "b", "a", "b", "c", "c"]


def data_of(y, task):
    return check_domain_data(np.arange(6.0)[:, None], y, NAMES, ["a", "b"], task=task)


@pytest.fixture
def data():
    return data_of([0, 1, 1, 0, 5, 5], "classification")


def test_labels_of_who_is_no_source_now_are_hidden(data):
    chosen = data.select(np.array([3, 0, 2, 1]), np.array([True, False, False]))
    assert chosen.domains == ("a", "b")
    assert chosen.source_domains == ("a",)
    assert chosen.labels.tolist() == [HIDDEN_CLASS, data.labels[0], data.labels[2], HIDDEN_CLASS]
    assert chosen.inputs.ravel().tolist() == [3.0, 0.0, 2.0, 1.0]
    assert chosen.row_names == ["b", "a", "a", "b"]


def test_values_are_hidden_as_nan():
    chosen = data_of(np.arange(6.0), "regression").select(
        np.arange(6), np.array([False, True, False])
    )
    assert np.isnan(chosen.labels[[0, 2, 4, 5]]).all()
    assert chosen.labels[[1, 3]].ravel().tolist() == [1.0, 3.0]


def test_the_data_it_came_from_stay_as_they_were(data):
    before = data.labels.copy()
    data.select(np.arange(6), np.array([False, True, False]))
    np.testing.assert_array_equal(data.labels, before)


def test_a_target_cannot_become_known(data):
    """Its labels were hidden at the gate: there is nothing to read."""
    chosen = data.select(np.arange(6), np.array([True, True, True]))
    assert (chosen.labels[4:] == HIDDEN_CLASS).all()


def test_weights_go_with_their_rows(data):
    weighted = with_row_weights(data, [1, 2, 3, 4, 0, 0], None)
    chosen = weighted.select(np.array([3, 1]), np.array([True, True, True]))
    np.testing.assert_array_equal(chosen.weights, weighted.weights[[3, 1]])
    assert chosen.domains == ("b",)
