"""Maps that close: domains that lie on a ring, as months, hours and viewpoints do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from domindex.geometry.distance_checks import check_distances
from domindex.geometry.isomap import geodesic_distances
from domindex.geometry.scaling import classical_scaling
from domindex.geometry.winding import (
    ROUNDS,
    TURN,
    arc_angles,
    birth_of_winding,
    death_of_winding,
    harmonic_angles,
    join_weights,
    typical_distance,
    wrap_angle,
)

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

FEWEST_DOMAINS = 6
"""Below which no loop is believed: five points on an arc look like five on a ring. A regular ring
of 6 has a persistence of 1.73 and one of 7 has 2.25, so in practice it takes 7."""

LEAST_PERSISTENCE = 2.0
EVEN_PERSISTENCE, EVEN_STEP = 1.85, 1.15
"""Width of the hole over the widest step around it from which a loop is believed; and the same
where that step is at most so many times the median one, as in an evenly filled ring of few domains.
An arc of 300 degrees has 1.73 however many domains lie on it. Set on generated rings, arcs, lines,
blobs, spheres, grids, trees and random walks of 8 to 48 domains, see docs/loops.md; with the maps
of rotating digits (2.47) and of all other datasets at hand (at most 1.51) in view."""

MOST_OFF_RING = 0.75
"""Length, in widths of the hole, that a step to the next domain, or between two domains at one
angle, may have: what is longer is a tail, a second loop or a filled disc. Set with the above."""

SHORT_NEIGHBORHOODS = (2, 3, 4, 5)
"""Neighbours through which geodesics are drawn to find angles to begin with."""

MOST_LANDMARKS = 100
"""Domains, spread as evenly as they can be, on which a loop is looked for; for time."""


@dataclass(frozen=True, eq=False)
class Loop:
    """Domains on a ring, with an angle each.

    Attributes
    ----------
    angles : (domains,) in (−π, π], by arc length; the first domain is at 0, and angles rise, on the
        whole, in the order of the domains
    birth : the widest step that it takes to go around, in the unit of the distances
    death : width of the hole: the least side of a triangle of domains that spans it
    rate : radians per unit of distance
    distances : (domains, domains) between the domains

    Examples
    --------
    Twelve months lie on a ring, and the first half of them does not:

    >>> import numpy as np
    >>> from domindex.geometry.loop import find_loop
    >>> turn = 2 * np.pi * np.arange(12) / 12
    >>> points = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    >>> distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    >>> loop = find_loop(distances)
    >>> np.rad2deg(loop.angles).round().astype(int).tolist()
    [0, 30, 60, 90, 120, 150, 180, -150, -120, -90, -60, -30]
    >>> find_loop(distances[:6, :6]) is None
    True
    """

    angles: Floats
    birth: float
    death: float
    rate: float
    distances: Floats

    @property
    def persistence(self) -> float:
        """Width of the hole over the widest step around it: the larger, the surer."""
        return self.death / self.birth

    @property
    def reach(self) -> float:
        """Distance up to which neighbours have a say in the angle of a domain."""
        return float(np.sqrt(self.birth * self.death))

    @property
    def order(self) -> Numbers:
        """Numbers of the domains, once around from angle 0."""
        return np.argsort(np.mod(self.angles, TURN), kind="stable")

    @cached_property
    def typical(self) -> float:
        """The median distance of two domains that do not coincide."""
        return typical_distance(self.distances)

    def locate(self, gaps: Floats) -> float:
        """The angle of a new domain at distances `gaps` (domains,) from the known ones.

        By the rule of the known ones: each neighbour within reach says where it belongs by its own
        angle and the distance, on the side where the closest ones lie, and the mean counts.
        """
        near = gaps <= max(self.reach, float(np.partition(gaps, 1)[1]))
        angles, weights = self.angles[near], join_weights(gaps[near], self.typical)
        centre = angles[np.argmin(gaps[near])]
        centre += weights @ wrap_angle(angles - centre) / weights.sum()
        for _ in range(ROUNDS):
            steps = wrap_angle(angles - centre)
            centre += float(np.mean(steps - np.sign(steps) * self.rate * gaps[near]))
        return float(wrap_angle(centre))

    def state(self) -> dict[str, Any]:
        figures = {name: float(getattr(self, name)) for name in ("birth", "death", "rate")}
        return {"angles": self.angles, **figures}

    @classmethod
    def from_state(cls, state: dict[str, Any], distances: Floats) -> Loop:
        """What `state` described, of domains at these distances."""
        angles = state["angles"]
        birth, death, rate = (float(state[name]) for name in ("birth", "death", "rate"))
        if angles.shape != (len(distances),) or not (np.abs(angles) <= np.pi).all():
            raise ValueError("the angles of the loop do not match the domains")
        if not (0.0 < birth < death < np.inf and 0.0 < rate < np.inf):
            raise ValueError("the loop of the map has no width")
        return cls(angles, birth, death, rate, distances)


def find_loop(distances: ArrayLike) -> Loop | None:
    """The loop on which all domains lie, by their distances (domains, domains), if there is one.

    Geodesics unroll the domains to a first circle of angles. The loop that these go around is
    measured (`geometry.winding`), its angles are brought to arc length, and it is believed if the
    hole is wide beside the widest step around it, and no domain lies off the ring.
    """
    matrix = check_distances(distances)
    if len(matrix) < FEWEST_DOMAINS or not matrix.any():
        return None
    landmarks = _spread_out(matrix)
    near = matrix[np.ix_(landmarks, landmarks)]
    found = [_measured(near, neighbors) for neighbors in SHORT_NEIGHBORHOODS]
    loops = [loop for loop in found if loop is not None]
    if not loops:
        return None
    best = max(loops, key=lambda loop: loop.persistence)
    if not _believed(best):
        return None
    angles, rate = arc_angles(near, best.angles, best.reach)
    best = replace(best, angles=angles, rate=rate)
    loop = replace(best, angles=_of_all(best, landmarks, matrix), distances=matrix)
    return loop if rate > 0.0 and _on_ring(loop) else None


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


def _believed(loop: Loop) -> bool:
    order = loop.order
    typical = float(np.median(loop.distances[order, np.roll(order, -1)]))
    is_even = loop.birth <= EVEN_STEP * typical
    return loop.persistence >= (EVEN_PERSISTENCE if is_even else LEAST_PERSISTENCE)


def _on_ring(loop: Loop) -> bool:
    """Whether domains that follow each other, or share an angle, are close."""
    order = loop.order
    steps = loop.distances[order, np.roll(order, -1)]
    apart = np.abs(wrap_angle(loop.angles[:, None] - loop.angles[None, :]))
    beside = loop.distances[apart <= TURN / len(order) / 2]
    return bool(max(steps.max(), beside.max()) <= MOST_OFF_RING * loop.death)


def _of_all(loop: Loop, landmarks: Numbers, distances: Floats) -> Floats:
    """Angles of all domains from those of the landmarks, in a direction of their own."""
    angles = np.empty(len(distances))
    angles[landmarks] = loop.angles
    for number in np.setdiff1d(np.arange(len(distances)), landmarks):
        angles[number] = loop.locate(distances[number, landmarks])
    angles -= angles[0]
    rises = wrap_angle(np.diff(angles)).sum() >= 0
    return wrap_angle(angles if rises else -angles)


def _spread_out(distances: Floats) -> Numbers:
    """Domains, each as far from the ones before as can be; all where they are few."""
    if len(distances) <= MOST_LANDMARKS:
        return np.arange(len(distances))
    chosen, away = [0], distances[0].copy()
    while len(chosen) < MOST_LANDMARKS:
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, distances[chosen[-1]])
    return np.sort(chosen)
