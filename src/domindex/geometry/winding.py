"""How domains wind around a circle: when a loop of them appears, and when it is filled.

Let every domain have an angle. Join domains that are closer than some length ε. The angles' steps
along the joins, each taken the short way, add up to a whole number of turns around every closed
path: its winding. A loop is there from the least ε at which some closed path winds (`birth`) up to
the least ε at which three domains, all joined, wind by themselves (`death`): between the two no
triangle can fill it. These are lower and upper ends of a bar of first persistent homology, found
without a library of it, because the angles say which loop is meant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from domindex.geometry.neighbors import nearest_links

Floats = NDArray[np.float64]

TURN = 2.0 * np.pi
ROUNDS = 3
"""Of least squares: directions of close domains may change in the first."""

SHORTEST = 1e-3
"""Share of the median distance that a join counts for at least: equal domains must not divide by
zero. Rounding, not tuned."""


def wrap_angle(angles: Floats) -> Floats:
    """The same angles in (−π, π].

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.geometry.winding import wrap_angle
    >>> wrap_angle(np.array([-np.pi, 0.0, 1.5 * np.pi])).round(3).tolist()
    [3.142, 0.0, -1.571]
    """
    return np.pi - np.mod(np.pi - angles, TURN)


def birth_of_winding(distances: Floats, angles: Floats) -> float:
    """The least length of joins (domains, domains) at which a closed path winds; inf if none does.

    Joins are added from the shortest. Each component keeps angles that add up along its joins; the
    first join between two of its domains that does not fit them closes a winding path.
    """
    first, second = np.triu_indices(len(angles), k=1)
    order = np.argsort(distances[first, second], kind="stable")
    component, lifted = np.arange(len(angles)), np.array(angles, dtype=np.float64)
    for one, other in zip(first[order].tolist(), second[order].tolist()):
        step = float(wrap_angle(angles[other] - angles[one]))
        off = lifted[one] + step - lifted[other]
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
    """Angles (domains,) that turn as `angles` do, and as evenly as distances allow.

    Minimises Σ (step of a pair)² / distance over pairs within `reach`: every domain lies at the
    mean of its neighbours, and single misplaced domains are straightened out.
    """
    n_domains = len(angles)
    first, second = _joins(distances, reach)
    weights = join_weights(distances[first, second], typical_distance(distances))
    jump = angles[second] - angles[first]
    turns = np.round((jump - wrap_angle(jump)) / TURN)
    laplacian = np.zeros((n_domains, n_domains))
    laplacian[first, second] = laplacian[second, first] = -weights
    laplacian[np.diag_indices(n_domains)] = -laplacian.sum(axis=1)
    pull = np.zeros(n_domains)
    np.add.at(pull, second, TURN * weights * turns)
    np.add.at(pull, first, -TURN * weights * turns)
    smooth = np.linalg.lstsq(laplacian, pull, rcond=None)[0]
    return wrap_angle(smooth.astype(np.float64))


def arc_angles(distances: Floats, angles: Floats, reach: float) -> tuple[Floats, float]:
    """Angles (domains,) whose steps are in proportion to distances, and radians per length.

    Least squares, over pairs within `reach`, of the step of a pair from the step that its distance
    makes at one rate all round, in the direction that `angles` have; so the angle measures arc
    length, however unevenly domains lie along the ring.
    """
    n_domains = len(angles)
    first, second = _joins(distances, reach)
    lengths, pairs = distances[first, second], np.arange(len(first))
    rate = 0.0
    for _ in range(ROUNDS):
        jump = angles[second] - angles[first]
        step = wrap_angle(jump)
        design = csr_array(
            (
                np.concatenate(
                    [np.ones(len(pairs)), -np.ones(len(pairs)), -np.sign(step) * lengths]
                ),
                (
                    np.tile(pairs, 3),
                    np.concatenate([second, first, np.full(len(pairs), n_domains)]),
                ),
            ),
            shape=(len(pairs), n_domains + 1),
        )
        goal = design.T @ (TURN * np.round((jump - step) / TURN))
        solved = np.linalg.lstsq((design.T @ design).toarray(), goal, rcond=None)[0]
        angles, rate = wrap_angle(solved[:-1]), float(solved[-1])
    return angles, rate


def _joins(distances: Floats, reach: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs within `reach`, and every domain with its two nearest."""
    joined = (distances <= reach) | nearest_links(distances, 2)
    first, second = np.nonzero(np.triu(joined, k=1))
    return first, second


def typical_distance(distances: Floats) -> float:
    """The median distance of two domains that do not coincide."""
    return float(np.median(distances[distances > 0.0]))


def join_weights(lengths: Floats, typical: float) -> Floats:
    """1 / length of each join, bounded where domains coincide; `typical` is the unit."""
    return 1.0 / np.maximum(lengths, SHORTEST * typical)
