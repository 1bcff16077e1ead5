"""Which motion of the grid runs along the map: found without labels, the simplest that will do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from domindex.geometry.grid import Grid, shrink
from domindex.geometry.grid_families import grid_families, grid_generators
from domindex.geometry.grid_flow import TRENDS, GridFlow, Trend
from domindex.geometry.grid_matching import FlowParameters, PairLoss, draw_slices
from domindex.geometry.grid_samples import (
    MOST_PAIRS,
    MOST_ROWS,
    background,
    neighbor_pairs,
    split_in_halves,
)
from domindex.geometry.ring_coordinate import RingCoordinate

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_CELLS = {1: 64, 2: 14}
N_SLICES = 32
"""Cells a side, of signals and of pictures, and slices that a search looks at: for time, not tuned.
"""

COARSE_WIDTHS = (0.12, 0.25)
FINE_WIDTHS = (0.05, 0.1, 0.2)
"""Blur of the slices, as a share of the longest side, of the first search and of the others:
coarse slices change slowly, so that a search from far away arrives. Not tuned."""

NEAR_RANKS = (1, 2)
FAR_RANKS = (1, 2, 4, 8)
"""Which neighbours a domain is compared with: the nearest while the way is looked for, then farther
ones too, which a small error adds up to."""

STARTS = (0.1, 0.3, 0.8)
N_STARTS = 3
"""Speeds along the map, in half sides or radians a unit of β, both ways, from which every generator
is looked at, and how many of the best are followed. Not tuned."""

STEPS = {"start": 25, "family": 25, "last": 60}
"""Of L-BFGS in the stages of the search; for time."""

RIDGE = 1e-4
"""Of squared parameters, against distances in units of variance: numerical safety."""

SURE = 2.0
"""Standard errors by which anything that moves must fit held-out rows better than standing still;
among what moves, the simplest within one standard error of the best is taken, as is usual."""


LEAST_GAIN = 0.02
"""Share of the held-out distance that something freer must take away, however surely: what gains
less is not worth telling. Set when MNIST digits that change their light alone were said to shift,
by a thousandth of a side; no other value was tried."""

LARGEST = 3.0
"""Speed along the map that a search may try."""


def grid_constants() -> tuple[object, ...]:
    """All that a search depends on, in plain values."""
    sizes = (MOST_ROWS, *MOST_CELLS.values(), N_SLICES, MOST_PAIRS, *COARSE_WIDTHS, *FINE_WIDTHS)
    ways = (*NEAR_RANKS, *FAR_RANKS, *STARTS, N_STARTS, *STEPS.values())
    return (*sizes, *ways, RIDGE, SURE, LEAST_GAIN, LARGEST)


@dataclass(frozen=True)
class Motion:
    """What a flow may do.

    Attributes
    ----------
    family : one of `grid_families`
    trend : one of `TRENDS`
    is_lit : whether gains and offsets may change
    """

    family: str
    trend: str
    is_lit: bool


@dataclass(frozen=True, eq=False)
class SelectedGridFlow:
    """The flow that was chosen, and on what.

    Attributes
    ----------
    flow : along the map, or around its ring
    losses : mean sliced distance on held-out rows of every motion tried
    ring : the coordinate that the flow follows around the ring; None for the map's own
    """

    flow: GridFlow
    losses: dict[Motion, float]
    ring: RingCoordinate | None = None


def select_grid_flow(
    rows: NDArray,
    row_domains: Numbers,
    index: Floats,
    distances: Floats,
    seed: int = 0,
    around: tuple[RingCoordinate, Floats] | None = None,
) -> SelectedGridFlow:
    """The motion along the map `index` (domains, index_dim) of rows (n, channels, *sides).

    `distances` (domains, domains) say who is whose neighbour. Half of the rows of every domain
    fit a motion, the other half say what it is worth.

    Where the map closes, `around` is the coordinate along its ring and the angles (domains,) of the
    domains. What depends on the place alone comes back after a turn, and a picture that turns on
    does not: so the freest family is tried along the ring at a steady speed, and the search goes
    on along it if that is better than anything linear in the place.
    """
    with threadpool_limits(limits=1):  # many small products, which threads only slow down
        search = _Search(rows, row_domains, index, distances, seed)
        if around is not None:
            ring, angles = around
            along = _Search(rows, row_domains, ring.of(angles)[:, None], distances, seed, ring)
            search = along if along.begins_better_than(search) else search
        return search.run()


@dataclass(frozen=True, eq=False)
class _End:
    """Where a search has led to."""

    motion: Motion
    parameters: FlowParameters


class _Search:
    def __init__(
        self,
        rows: NDArray,
        row_domains: Numbers,
        index: Floats,
        distances: Floats,
        seed: int,
        ring: RingCoordinate | None = None,
    ) -> None:
        self.sides, self.index, self.seed, self.ring = rows.shape[2:], index, seed, ring
        self.level, self.spread = background(rows)
        small = shrink(rows, MOST_CELLS[len(self.sides)])
        self.grid = Grid(small.shape[2:])
        scaled = (small.reshape(*small.shape[:2], -1) - self.level[:, None]) / self.spread[:, None]
        self.halves = split_in_halves(scaled, row_domains, len(index), seed)
        self.distances, self.n_channels = distances, rows.shape[1]
        self.families = grid_families(len(self.sides))
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
        if not _is_better(self.losses[chosen], self.losses[still], SURE):
            chosen = still
        means = {motion: float(losses.mean()) for motion, losses in self.losses.items()}
        return SelectedGridFlow(self._finished(chosen), means, self.ring)

    def _start(self, motion: Motion) -> _End:
        """The best of several ways, on near neighbours and smooth slices."""
        loss = self._loss(motion.trend, NEAR_RANKS, COARSE_WIDTHS, 0)
        generators = self._generators(motion)
        n_features = loss.features.shape[1]
        still = FlowParameters.still(n_features, len(generators), self.n_channels)
        tried = [(float(loss.by_pair(still, generators).mean()), 0, still)]
        for place in np.ndindex(n_features, len(generators)):
            for speed in (*STARTS, *(-speed for speed in STARTS)):
                start = FlowParameters.still(n_features, len(generators), self.n_channels)
                start.motion[place] = speed
                value = float(loss.by_pair(start, generators).mean())
                tried.append((value, len(tried), start))
        best = [start for _, _, start in sorted(tried)[:N_STARTS]]
        if still not in best:
            best.append(still)
        ends = [self._descend(loss, one, motion, STEPS["start"]) for one in best]
        wider = self._loss(motion.trend, FAR_RANKS, COARSE_WIDTHS, 0)
        best_end = min(ends, key=lambda end: wider.by_pair(end, generators).mean())
        return _End(motion, best_end)

    def _judge(self, motion: Motion, start: _End) -> None:
        """Fit to one half of the rows, from what was found for another motion; score the other."""
        if motion in self.losses:
            return
        begin = self._translated(start, motion)
        loss = self._loss(motion.trend, FAR_RANKS, FINE_WIDTHS, 0)
        found = self._descend(loss, begin, motion, STEPS["family"])
        held_out = self._loss(motion.trend, FAR_RANKS, FINE_WIDTHS, 1)
        self.ends[motion] = _End(motion, found)
        by_pair = held_out.by_pair(found, self._generators(motion))
        totals = np.bincount(held_out.second, by_pair, minlength=len(self.index))
        counts = np.bincount(held_out.second, minlength=len(self.index))
        self.losses[motion] = totals[counts > 0] / counts[counts > 0]

    def _translated(self, start: _End, motion: Motion) -> FlowParameters:
        """The same flow, as nearly as another family and trend can tell it."""
        if start.motion == motion:
            return start.parameters
        known, wanted = (
            one.reshape(len(one), one.shape[1] * one.shape[2])
            for one in (self._generators(start.motion), self._generators(motion))
        )
        before, after = (
            self._trend(one.trend).features(self.index) for one in (start.motion, motion)
        )
        across = _ridge(after) @ before
        found = start.parameters
        moved = np.zeros((after.shape[1], len(wanted)))
        if moved.size:
            moved = across @ found.motion @ known @ np.linalg.pinv(wanted)
        lit = float(motion.is_lit)
        return FlowParameters(moved, lit * across @ found.gains, lit * across @ found.offsets)

    def _generators(self, motion: Motion) -> Floats:
        return grid_generators(motion.family, len(self.sides))

    def _finished(self, motion: Motion) -> GridFlow:
        """Fitted to all rows, in the units of the pictures."""
        loss = self._loss(motion.trend, FAR_RANKS, FINE_WIDTHS, None)
        found = self._descend(loss, self.ends[motion].parameters, motion, STEPS["last"])
        return GridFlow(
            self.sides,
            motion.family,
            self._trend(motion.trend),
            found.motion,
            found.gains,
            found.offsets,
            self.level,
            self.spread,
        )

    def _descend(
        self, loss: PairLoss, start: FlowParameters, motion: Motion, steps: int
    ) -> FlowParameters:
        generators = self._generators(motion)
        begin = start.flat if motion.is_lit else start.motion.ravel()
        if not begin.size:
            return start

        def value(parameters: Floats) -> tuple[float, Floats]:
            mean, slope = loss.mean(start.filled(parameters), generators)
            penalty = RIDGE * float(parameters @ parameters)
            return mean + penalty, slope.flat[: len(parameters)] + 2 * RIDGE * parameters

        found = minimize(
            value,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-LARGEST, LARGEST)] * begin.size,
            options={"maxiter": steps},
        )
        return start.filled(found.x)

    def _loss(
        self, trend: str, ranks: tuple[int, ...], widths: tuple[float, ...], half: int | None
    ) -> PairLoss:
        """On one half of the rows, or on all."""
        pictures = np.concatenate(self.halves, axis=3) if half is None else self.halves[half]
        slices = draw_slices(N_SLICES, self.n_channels, self.grid, widths, self.seed)
        pairs = neighbor_pairs(self.distances, ranks, self.seed)
        features = self._trend(trend).features(self.index)
        return PairLoss(pictures, self.grid, slices, pairs, features)

    def _trend(self, kind: str) -> Trend:
        return Trend.along(kind, self.index, self.ring is not None)

    def _simplest(self, motions: list[Motion]) -> Motion:
        """The first that is no worse than the best by more than a standard error."""
        best = min(motions, key=lambda one: self.losses[one].mean())
        least = self.losses[best]
        return next(
            one for one in motions if one == best or not _is_better(least, self.losses[one], 1.0)
        )


def _is_better(losses: Floats, others: Floats, errors: float) -> bool:
    """By so many standard errors of the paired difference over domains, and by a little."""
    gain = others - losses
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    return bool(gain.mean() > max(errors * error, LEAST_GAIN * others.mean()))


def _ridge(features: Floats) -> Floats:
    """(features, domains) that takes values at the domains to coefficients of the features."""
    normal = features.T @ features
    ridge = 1e-6 * np.trace(normal) / len(normal) + 1e-12
    return np.linalg.solve(normal + ridge * np.eye(len(normal)), features.T)
