"""How pictures or signals move along the map, found by comparing neighbouring domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.linalg import expm
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from domindex.arrays import Floats, Ints
from domindex.geometry.flow import homogeneous
from domindex.geometry.grid_flow import (
    FAMILIES,
    TRENDS,
    Grid,
    GridFlow,
    Trend,
    grid_generators,
    shrink,
)
from domindex.geometry.rings import RingCoordinate
from domindex.geometry.settings import GRID


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
    """Random smooth pictures (slices, channels, cells); `widths` are blurs, as shares of the
    longest side.
    """
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(n_slices, n_channels, *grid.sides))
    for number in range(n_slices):
        blur = widths[number % len(widths)] * max(grid.sides)
        for channel in range(n_channels):
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
    """Squared sliced distances over pairs of domains, with their gradient.

    `pictures` (domains, channels, cells, rows) are centred on what stands outside of them, with the
    same number of rows in every domain; `slices` are (slices, channels, cells), `pairs` (pairs, 2)
    say from which domain to which, `features` (domains, features) are those of the index, and
    `generators` (generators, axes, axes + 1) those of the motions.
    """

    def __init__(
        self,
        pictures: Floats,
        grid: Grid,
        slices: Floats,
        pairs: Ints,
        features: Floats,
        generators: Floats,
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


@dataclass(frozen=True)
class Motion:
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
    along its ring and the angles (domains,). What depends on the place alone comes back after a
    turn, and a picture that turns on does not: so the freest family is tried along the ring at a
    steady speed, and the search goes on along it if that is better than anything linear in the
    place.
    """
    with threadpool_limits(limits=1):  # many small products, which threads only slow down
        search = _Search(rows, row_domains, index, distances)
        if around is not None:
            ring, angles = around
            along = _Search(rows, row_domains, ring.of(angles)[:, None], distances, ring)
            search = along if along.begins_better_than(search) else search
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
        """The freest family, linear in the whole index: where every other motion starts."""
        return self._start(self.widest)

    def begins_better_than(self, other: _Search) -> bool:
        """Whether what is linear in this index is better, on the same pairs of domains."""
        for search in (self, other):
            search._judge(search.widest, search.begun)
        return _is_better(self.losses[self.widest], other.losses[other.widest], 1.0)

    def run(self) -> SelectedGridFlow:
        """The trend with the freest family, the family along that trend, then the lighting."""
        freest, widest = self.widest.family, self.widest.trend
        trends = [trend for trend in TRENDS if trend != "plane" or widest == "plane"]
        for trend in trends:
            self._judge(Motion(freest, trend, True), self.begun)
        trend = self._simplest([Motion(freest, one, True) for one in trends]).trend
        ended = self.ends[Motion(freest, trend, True)]
        for family in self.families[:-1]:
            self._judge(Motion(family, trend, True), ended)
        lit = self._simplest([Motion(one, trend, True) for one in self.families])
        plain, still = replace(lit, is_lit=False), Motion("none", "line", False)
        self._judge(plain, self.ends[lit])
        self._judge(still, self.ends[lit])
        chosen = self._simplest([plain, lit])
        if not _is_better(self.losses[chosen], self.losses[still], GRID.sure):
            chosen = still
        return SelectedGridFlow(self._finished(chosen), self.ring)

    def _start(self, motion: Motion) -> _End:
        """The best of several ways, on near neighbours and smooth slices."""
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

    def _judge(self, motion: Motion, start: _End) -> None:
        """Fit to one half of the rows, from what was found for another motion; score the other."""
        if motion in self.losses:
            return
        loss = self._loss(motion, GRID.far_ranks, GRID.fine_widths, 0)
        begin = self._translated(start, motion)
        found = _descend(loss, begin, motion.is_lit, GRID.search_steps)
        held_out = self._loss(motion, GRID.far_ranks, GRID.fine_widths, 1)
        self.ends[motion], by_pair = _End(motion, found), held_out.by_pair(found)
        totals = np.bincount(held_out.second, by_pair, minlength=len(self.index))
        counts = np.bincount(held_out.second, minlength=len(self.index))
        self.losses[motion] = totals[counts > 0] / counts[counts > 0]

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

    def _finished(self, motion: Motion) -> GridFlow:
        """Fitted to all rows, in the units of the pictures."""
        loss = self._loss(motion, GRID.far_ranks, GRID.fine_widths, None)
        found = _descend(loss, self.ends[motion].parameters, motion.is_lit, GRID.last_steps)
        trend, parts = self._trend(motion), (found.motion, found.gains, found.offsets)
        return GridFlow(self.sides, motion.family, trend, *parts, self.level, self.spread)

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
