"""Cells of a picture or a signal, and what is seen at places between them."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Grid:
    """The cells of rows (..., *sides), in units of half the longest side, about the middle.

    One unit for all axes: a turn stays a turn where a picture is wider than high.

    Examples
    --------
    >>> from domindex.geometry.grid import Grid
    >>> Grid((2, 4)).positions.tolist()[0]
    [-0.25, -0.75]
    """

    def __init__(self, sides: tuple[int, ...]) -> None:
        self.sides = tuple(sides)
        self.size = prod(self.sides)
        self._offset = (np.array(self.sides) - 1) / 2
        self._unit = max(self.sides) / 2

    @cached_property
    def positions(self) -> Floats:
        """(cells, axes) of the cells' middles, the last axis fastest."""
        cells = np.stack(np.unravel_index(np.arange(self.size), self.sides), axis=1)
        return (cells - self._offset) / self._unit

    @cached_property
    def homogeneous(self) -> Floats:
        """(cells, axes + 1), with a one beside every position."""
        return np.hstack([self.positions, np.ones((self.size, 1))])

    def taps(self, positions: Floats) -> tuple[Numbers, Floats, Floats]:
        """What is seen at positions (..., axes), as a mixture of the cells around each.

        Returns numbers of cells (..., 2^axes), weights (..., 2^axes) of linear interpolation, and
        the weights' slopes (..., 2^axes, axes). Outside the grid there is nothing: weight 0.
        """
        place = positions * self._unit + self._offset
        lower = np.floor(place).astype(np.int64)
        part = place - lower
        numbers, weights, slopes = [], [], []
        for corner in product((0, 1), repeat=len(self.sides)):
            up = np.array(corner)
            cell = lower + up
            inside = ((cell >= 0) & (cell < self.sides)).all(axis=-1)
            factors = np.where(up, part, 1.0 - part)
            signs = np.where(up, 1.0, -1.0) * self._unit
            safe = np.where(inside[..., None], cell, 0)
            numbers.append(np.ravel_multi_index(tuple(np.moveaxis(safe, -1, 0)), self.sides))
            weights.append(np.where(inside, factors.prod(axis=-1), 0.0))
            others = [np.delete(factors, axis, axis=-1).prod(axis=-1) for axis in range(len(up))]
            slope = np.stack(others, axis=-1) * signs
            slopes.append(np.where(inside[..., None], slope, 0.0))
        return np.stack(numbers, -1), np.stack(weights, -1), np.stack(slopes, -2)

    def sampling(self, matrix: Floats) -> sparse.csr_array:
        """(cells, cells): pictures as columns to what is seen of them at matrix · position.

        `matrix` (axes + 1, axes + 1) is homogeneous. Where cells are drawn further apart than they
        lie, what lies between is averaged, so that nothing is skipped.
        """
        n_axes = len(self.sides)
        steps = np.linalg.norm(matrix[:n_axes, :n_axes], axis=0)
        repeats = [int(np.clip(np.ceil(step - 0.5), 1, MOST_SAMPLES)) for step in steps]
        parts = [(np.arange(n) + 0.5) / n - 0.5 for n in repeats]
        result = sparse.csr_array((self.size, self.size))
        for shift in product(*parts):
            seen = self.positions + np.array(shift) / self._unit
            moved = seen @ matrix[:n_axes, :n_axes].T + matrix[:n_axes, n_axes]
            numbers, weights, _ = self.taps(moved)
            starts = np.arange(0, numbers.size + 1, numbers.shape[1])
            entries = (weights.ravel() / prod(repeats), numbers.ravel(), starts)
            result = result + sparse.csr_array(entries, shape=result.shape)
        return result


MOST_SAMPLES = 4
"""A side and cell, at most, where pictures are drawn together; for time."""


def shrink(rows: NDArray, most: int) -> Floats:
    """Rows (n, channels, *sides) with at most so many cells a side, by averaging blocks.

    Blocks are whole cells; the margin that no block fills is left out, alike at both ends.
    """
    result = np.asarray(rows, dtype=np.float64)
    for axis in range(2, rows.ndim):
        side = result.shape[axis]
        block = -(-side // most)
        if block == 1:
            continue
        count = side // block
        first = (side - count * block) // 2
        kept = np.moveaxis(result, axis, -1)[..., first : first + count * block]
        result = np.moveaxis(kept.reshape(*kept.shape[:-1], count, block).mean(axis=-1), -1, axis)
    return result
