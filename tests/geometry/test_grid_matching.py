"""Sliced distances between carried pictures, and their slopes."""

import numpy as np
import pytest

from domindex.geometry.grid import Grid
from domindex.geometry.grid_families import grid_generators
from domindex.geometry.grid_matching import FlowParameters, PairLoss, draw_slices

PAIRS = np.array([[0, 1], [1, 2], [3, 2], [0, 3]])


def a_loss(sides, n_channels, rng):
    grid = Grid(sides)
    pictures = rng.normal(size=(4, n_channels, grid.size, 9))
    slices = draw_slices(5, n_channels, grid, (0.1, 0.2), 0)
    return PairLoss(pictures, grid, slices, PAIRS, rng.normal(size=(4, 2)))


@pytest.mark.parametrize(("sides", "n_channels"), [((6, 7), 2), ((20,), 3)])
def test_the_gradient_is_that_of_the_loss(sides, n_channels):
    rng = np.random.default_rng(0)
    loss, generators = a_loss(sides, n_channels, rng), grid_generators("affine", len(sides))
    still = FlowParameters.still(2, len(generators), n_channels)
    start = 0.1 * rng.normal(size=still.flat.size)
    _, slope = loss.mean(still.filled(start), generators)
    for number in range(len(start)):
        step = np.zeros_like(start)
        step[number] = 1e-6
        up, down = (loss.mean(still.filled(start + s), generators)[0] for s in (step, -step))
        assert slope.flat[number] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_the_same_pictures_are_no_distance_apart():
    rng = np.random.default_rng(0)
    grid, picture = Grid((6, 6)), rng.normal(size=(1, 1, 36, 8))
    loss = PairLoss(
        np.repeat(picture, 4, axis=0),
        grid,
        draw_slices(4, 1, grid, (0.1,), 0),
        PAIRS,
        rng.normal(size=(4, 1)),
    )
    generators = grid_generators("affine", 2)
    assert loss.by_pair(FlowParameters.still(1, 6, 1), generators) == pytest.approx(0.0, abs=1e-12)
    turned = FlowParameters.still(1, 6, 1).filled(np.array([0.0, 0.0, 0.5]))
    assert loss.by_pair(turned, generators).min() > 0.01
