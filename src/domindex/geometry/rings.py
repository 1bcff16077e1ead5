"""Domains on a ring: whether there is one, the angle of every domain, and the two ways round.

Domains closer than ε are joined. A loop is there from the least ε at which a closed path winds once
around (`birth`) to that at which a triangle does (`death`): a bar of first persistent homology.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.isotonic import isotonic_regression

from domindex.arrays import Floats, Ints
from domindex.geometry.scaling import classical_scaling, geodesic_distances, nearest_links
from domindex.geometry.settings import RING
from domindex.geometry.transport import check_distances, thin, transport_distances
from domindex.persistence.saved import Saved

TURN = 2.0 * np.pi


def wrap_angle(angles: Floats) -> Floats:
    """The same angles in (−π, π]: half a turn is π within rounding, which processors differ in."""
    wrapped = np.pi - np.mod(np.pi - angles, TURN)
    return np.where(wrapped < 1e-9 - np.pi, np.pi, wrapped)


def birth_of_winding(distances: Floats, angles: Floats) -> float:
    """The least length of joins at which a closed path winds; inf if none does.

    Each component keeps angles that add up along its joins, which are added from the shortest; the
    first join within it that does not fit them closes a winding path.
    """
    first, second = np.triu_indices(len(angles), k=1)
    order = np.argsort(distances[first, second], kind="stable")
    component, lifted = np.arange(len(angles)), np.array(angles, dtype=np.float64)
    for one, other in zip(first[order].tolist(), second[order].tolist()):
        off = lifted[one] + float(wrap_angle(angles[other] - angles[one])) - lifted[other]
        if component[one] != component[other]:
            joined = component == component[other]
            lifted[joined] += off
            component[joined] = component[one]
        elif abs(off) > np.pi:
            return float(distances[one, other])
    return float("inf")


def death_of_winding(distances: Floats, angles: Floats) -> float:
    """The least length of joins at which a triangle of domains winds; inf if none does."""
    steps = wrap_angle(angles[None, :] - angles[:, None])
    least = np.inf
    for one in range(len(angles) - 2):
        rest = slice(one + 1, None)
        around = steps[one, rest][:, None] + steps[rest, rest] + steps[rest, one][None, :]
        longest = np.maximum(distances[one, rest][:, None], distances[one, rest][None, :])
        sides = np.maximum(longest, distances[rest, rest])[np.abs(around) > np.pi]
        least = min(least, float(sides.min(initial=np.inf)))
    return float(least)


def harmonic_angles(distances: Floats, angles: Floats, reach: float) -> Floats:
    """Angles (domains,) that turn as `angles` do, and as evenly as distances allow: they minimise
    Σ (step of a pair)² / distance over pairs within `reach`."""
    n_domains = len(angles)
    first, second = _joins(distances, reach)
    typical = float(np.median(distances[distances > 0.0]))
    weights = _join_weights(distances[first, second], typical)
    jump = angles[second] - angles[first]
    turns = np.round((jump - wrap_angle(jump)) / TURN)
    laplacian = np.zeros((n_domains, n_domains))
    laplacian[first, second] = laplacian[second, first] = -weights
    laplacian[np.diag_indices(n_domains)] = -laplacian.sum(axis=1)
    pull = np.zeros(n_domains)
    np.add.at(pull, second, TURN * weights * turns)
    np.add.at(pull, first, -TURN * weights * turns)
    return wrap_angle(np.linalg.lstsq(laplacian, pull, rcond=None)[0].astype(np.float64))


def arc_angles(distances: Floats, angles: Floats, reach: float) -> tuple[Floats, float]:
    """Angles (domains,) by arc length, in the direction of `angles`, and radians per length: least
    squares of steps, over pairs within `reach`, from distances at one rate all round."""
    n_domains = len(angles)
    first, second = _joins(distances, reach)
    n_pairs, rate = len(first), 0.0
    rows = np.tile(np.arange(n_pairs), 3)
    columns = np.concatenate([second, first, np.full(n_pairs, n_domains)])
    for _ in range(RING.rounds):
        jump = angles[second] - angles[first]
        step = wrap_angle(jump)
        along = -np.sign(step) * distances[first, second]
        entries = np.concatenate([np.ones(n_pairs), -np.ones(n_pairs), along])
        design = csr_array((entries, (rows, columns)), shape=(n_pairs, n_domains + 1))
        goal = design.T @ (TURN * np.round((jump - step) / TURN))
        solved = np.linalg.lstsq((design.T @ design).toarray(), goal, rcond=None)[0]
        angles, rate = wrap_angle(solved[:-1]), float(solved[-1])
    return angles, rate


def _joins(distances: Floats, reach: float) -> tuple[Ints, Ints]:
    """Pairs within `reach`, and every domain with its two nearest."""
    joined = (distances <= reach) | nearest_links(distances, 2)
    first, second = np.nonzero(np.triu(joined, k=1))
    return first, second


def _join_weights(lengths: Floats, typical: float) -> Floats:
    """1 / length of each join, bounded where domains coincide; `typical` is the unit."""
    return 1.0 / np.maximum(lengths, RING.min_length * typical)


@dataclass(frozen=True, eq=False)
class Loop(Saved):
    """Domains on a ring, with an angle each."""

    # (domains,) in (−π, π], by arc length; 0 for a domain, which the data choose
    angles: Floats
    birth: float  # the widest step that it takes to go around
    death: float  # width of the hole
    rate: float  # radians per unit of distance
    distances: Floats  # (domains, domains)

    @property
    def persistence(self) -> float:
        """Width of the hole over the widest step around it: the larger, the surer."""
        return self.death / self.birth

    @property
    def reach(self) -> float:
        """Distance up to which neighbours have a say in the angle of a domain."""
        return float(np.sqrt(self.birth * self.death))

    @property
    def order(self) -> Ints:
        """Numbers of the domains, once around from the first, the way in which they rise."""
        angles = self.angles - self.angles[0]
        rises = wrap_angle(np.diff(angles)).sum() >= 0
        return np.argsort(np.mod(angles if rises else -angles, TURN), kind="stable")

    @property
    def steps(self) -> Floats:
        """(domains,) from each to the next around the ring."""
        return self.distances[self.order, np.roll(self.order, -1)]

    @cached_property
    def _typical(self) -> float:
        return float(np.median(self.distances[self.distances > 0.0]))

    def locate(self, gaps: Floats) -> float:
        """The angle of a new domain at distances `gaps` (domains,): the mean of where neighbours
        within reach say that it lies, on the side of the closest ones."""
        near = gaps <= max(self.reach, float(np.partition(gaps, 1)[1]))
        angles, weights = self.angles[near], _join_weights(gaps[near], self._typical)
        centre = angles[np.argmin(gaps[near])]
        centre += weights @ wrap_angle(angles - centre) / weights.sum()
        for _ in range(RING.rounds):
            steps = wrap_angle(angles - centre)
            centre += float(np.mean(steps - np.sign(steps) * self.rate * gaps[near]))
        return float(wrap_angle(centre))

    def state(self) -> dict[str, Any]:
        """Without the distances, which the map has too: `from_state` needs them beside it."""
        return {name: part for name, part in super().state().items() if name != "distances"}

    def _check_state(self) -> None:
        angles, rate = self.angles, self.rate
        if angles.shape != (len(self.distances),) or not (np.abs(angles) <= np.pi).all():
            raise ValueError("the angles of the loop do not match the domains")
        if not (0.0 < self.birth < self.death < np.inf and 0.0 < rate < np.inf):
            raise ValueError("the loop of the map has no width")


def find_loop(distances: ArrayLike) -> Loop | None:
    """The loop on which all domains lie, by their distances (domains, domains), if there is one.

    It is believed if the hole is wide beside the widest step around it, and nobody lies off it.
    """
    matrix = check_distances(distances)
    if len(matrix) < RING.min_domains or not matrix.any():
        return None
    landmarks = _spread_out(matrix)
    near = matrix[np.ix_(landmarks, landmarks)]
    loops = [loop for number in RING.neighbors if (loop := _measured(near, number)) is not None]
    if not loops:
        return None
    best = max(loops, key=lambda loop: loop.persistence)
    is_even = best.birth <= RING.even_step * float(np.median(best.steps))
    if best.persistence < (RING.even_persistence if is_even else RING.min_persistence):
        return None
    arcs, rate = arc_angles(near, best.angles, best.reach)
    best, angles = replace(best, angles=arcs, rate=rate), np.empty(len(matrix))
    angles[landmarks] = arcs
    for number in np.setdiff1d(np.arange(len(matrix)), landmarks):
        angles[number] = best.locate(matrix[number, landmarks])
    angles -= angles[0]
    rises = wrap_angle(np.diff(angles)).sum() >= 0
    loop = replace(best, angles=wrap_angle(angles if rises else -angles), distances=matrix)
    # On the ring: domains that follow each other, or share an angle, are close.
    apart = np.abs(wrap_angle(loop.angles[:, None] - loop.angles[None, :]))
    beside = matrix[apart <= TURN / len(loop.angles) / 2]
    is_on_ring = max(loop.steps.max(), beside.max()) <= RING.max_off_ring * loop.death
    return loop if rate > 0.0 and is_on_ring else None


def _spread_out(distances: Floats) -> Ints:
    """Domains, each as far from the ones before as can be; all where they are few."""
    if len(distances) <= RING.max_landmarks:
        return np.arange(len(distances))
    chosen, away = [0], distances[0].copy()
    while len(chosen) < RING.max_landmarks:
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, distances[chosen[-1]])
    return np.sort(chosen)


def _measured(distances: Floats, neighbors: int) -> Loop | None:
    """The loop around the middle of the geodesic map, if there is any."""
    circle = classical_scaling(geodesic_distances(distances, neighbors), 2)
    angles = np.arctan2(circle[:, 1], circle[:, 0])
    for _ in range(2):
        birth = birth_of_winding(distances, angles)
        death = death_of_winding(distances, angles) if np.isfinite(birth) else 0.0
        if not 0.0 < birth < death < np.inf:
            return None
        rough = Loop(angles, birth, death, TURN / distances.sum(), distances)
        angles = harmonic_angles(distances, angles, rough.reach)
    return rough


def comes_back(loop: Loop, clouds: Sequence[Floats]) -> bool:
    """Whether the loop closes among all inputs (rows, features) of each domain, too."""
    distances = transport_distances([thin(cloud) for cloud in clouds], method="sliced")
    return opening(distances, loop.angles) <= np.deg2rad(RING.max_opening)


def opening(distances: Floats, angles: Floats) -> float:
    """The widest opening (radians) of a ring by other distances between its domains: where it is
    open, pairs on both sides look farther apart than pairs of their angle usually are."""
    first, second = np.triu_indices(len(angles), k=1)
    apart = np.abs(wrap_angle(angles[second] - angles[first]))
    # The mean angle between pairs that are as far apart as each, by an isotonic regression.
    by_angle = np.argsort(apart, kind="stable")
    rising = isotonic_regression(distances[first, second][by_angle])
    levels, level = np.unique(rising, return_inverse=True)
    means = np.bincount(level, apart[by_angle]) / np.bincount(level)
    usual = np.interp(distances[first, second], levels, means)
    order = np.argsort(np.mod(angles, TURN), kind="stable")
    steps = np.mod(angles[np.roll(order, -1)] - angles[order], TURN)
    widest = 0.0
    for middle in angles[order] + steps / 2:
        one, other = wrap_angle(angles[first] - middle), wrap_angle(angles[second] - middle)
        across = (one * other < 0) & (np.abs(one - other) <= np.deg2rad(RING.across))
        if across.any():
            widest = max(widest, float(np.median((usual - apart)[across])))
    return widest


@dataclass(frozen=True)
class RingCoordinate(Saved):
    """Angles from the middle of the sources, with the cut opposite.

    Domains at the cut can be reached both ways: at t, and at t minus a full turn.
    """

    middle: float  # angle halfway along the arc that holds all sources
    half_width: float  # of that arc

    @classmethod
    def opposite(cls, angles: Floats, is_source: NDArray[np.bool_]) -> RingCoordinate:
        """Cut in the middle of the widest arc without a source; (domains,) each."""
        sources = np.sort(angles[is_source])
        gaps = np.diff(np.append(sources, sources[0] + TURN))
        widest = int(np.argmax(gaps >= gaps.max() - 1e-9))  # the first of equal ones
        cut = sources[widest] + gaps[widest] / 2
        return cls(float(wrap_angle(cut - np.pi)), float((TURN - gaps[widest]) / 2))

    def of(self, angles: ArrayLike, other_way: bool = False) -> Floats:
        """The coordinate in (−π, π], or the same place reached the other way round."""
        along = wrap_angle(np.asarray(angles, dtype=np.float64) - self.middle)
        return along - np.where(along > 0, TURN, -TURN) if other_way else along

    def chance_of_other_way(self, angles: ArrayLike) -> Floats:
        """That the long way round is the right one, if a rule breaks somewhere among domains
        without labels: ½ opposite to the sources, 0 among them."""
        short = np.maximum(np.abs(self.of(angles)) - self.half_width, 0.0)
        return short / (TURN - 2.0 * self.half_width)

    def in_question(self, angles: ArrayLike) -> NDArray[np.bool_]:
        """Where that chance is too large to be left out of an interval of 80 %."""
        return self.chance_of_other_way(angles) >= RING.min_chance

    def _check_state(self) -> None:
        if not (abs(self.middle) <= np.pi and 0.0 <= self.half_width <= np.pi):
            raise ValueError("the coordinate along the ring is no angle")
