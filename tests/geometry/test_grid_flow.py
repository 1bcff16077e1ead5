"""Cells, and what is seen between them."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.geometry.grid_flow import FAMILIES, Grid, background, grid_generators, shrink


def test_a_turn_by_a_right_angle_is_exact():
    picture = np.random.default_rng(0).normal(size=(5, 5))
    quarter = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    seen = (Grid((5, 5)).sampling(quarter) @ picture.ravel()).reshape(5, 5)
    assert np.allclose(seen, picture.T[:, ::-1]) or np.allclose(seen, picture.T[::-1])


def test_a_shift_by_a_cell_brings_in_nothing_from_outside():
    grid = Grid((4, 8))
    shift = np.eye(3)
    shift[1, 2] = 2 / 8
    picture = np.random.default_rng(0).normal(size=(4, 8))
    seen = (grid.sampling(shift) @ picture.ravel()).reshape(4, 8)
    assert np.allclose(seen[:, :-1], picture[:, 1:])
    assert np.allclose(seen[:, -1], 0.0)


def test_between_cells_signals_are_interpolated():
    grid = Grid((3,))
    numbers, weights, slopes = grid.taps(np.array([[-1 / 3]]))
    assert weights.sum() == pytest.approx(1.0)
    assert sorted(numbers.ravel()) == [0, 1]
    assert np.abs(slopes).max() == pytest.approx(1.5)


def test_cells_drawn_together_are_averaged():
    halved = Grid((8,)).sampling(np.diag([2.0, 1.0])) @ np.resize([0.0, 1.0], 8)
    assert halved[3:5] == pytest.approx([0.5, 0.5])


def test_long_sides_are_averaged_by_blocks():
    rows = np.arange(2 * 9 * 4, dtype=float).reshape(2, 1, 9, 4)
    small = shrink(rows, 4)
    assert small.shape == (2, 1, 3, 4)
    assert np.allclose(small[0, 0, 0], rows[0, 0, :3].mean(axis=0))
    assert shrink(rows, 9) is not None
    assert np.array_equal(shrink(rows, 9), rows)


@pytest.mark.parametrize("n_axes", [1, 2])
def test_families_grow(n_axes):
    sizes = [len(grid_generators(name, n_axes)) for name in FAMILIES[n_axes]]
    assert sizes[0] == 0
    assert max(sizes[:-1]) < sizes[-1]
    assert sizes[-1] == n_axes * (n_axes + 1)


def test_an_unknown_family_is_refused():
    with pytest.raises(InputError, match="Choose one of"):
        grid_generators("spin", 2)


def test_strains_are_symmetric_leave_areas_and_shift_nothing():
    strains = grid_generators("affine", 2)[-2:]
    for strain in strains:
        linear, shift = strain[:, :2], strain[:, 2]
        np.testing.assert_array_equal(linear, linear.T)
        assert np.trace(linear) == 0.0
        assert not shift.any()
    assert np.sum(strains[0] * strains[1]) == 0.0


@pytest.mark.parametrize("n_axes", [1, 2])
def test_every_generator_moves_the_edge_at_unit_speed(n_axes):
    for family in FAMILIES[n_axes]:
        for generator in grid_generators(family, n_axes):
            linear, shift = generator[:, :-1], generator[:, -1]
            edge = np.eye(n_axes)[0]
            assert np.linalg.norm(linear @ edge + shift) == 1.0


@pytest.mark.parametrize("shape", [(7, 2, 5, 6), (7, 3, 8)], ids=["pictures", "signals"])
def test_the_background_is_what_stands_at_the_rim(shape):
    rows = np.random.default_rng(0).normal(size=shape)
    level, spread = background(rows)
    for channel in range(shape[1]):
        cells = rows[:, channel]
        rim = [cells[:, 0], cells[:, -1]]
        if len(shape) == 4:
            rim += [cells[:, :, 0], cells[:, :, -1]]
        expected = np.median(np.concatenate([part.ravel() for part in rim]))
        assert level[channel] == pytest.approx(expected)
        assert spread[channel] == pytest.approx(cells.std())
    assert (background(np.ones(shape))[1] == 1.0).all()
