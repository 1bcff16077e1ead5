"""Rows in other roles: what was known is hidden."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.inputs import check_domain_data
from domindex.inputs.domain_data import HIDDEN_CLASS, InputLayout, read_layout
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


@pytest.mark.parametrize(
    ("shape", "kind", "grid"),
    [
        ((9, 30), "table", None),
        ((9, 28, 28), "pictures", (1, 28, 28)),
        ((9, 8, 9), "pictures", (1, 8, 9)),
        ((9, 50, 7), "signals", (7, 50)),
        ((9, 6, 40), "signals", (40, 6)),
        ((9, 32, 20, 3), "pictures", (3, 32, 20)),
        ((9, 3, 32, 20), "pictures", (3, 32, 20)),
        ((9, 4, 4, 4), "pictures", (4, 4, 4)),
        ((9, 2, 3, 4, 5), "table", None),
    ],
)
def test_shapes_are_read_by_themselves(shape, kind, grid):
    layout = read_layout(shape)
    assert layout.kind == kind
    if grid is not None:
        assert layout.grid_shape == grid


def test_a_user_may_say_otherwise():
    assert read_layout((9, 50), "signals").grid_shape == (1, 50)
    assert read_layout((9, 12, 12), "signals").grid_shape == (12, 12)
    assert read_layout((9, 12, 12), "table").kind == "table"
    assert read_layout((9, 4, 50), "pictures").grid_shape == (1, 4, 50)


@pytest.mark.parametrize(
    ("shape", "kind", "words"),
    [
        ((9, 20, 30, 40), "auto", "neither its second nor its last axis"),
        ((9, 20), "pictures", r"\(rows, height, width\)"),
        ((9, 2, 8, 8), "signals", r"\(rows, time"),
        ((9, 20), "images", "Choose one of"),
        ((9, 20), ["table"], "Choose one of"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_way_out(shape, kind, words):
    with pytest.raises(InputError, match=words):
        read_layout(shape, kind)


@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 3), (3, 5, 6), (40, 3)])
def test_rows_come_back_in_the_users_order(shape):
    rows = np.random.default_rng(0).normal(size=(4, *shape))
    layout = read_layout(rows.shape)
    grid = layout.to_grid(rows)
    assert grid.shape[1:] == layout.grid_shape
    assert np.array_equal(layout.from_grid(grid), rows.reshape(4, -1))
    assert np.array_equal(layout.to_grid(rows.reshape(4, -1)), grid)


def test_channels_are_found_where_they_stand():
    rows = np.arange(2 * 9 * 10 * 3).reshape(2, 9, 10, 3)
    assert np.array_equal(read_layout(rows.shape).to_grid(rows)[:, 1], rows[..., 1])


def test_a_layout_comes_back_from_its_state():
    layout = read_layout((7, 9, 9, 3))
    assert InputLayout.from_state(layout.state()) == layout
    for damaged in ({"kind": "film"}, {"channel_axis": 3}, {"channel_axis": True}, {"shape": [0]}):
        with pytest.raises(ValueError, match=r"the kind is|inputs of kind|axis"):
            InputLayout.from_state({**layout.state(), **damaged})


def test_the_gate_reads_a_table_unless_told():
    X, y, names = np.zeros((4, 9, 9)), [0, 1, 0, 1], ["a", "a", "b", "b"]
    assert check_domain_data(X, y, names, ["a"]).layout.kind == "table"
    assert check_domain_data(X, y, names, ["a"], kind="auto").layout.kind == "pictures"
