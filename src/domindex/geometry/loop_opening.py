"""Whether a ring of domains comes back to where it began in all that inputs show.

A map is drawn from a few directions of the inputs. One turn of a helix is a ring there; along the
others it does not come back, and its two ends are not neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from domindex.geometry.loop import Loop
from domindex.geometry.transport import thin, transport_distances
from domindex.geometry.winding import wrap_angle

Floats = NDArray[np.float64]

MOST_OPENING = np.deg2rad(25.0)
"""From which a ring of the map is one turn of a helix in the inputs. Generated rings open by up to
8 degrees, rotating digits (8 by 8 pixels, 180 degrees) by 18, rotating MNIST (28 by 28, the same
motion) by 33: its upside-down digits are told from upright ones. Set with these in view."""

ACROSS = np.pi / 2
"""Pairs up to so far apart speak for an opening between them; not tuned."""


def comes_back(loop: Loop, clouds: Sequence[Floats]) -> bool:
    """Whether the loop closes among all inputs (rows, features) of each domain, too."""
    distances = transport_distances([thin(cloud) for cloud in clouds], method="sliced")
    return opening(distances, loop.angles) <= MOST_OPENING


def opening(distances: Floats, angles: Floats) -> float:
    """The widest opening of a ring by other distances (domains, domains) between its domains.

    Distances rise with the angle between two domains; the rise that holds all round says at which
    angle a pair would usually be as far apart as it is. Where the ring is open, pairs on both sides
    look farther apart than their angles are, by the angle that is given, the largest of all places.
    """
    first, second = np.triu_indices(len(angles), k=1)
    apart = np.abs(wrap_angle(angles[second] - angles[first]))
    usual = _usual_angles(apart, distances[first, second])
    order = np.argsort(np.mod(angles, 2 * np.pi), kind="stable")
    steps = np.mod(angles[np.roll(order, -1)] - angles[order], 2 * np.pi)
    widest = 0.0
    for middle in angles[order] + steps / 2:
        one, other = wrap_angle(angles[first] - middle), wrap_angle(angles[second] - middle)
        across = (one * other < 0) & (np.abs(one - other) <= ACROSS)
        if across.any():
            widest = max(widest, float(np.median((usual - apart)[across])))
    return widest


def _usual_angles(apart: Floats, distances: Floats) -> Floats:
    """The mean angle between pairs that are as far apart as each, by an isotonic regression."""
    order = np.argsort(apart, kind="stable")
    rising = isotonic_regression(distances[order])
    levels, level = np.unique(rising, return_inverse=True)
    means = np.bincount(level, apart[order]) / np.bincount(level)
    return np.interp(distances, levels, means)
