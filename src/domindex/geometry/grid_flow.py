"""Pictures and signals that move over their grid, and are lit, along the map.

How they move is found by comparing neighbouring domains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.linalg import expm
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.geometry.flow import homogeneous
from domindex.geometry.rings import TURN, RingCoordinate, wrap_angle
from domindex.geometry.settings import GRID
from domindex.persistence.saved import Saved


class Grid:
    """The cells of rows (..., *sides), in units of half the longest side, about the middle."""

    def __init__(self, sides: tuple[int, ...]) -> None:
        self.sides, self.size = tuple(sides), prod(sides)
        self._offset = (np.array(self.sides) - 1) / 2
        self._unit = max(self.sides) / 2
        cells = np.stack(np.unravel_index(np.arange(self.size), self.sides), axis=1)
        # (cells, axes) of the cells' middles, the last axis fastest
        self.positions = (cells - self._offset) / self._unit
        self.homogeneous = np.hstack([self.positions, np.ones((self.size, 1))])

    def taps(self, positions: Floats) -> tuple[Ints, Floats, Floats]:
        """What is seen at positions (..., axes): numbers of the cells around each (..., 2^axes),
        weights of linear interpolation, 0 outside the grid, and their slopes (..., 2^axes, axes).
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
        """(cells, cells): pictures as columns to what is seen of them at matrix · position. Where
        cells are drawn further apart than they lie, what lies between is averaged."""
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
    """Rows (n, channels, *sides) with at most so many cells a side, by averaging blocks; a margin
    that fills no block is left out, alike at both ends."""
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
    """The blocks [G g] that a family allows, (generators, axes, axes + 1), each of unit speed."""
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
        here, middle = (
            np.exp(-0.5 * cdist(one, self.anchors, "sqeuclidean") / self.width**2)
            for one in (index, 0 * index)
        )
        return np.hstack([within[:, :2], here - middle])

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
        generators = grid_generators(self.family, len(self.sides))
        return expm(homogeneous(generators, self.trend.features(index) @ self.motion))

    def carry(self, rows: NDArray, place: Floats) -> Floats:
        """Rows (n, channels, *sides) of a domain with index (index_dim,), brought to β = 0."""
        index = np.atleast_2d(place)
        features = self.trend.features(index)
        n_rows, n_channels = rows.shape[:2]
        offset = self.level + (features @ self.offsets)[0] * self.spread
        centred = rows.reshape(n_rows, n_channels, -1) - offset[:, None]
        if self.family != "none":
            flat, seen = centred.reshape(n_rows * n_channels, -1), self.maps(index)[0]
            centred = (Grid(self.sides).sampling(seen) @ flat.T).T.reshape(centred.shape)
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


def neighbor_pairs(distances: Floats, ranks: tuple[int, ...]) -> Ints:
    """(pairs, 2): every domain with its neighbours of these ranks, in both directions by turns."""
    both = len(distances) <= GRID.both_ways_domains
    order = np.argsort(distances, axis=1, kind="stable")
    found = set()
    for rank in ranks:
        if rank < len(distances):
            for domain, near in enumerate(order[:, rank].tolist()):
                if both or (domain + rank) % 2:
                    found.add((domain, near))
                if both or not (domain + rank) % 2:
                    found.add((near, domain))
    pairs = np.array(sorted(pair for pair in found if pair[0] != pair[1]), dtype=np.int64)
    if len(pairs) > GRID.max_pairs:
        pairs = pairs[np.random.default_rng(0).permutation(len(pairs))[: GRID.max_pairs]]
    return pairs


def background(rows: NDArray) -> tuple[Floats, Floats]:
    """What stands at the rim of the pictures, and their deviation, (channels,) each."""
    rims = []
    for axis in range(2, rows.ndim):
        moved = np.moveaxis(rows, axis, -1)[..., [0, -1]]
        rims.append(np.moveaxis(moved, 1, 0).reshape(rows.shape[1], -1))
    level = np.median(np.concatenate(rims, axis=1), axis=1)
    channels = np.moveaxis(rows, 1, 0).reshape(rows.shape[1], -1)
    spread = channels.std(axis=1)
    return level.astype(np.float64), np.where(spread > 0, spread, 1.0).astype(np.float64)


def split_in_halves(scaled: Floats, row_domains: Ints, n_domains: int) -> list[Floats]:
    """Two samples (domains, channels, cells, rows) of equally many rows; few rows are repeated."""
    rng = np.random.default_rng(0)
    sizes = np.bincount(row_domains, minlength=n_domains)
    count = int(np.clip(np.median(sizes), 2, GRID.max_rows)) // 2
    halves: list[list[Floats]] = [[], []]
    for domain in range(n_domains):
        members = rng.permutation(np.flatnonzero(row_domains == domain))
        middle = max(1, len(members) // 2)
        for half, part in zip(halves, (members[:middle], members[middle:])):
            part = part if len(part) else members
            half.append(np.moveaxis(scaled[np.resize(part, count)], 0, -1))
    return [np.stack(half) for half in halves]


def draw_slices(n_slices: int, n_channels: int, grid: Grid, widths: Sequence[float]) -> Floats:
    """Random smooth pictures (slices, channels, cells), blurred by shares of the longest side."""
    noise = np.random.default_rng(0).normal(size=(n_slices, n_channels, *grid.sides))
    for number, channel in np.ndindex(n_slices, n_channels):
        blur = widths[number % len(widths)] * max(grid.sides)
        noise[number, channel] = ndimage.gaussian_filter(noise[number, channel], blur)
    slices = noise.reshape(n_slices, n_channels, -1)
    return slices / np.linalg.norm(slices, axis=(1, 2), keepdims=True)


@dataclass(frozen=True, eq=False)
class FlowParameters:
    """Of a flow along features of the index."""

    motion: Floats  # (features, generators)
    gains: Floats  # (features, channels), as are offsets
    offsets: Floats

    @classmethod
    def still(cls, n_features: int, n_generators: int, n_channels: int) -> FlowParameters:
        lit = (n_features, n_channels)
        return cls(np.zeros((n_features, n_generators)), np.zeros(lit), np.zeros(lit))

    @property
    def flat(self) -> Floats:
        """All of them in one row, the motion first."""
        return np.concatenate([self.motion.ravel(), self.gains.ravel(), self.offsets.ravel()])

    def filled(self, flat: Floats) -> FlowParameters:
        """Parameters of the same shapes from such a row, or from its beginning."""
        whole = self.flat
        whole[: len(flat)] = flat
        parts = np.split(whole, np.cumsum([self.motion.size, self.gains.size]))
        own = (self.motion, self.gains, self.offsets)
        return FlowParameters(*(part.reshape(one.shape) for part, one in zip(parts, own)))


class PairLoss:
    """Squared sliced distances over pairs of domains, with their gradient."""

    def __init__(
        self,
        pictures: Floats,  # (domains, channels, cells, rows), centred on what stands outside
        grid: Grid,
        slices: Floats,  # (slices, channels, cells)
        pairs: Ints,  # (pairs, 2), from which domain to which
        features: Floats,  # (domains, features) of the index
        generators: Floats,  # (generators, axes, axes + 1) of the motions
    ) -> None:
        self.grid, self.features, self.generators = grid, features, generators
        self.first, self.second = pairs.T
        n_domains, _, _, n_rows = pictures.shape
        flat = pictures.reshape(n_domains, -1, n_rows)
        own = slices.reshape(len(slices), -1) @ flat
        unit = own.std(axis=(0, 2))
        unit[unit == 0] = 1.0
        self.slices, own = slices / unit[:, None, None], own / unit[:, None]
        self.goals = np.sort(own, axis=2)[self.second]
        self.pictures = flat[self.first]
        self.totals = self.slices.sum(axis=2)

    def by_pair(self, flow: FlowParameters) -> Floats:
        """(pairs,) mean squared difference of quantiles, in units of the slices' variance."""
        return (self._gaps(flow)[0] ** 2).mean(axis=(1, 2))

    def mean(self, flow: FlowParameters) -> tuple[float, FlowParameters]:
        """Over all pairs, and its gradient."""
        gap, gradient = self._gaps(flow)
        return float((gap**2).mean()), gradient()

    def _gaps(self, flow: FlowParameters) -> tuple[Floats, Callable[[], FlowParameters]]:
        """Differences of quantiles (pairs, slices, rows); the gradient of their mean square."""
        first, second = self.first, self.second
        turned = homogeneous(self.generators, self.features @ flow.motion)
        forward, backward = expm(turned), expm(-turned)
        matrices = (forward[first] @ backward[second])[:, :-1]
        numbers, weights, slopes = self.grid.taps(self.grid.homogeneous @ matrices.swapaxes(1, 2))
        gains, offsets = self.features @ flow.gains, self.features @ flow.offsets
        ratio = np.exp(gains[second] - gains[first])[:, None, :, None]
        toned = self._seen(numbers, weights) * ratio
        level = np.einsum("jkc,jc->jk", toned.sum(axis=3), offsets[first])
        rise = offsets[second] @ self.totals.T
        flat = toned.reshape(*toned.shape[:2], -1)
        values = flat @ self.pictures + (rise - level)[:, :, None]
        order = np.argsort(values, axis=2)
        gap = np.take_along_axis(values, order, axis=2) - self.goals

        def gradient() -> FlowParameters:
            by_value = np.empty_like(gap)
            np.put_along_axis(by_value, order, 2 * gap / gap.size, axis=2)
            by_level = by_value.sum(axis=2)
            by_toned = (by_value @ self.pictures.swapaxes(1, 2)).reshape(toned.shape)
            tint = offsets[first][:, None, :, None]
            by_toned = by_toned - by_level[:, :, None, None] * tint
            by_ratio = (by_toned * toned).sum(axis=(1, 3))
            by_gains, by_offsets = np.zeros_like(offsets), np.zeros_like(offsets)
            np.add.at(by_gains, second, by_ratio)
            np.add.at(by_gains, first, -by_ratio)
            np.add.at(by_offsets, first, -np.einsum("jk,jkc->jc", by_level, toned.sum(axis=3)))
            np.add.at(by_offsets, second, by_level @ self.totals)
            # What moving the place that a cell is seen at is worth, (pairs, cells, axes).
            cells = self.slices.reshape(-1, self.grid.size).T
            mixed = cells @ (by_toned * ratio).reshape(len(toned), -1, self.grid.size)
            worth = np.take_along_axis(mixed, numbers, axis=2)
            by_position = np.einsum("jpt,jpta->jpa", worth, slopes)
            by_motion = self._by_motion(by_position, turned, forward, backward)
            return FlowParameters(
                by_motion, self.features.T @ by_gains, self.features.T @ by_offsets
            )

        return gap, gradient

    def _seen(self, numbers: Ints, weights: Floats) -> Floats:
        """Slices (pairs, slices, channels, cells) as they fall on the first domain's cells."""
        n_pairs, n_cells, n_taps = numbers.shape
        rows = (numbers + n_cells * np.arange(n_pairs)[:, None, None]).ravel()
        entries = (weights.ravel(), rows, np.arange(0, rows.size + 1, n_taps))
        onto = sparse.csr_array(entries, shape=(n_pairs * n_cells, n_pairs * n_cells))
        cells = np.tile(np.arange(n_cells), n_pairs)
        seen = onto.T @ self.slices.reshape(-1, n_cells).T[cells]
        return np.moveaxis(seen.reshape(n_pairs, n_cells, *self.slices.shape[:2]), 1, 3)

    def _by_motion(
        self, by_position: Floats, turned: Floats, forward: Floats, backward: Floats
    ) -> Floats:
        """Through the maps of both domains and their exponentials, (features, generators)."""
        n_axes = by_position.shape[2]
        by_matrix = np.zeros((len(by_position), n_axes + 1, n_axes + 1))
        by_matrix[:, :n_axes] = by_position.swapaxes(1, 2) @ self.grid.homogeneous
        forward, backward = forward.swapaxes(1, 2), backward.swapaxes(1, 2)
        by_forward, by_backward = np.zeros_like(forward), np.zeros_like(forward)
        np.add.at(by_forward, self.first, by_matrix @ backward[self.second])
        np.add.at(by_backward, self.second, forward[self.first] @ by_matrix)
        by_exponent = _through_exponential(turned, by_forward)
        by_exponent -= _through_exponential(-turned, by_backward)
        by_coordinate = np.einsum("nij,rij->nr", by_exponent[:, :n_axes], self.generators)
        return self.features.T @ by_coordinate


def _through_exponential(matrices: Floats, gradient: Floats) -> Floats:
    """The gradient with respect to X where `gradient` is that with respect to exp(X)."""
    size = matrices.shape[1]
    block = np.zeros((len(matrices), 2 * size, 2 * size))
    block[:, :size, :size] = block[:, size:, size:] = matrices.swapaxes(1, 2)
    block[:, :size, size:] = gradient
    return expm(block)[:, :size, size:]


class Motion(NamedTuple):
    """What a flow may do: its family, its trend, and whether gains and offsets may change."""

    family: str
    trend: str
    is_lit: bool


@dataclass(frozen=True, eq=False)
class SelectedGridFlow:
    """A flow along the map, or around its ring: then `ring` is the coordinate that it follows."""

    flow: GridFlow
    ring: RingCoordinate | None = None


def select_grid_flow(
    rows: NDArray,
    row_domains: Ints,
    index: Floats,
    distances: Floats,
    around: tuple[RingCoordinate, Floats] | None = None,
) -> SelectedGridFlow:
    """The motion along the map `index` (domains, index_dim) of rows (n, channels, *sides).

    `distances` (domains, domains) say who is whose neighbour. Half of the rows of every domain fit
    a motion, the other half say what it is worth. Where the map closes, `around` is the coordinate
    along its ring and the angles (domains,): a picture may turn on where the place comes back, so
    the search goes on along the ring if what is linear in it is better there.
    """
    with threadpool_limits(limits=1):  # many small products, which threads only slow down
        search = _Search(rows, row_domains, index, distances)
        if around is not None:
            ring, angles = around
            along = _Search(rows, row_domains, ring.of(angles)[:, None], distances, ring)
            own, other = (one.judge(one.widest, one.begun) for one in (along, search))
            search = along if _is_better(own, other, 1.0) else search
        return search.run()


class _End(NamedTuple):
    motion: Motion
    parameters: FlowParameters


class _Search:
    """The motions that were tried: where each search led to, and its losses on held-out rows."""

    def __init__(
        self,
        rows: NDArray,
        row_domains: Ints,
        index: Floats,
        distances: Floats,
        ring: RingCoordinate | None = None,
    ) -> None:
        self.sides, self.index, self.ring = rows.shape[2:], index, ring
        self.level, self.spread = background(rows)
        is_signal = len(self.sides) == 1
        small = shrink(rows, GRID.max_signal_cells if is_signal else GRID.max_picture_cells)
        self.grid = Grid(small.shape[2:])
        scaled = (small.reshape(*small.shape[:2], -1) - self.level[:, None]) / self.spread[:, None]
        self.halves = split_in_halves(scaled, row_domains, len(index))
        self.distances, self.n_channels = distances, rows.shape[1]
        self.families = list(FAMILIES[len(self.sides)])
        self.widest = Motion(self.families[-1], "plane" if index.shape[1] > 1 else "line", True)
        self.ends: dict[Motion, _End] = {}
        self.losses: dict[Motion, Floats] = {}

    @cached_property
    def begun(self) -> _End:
        """The best of several ways of the freest family, linear in the whole index, on near
        neighbours and smooth slices: where every other motion starts."""
        motion = self.widest
        loss = self._loss(motion, GRID.near_ranks, GRID.coarse_widths, 0)
        n_features, n_generators = loss.features.shape[1], len(loss.generators)
        still = FlowParameters.still(n_features, n_generators, self.n_channels)
        tried = [(float(loss.by_pair(still).mean()), 0, still)]
        for place in np.ndindex(n_features, n_generators):
            for speed in (*GRID.starts, *(-speed for speed in GRID.starts)):
                start = still.filled(np.zeros(0))
                start.motion[place] = speed
                tried.append((float(loss.by_pair(start).mean()), len(tried), start))
        best = [start for _, _, start in sorted(tried)[: GRID.n_starts]]
        if still not in best:
            best.append(still)
        ends = [_descend(loss, one, motion.is_lit, GRID.search_steps) for one in best]
        wider = self._loss(motion, GRID.far_ranks, GRID.coarse_widths, 0)
        return _End(motion, min(ends, key=lambda end: wider.by_pair(end).mean()))

    def run(self) -> SelectedGridFlow:
        """The trend with the freest family, the family along that trend, then the lighting."""
        freest, widest = self.widest.family, self.widest.trend
        trends = [trend for trend in TRENDS if trend != "plane" or widest == "plane"]
        for trend in trends:
            self.judge(Motion(freest, trend, True), self.begun)
        trend = self._simplest([Motion(freest, one, True) for one in trends]).trend
        ended = self.ends[Motion(freest, trend, True)]
        for family in self.families[:-1]:
            self.judge(Motion(family, trend, True), ended)
        lit = self._simplest([Motion(one, trend, True) for one in self.families])
        plain, still = lit._replace(is_lit=False), Motion("none", "line", False)
        self.judge(plain, self.ends[lit])
        self.judge(still, self.ends[lit])
        chosen = self._simplest([plain, lit])
        if not _is_better(self.losses[chosen], self.losses[still], GRID.sure):
            chosen = still
        # Fitted to all rows, in the units of the pictures.
        loss = self._loss(chosen, GRID.far_ranks, GRID.fine_widths, None)
        found = _descend(loss, self.ends[chosen].parameters, chosen.is_lit, GRID.last_steps)
        parts = (self._trend(chosen), found.motion, found.gains, found.offsets)
        flow = GridFlow(self.sides, chosen.family, *parts, self.level, self.spread)
        return SelectedGridFlow(flow, self.ring)

    def judge(self, motion: Motion, start: _End) -> Floats:
        """Fit to one half of the rows, from what was found for another motion; score the other."""
        if motion in self.losses:
            return self.losses[motion]
        loss = self._loss(motion, GRID.far_ranks, GRID.fine_widths, 0)
        begin = self._translated(start, motion)
        found = _descend(loss, begin, motion.is_lit, GRID.search_steps)
        held_out = self._loss(motion, GRID.far_ranks, GRID.fine_widths, 1)
        self.ends[motion], by_pair = _End(motion, found), held_out.by_pair(found)
        totals = np.bincount(held_out.second, by_pair, minlength=len(self.index))
        counts = np.bincount(held_out.second, minlength=len(self.index))
        self.losses[motion] = totals[counts > 0] / counts[counts > 0]
        return self.losses[motion]

    def _translated(self, start: _End, motion: Motion) -> FlowParameters:
        """The same flow, as nearly as another family and trend can express it."""
        if start.motion == motion:
            return start.parameters
        known, wanted = (
            one.reshape(len(one), one.shape[1] * one.shape[2])
            for one in (self._generators(start.motion), self._generators(motion))
        )
        before, after = (self._features(one) for one in (start.motion, motion))
        normal = after.T @ after
        ridge = 1e-6 * np.trace(normal) / len(normal) + 1e-12
        across = np.linalg.solve(normal + ridge * np.eye(len(normal)), after.T) @ before
        found, moved = start.parameters, np.zeros((after.shape[1], len(wanted)))
        if moved.size:
            moved = across @ found.motion @ known @ np.linalg.pinv(wanted)
        lit = float(motion.is_lit)
        return FlowParameters(moved, lit * across @ found.gains, lit * across @ found.offsets)

    def _generators(self, motion: Motion) -> Floats:
        return grid_generators(motion.family, len(self.sides))

    def _loss(
        self, motion: Motion, ranks: tuple[int, ...], widths: tuple[float, ...], half: int | None
    ) -> PairLoss:
        """On one half of the rows, or on all."""
        pictures = np.concatenate(self.halves, axis=3) if half is None else self.halves[half]
        slices = draw_slices(GRID.n_slices, self.n_channels, self.grid, widths)
        pairs = neighbor_pairs(self.distances, ranks)
        generators = self._generators(motion)
        return PairLoss(pictures, self.grid, slices, pairs, self._features(motion), generators)

    def _trend(self, motion: Motion) -> Trend:
        return Trend.along(motion.trend, self.index, self.ring is not None)

    def _features(self, motion: Motion) -> Floats:
        return self._trend(motion).features(self.index)

    def _simplest(self, motions: list[Motion]) -> Motion:
        """The first that is no worse than the best by more than a standard error."""
        best = min(motions, key=lambda one: self.losses[one].mean())
        for one in motions:
            if one == best or not _is_better(self.losses[best], self.losses[one], 1.0):
                return one
        return best


def _descend(loss: PairLoss, start: FlowParameters, is_lit: bool, steps: int) -> FlowParameters:
    """The parameters of the least loss, from a start; gains and offsets only where `is_lit`."""
    begin = start.flat if is_lit else start.motion.ravel()
    if not begin.size:
        return start

    def value(parameters: Floats) -> tuple[float, Floats]:
        mean, slope = loss.mean(start.filled(parameters))
        penalty = GRID.ridge * float(parameters @ parameters)
        return mean + penalty, slope.flat[: len(parameters)] + 2 * GRID.ridge * parameters

    bounds = [(-GRID.max_speed, GRID.max_speed)] * begin.size
    found = minimize(
        value, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    return start.filled(found.x)


def _is_better(losses: Floats, others: Floats, errors: float) -> bool:
    """By so many standard errors of the paired difference over domains, and by a little."""
    gain = others - losses
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    return bool(gain.mean() > max(errors * error, GRID.min_gain * others.mean()))
