"""What the shape of inputs means."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.inputs import check_domain_data
from domindex.inputs.domain_data import InputLayout, read_layout


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
