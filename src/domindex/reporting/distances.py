"""Distances on a map in a unit that a reader can judge, without a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.geometry.neighbors import nearest_points
from domindex.inputs.messages import preview

ROUNDING = 1e-6
"""Median spacings below which a domain lies where a source does: what is left is rounding."""

DIRECTIONS = 64
MOST_EXACT = 500
"""Points up to which the widest distance is looked for among all pairs; of more, among those that
lie outermost along so many directions. For time and memory."""


def median_spacing(index: DomainIndex) -> float:
    """The median distance of a domain to its nearest other; 0 where all lie on one point."""
    if len(index.domains) < 2:
        return 0.0
    nearest = nearest_points(index.coordinates, 1)[1][:, 0]
    positive = nearest[np.isfinite(nearest) & (nearest > 0.0)]
    if len(positive):
        return float(np.median(positive))
    return 0.0


def nearest_domains(index: DomainIndex, most: int) -> NDArray[np.int64]:
    """(domains, neighbours) numbers of the nearest others on the map, nearest first."""
    n_nearest = min(most, len(index.domains) - 1)
    if n_nearest < 1:
        return np.empty((len(index.domains), 0), dtype=np.int64)
    return nearest_points(index.coordinates, n_nearest)[0]


def widest_distance(points: Floats) -> float:
    """Between any two points (points, components); of many, of those that lie outermost."""
    if len(points) < 2:
        return 0.0
    if len(points) > MOST_EXACT:
        ways = np.random.default_rng(0).normal(size=(points.shape[1], DIRECTIONS))
        along = points @ ways
        points = points[np.unique([along.argmin(axis=0), along.argmax(axis=0)])]
    return float(pdist(points).max(initial=0.0))


def distances_to_sources(
    index: DomainIndex,
    source_domains: Collection[Hashable],
    places: Floats | None = None,
) -> Floats:
    """(places,) way to the nearest source in median spacings, 0 for sources.

    `places` are points of the map, (places, components); None takes those of its domains.
    """
    sources = set(source_domains)
    columns = [number for number, name in enumerate(index.domains) if name in sources]
    if not columns:
        raise InputError(
            f"None of the source domains ({preview(source_domains)}) is on the map, which holds "
            f"{preview(index.domains)}. Name sources as the map does."
        )
    points = index.coordinates if places is None else places
    nearest = nearest_points(points, 1, index.coordinates[columns])[1][:, 0]
    away = nearest / (median_spacing(index) or 1.0)
    return np.where(away < ROUNDING, 0.0, away)
