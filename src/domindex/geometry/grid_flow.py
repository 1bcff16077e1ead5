"""Pictures and signals that move over their grid, and are lit, along the map."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import expm
from scipy.spatial.distance import cdist

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.geometry.flow import homogeneous
from domindex.geometry.rings import TURN, wrap_angle
from domindex.geometry.settings import GRID
from domindex.persistence.saved import Saved


class Grid:
    """The cells of rows (..., *sides), in units of half the longest side, about the middle.

    One unit for all axes: a turn stays a turn where a picture is wider than high.
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
        return np.hstack([self.positions, np.ones((self.size, 1))])

    def taps(self, positions: Floats) -> tuple[Ints, Floats, Floats]:
        """What is seen at positions (..., axes), as a mixture of the cells around each.

        Numbers of cells (..., 2^axes), weights (..., 2^axes) of linear interpolation, and their
        slopes (..., 2^axes, axes). Outside the grid there is nothing: weight 0.
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

        Where cells are drawn further apart than they lie, what lies between is averaged: nothing is
        skipped.
        """
        n_axes = len(self.sides)
        steps = np.linalg.norm(matrix[:n_axes, :n_axes], axis=0)
        repeats = [int(np.clip(np.ceil(step - 0.5), 1, GRID.max_samples)) for step in steps]
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


def shrink(rows: NDArray, most: int) -> Floats:
    """Rows (n, channels, *sides) with at most so many cells a side, by averaging blocks.

    The margin that no block of whole cells fills is left out, alike at both ends.
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


_SHIFTS = [[[0, 0, 1], [0, 0, 0]], [[0, 0, 0], [0, 0, 1]]]
_TURN = [[0, 1, 0], [-1, 0, 0]]
_ZOOM = [[1, 0, 0], [0, 1, 0]]
_STRAINS = [[[1, 0, 0], [0, -1, 0]], [[0, 1, 0], [1, 0, 0]]]
FAMILIES: dict[int, dict[str, list]] = {
    1: {"none": [], "shift": [[[0, 1]]], "stretch": [[[1, 0]]], "affine": [[[0, 1]], [[1, 0]]]},
    2: {
        "none": [],
        "shift": _SHIFTS,
        "turn": [_TURN],
        "rigid": [*_SHIFTS, _TURN],
        "similarity": [*_SHIFTS, _TURN, _ZOOM],
        "affine": [*_SHIFTS, _TURN, _ZOOM, *_STRAINS],
    },
}
"""Of signals (1 axis) and pictures (2), from none to the freest: name to generators [G g]."""


def grid_generators(family: str, n_axes: int) -> Floats:
    """The blocks [G g] that a family allows, (generators, axes, axes + 1).

    Each moves the edge of the longest axis at about unit speed.
    """
    known = FAMILIES[n_axes]
    if family not in known:
        raise InputError(f"family is {family!r}. Choose one of {tuple(known)}.")
    return np.array(known[family], dtype=np.float64).reshape(-1, n_axes, n_axes + 1)


TRENDS = ("line", "plane", "curve", "free")
"""What motions may depend on: β₁; β₁ and β₂; β₁, its square and its cube; or any smooth function of
the place, by Gaussian kernels about the domains that are known."""


@dataclass(frozen=True, eq=False)
class Trend(Saved):
    """Functions of the index, 0 at β = 0, along which pictures move: one of `TRENDS`."""

    kind: str
    # (index_dim,), as is high: ends of the map; beyond them nothing moves further than a tenth
    low: Floats
    high: Floats
    anchors: Floats  # (anchors, index_dim), the middles of the kernels of "free"
    width: float  # deviation of a kernel
    # Whether the index is one coordinate along a ring, in (−π, π]. Beyond, what a whole turn brings
    # is added: a picture that was carried once around need not come back as it was.
    is_around: bool = field(default=False, metadata={"omitted": True})

    @classmethod
    def along(cls, kind: str, index: Floats, is_around: bool = False) -> Trend:
        """Over the map (domains, index_dim) of the domains that are known, or around its ring."""
        margin = 0.1 * (index.max(axis=0) - index.min(axis=0))
        gaps = cdist(index, index) + np.diag(np.full(len(index), np.inf))
        width = GRID.kernel_width * float(np.median(gaps.min(axis=1))) or 1.0
        anchors = index if kind == "free" else index[:0]
        low, high = index.min(axis=0) - margin, index.max(axis=0) + margin
        return cls(kind, low, high, np.array(anchors), width, is_around)

    def features(self, index: Floats) -> Floats:
        """(domains, features) of an index (domains, index_dim)."""
        if not self.is_around:
            return self._features(np.clip(index, self.low, self.high))
        within = wrap_angle(index)
        ends = self._features(np.array([[-np.pi], [np.pi]]))
        return self._features(within) + np.rint((index - within) / TURN) * (ends[1] - ends[0])

    def _features(self, index: Floats) -> Floats:
        # Angles that lie evenly on a ring have the deviation π / √3: as β, in units of it.
        within = index / (np.pi / np.sqrt(3.0)) if self.is_around else index
        first = within[:, :1]
        if self.kind == "line":
            return first
        if self.kind == "plane":
            return within[:, :2]
        if self.kind == "curve":
            return np.hstack([first, first**2 / 2, first**3 / 4])
        return np.hstack([within[:, :2], self._kernels(index) - self._kernels(0 * index)])

    def _kernels(self, index: Floats) -> Floats:
        return np.exp(-0.5 * cdist(index, self.anchors, "sqeuclidean") / self.width**2)

    def _check_state(self) -> None:
        low, high, anchors = self.low, self.high, self.anchors
        if self.kind not in TRENDS or low.ndim != 1 or low.shape != high.shape:
            raise ValueError("the trend of the flow is damaged")
        if anchors.ndim != 2 or anchors.shape[1:] != low.shape or not self.width > 0:
            raise ValueError("the kernels of the flow do not fit the map")
        if not np.isfinite([*low, *high, *anchors.ravel()]).all() or (low > high).any():
            raise ValueError("the ends of the map are no numbers")
        if self.is_around and len(low) != 1:
            raise ValueError("a flow around a ring has one coordinate")


@dataclass(frozen=True, eq=False)
class GridFlow(Saved):
    """A flow along the map, of rows (n, channels, *sides), by a family of `FAMILIES`."""

    sides: tuple[int, ...]  # (time,) or (height, width)
    family: str
    trend: Trend  # which functions of β it follows
    motion: Floats  # (features, generators) of the family
    gains: Floats  # (features, channels) of log gain
    offsets: Floats  # (features, channels), in units of `spread`
    level: Floats  # (channels,), what stands outside a picture
    spread: Floats  # (channels,), the deviation within

    @property
    def is_still(self) -> bool:
        return self.family == "none" and not self.is_lit

    @property
    def is_lit(self) -> bool:
        """Whether brightness or contrast changes along the map."""
        return bool(np.any(self.gains) or np.any(self.offsets))

    def maps(self, index: Floats) -> Floats:
        """A(β), (domains, axes + 1, axes + 1): where in a domain a place at β = 0 is found."""
        return expm(homogeneous(self.generators, self.trend.features(index) @ self.motion))

    @property
    def generators(self) -> Floats:
        return grid_generators(self.family, len(self.sides))

    def carry(self, rows: NDArray, place: Floats) -> Floats:
        """Rows (n, channels, *sides) of a domain with index (index_dim,), brought to β = 0."""
        index = np.atleast_2d(place)
        features = self.trend.features(index)
        matrix = self.maps(index)[0]
        n_rows, n_channels = rows.shape[:2]
        offset = self.level + (features @ self.offsets)[0] * self.spread
        centred = rows.reshape(n_rows, n_channels, -1) - offset[:, None]
        if self.family != "none":
            flat = centred.reshape(n_rows * n_channels, -1)
            centred = (Grid(self.sides).sampling(matrix) @ flat.T).T.reshape(centred.shape)
        lit = centred * np.exp(-(features @ self.gains)[0])[:, None] + self.level[:, None]
        return lit.reshape(rows.shape)

    def _check_state(self) -> None:
        if len(self.sides) not in (1, 2) or min(self.sides) < 1:
            raise ValueError(f"a grid of sides {self.sides}")
        if self.family not in FAMILIES[len(self.sides)]:
            raise ValueError(f"there is no family of motions {self.family!r}")
        arrays = (self.motion, self.gains, self.offsets, self.level, self.spread)
        if not all(np.isfinite(array).all() for array in arrays):
            raise ValueError("the flow is no numbers")
        n_features = self.trend.features(np.zeros((1, len(self.trend.low)))).shape[1]
        n_channels, n_motions = len(self.level), len(grid_generators(self.family, len(self.sides)))
        shapes = [(n_features, n_motions), *[(n_features, n_channels)] * 2, *[(n_channels,)] * 2]
        if [array.shape for array in arrays] != shapes:
            raise ValueError("the parts of the flow do not fit each other")
