"""Distances on a map in a unit that a reader can judge, without a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np
from scipy.spatial.distance import pdist

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.geometry.neighbors import nearest_points
from domindex.geometry.scaling import DomainIndex
from domindex.inputs.messages import preview


def median_spacing(index: DomainIndex) -> float:
    """The median distance of a domain to its nearest other; 0 where all lie on one point."""
    if len(index.domains) < 2:
        return 0.0
    nearest = nearest_points(index.coordinates, 1)[1][:, 0]
    positive = nearest[np.isfinite(nearest) & (nearest > 0.0)]
    return float(np.median(positive)) if len(positive) else 0.0


def nearest_domains(index: DomainIndex, most: int = 4) -> Ints:
    """(domains, neighbours) numbers of the nearest others on the map, nearest first."""
    return nearest_points(index.coordinates, min(most, len(index.domains) - 1))[0]


def widest_distance(points: Floats) -> float:
    """Between any two points (points, components); of many, of those outermost in 64 directions."""
    if len(points) < 2:
        return 0.0
    if len(points) > 500:  # for time and memory
        along = points @ np.random.default_rng(0).normal(size=(points.shape[1], 64))
        points = points[np.unique([along.argmin(axis=0), along.argmax(axis=0)])]
    return float(pdist(points).max(initial=0.0))


def distances_to_sources(
    index: DomainIndex, source_domains: Collection[Hashable], places: Floats | None = None
) -> Floats:
    """From domains, or `places` on the map, to the nearest source in median spacings; NaN where no
    domain has labels."""
    sources = set(source_domains)
    columns = np.array([name in sources for name in index.domains])
    if not sources:
        return np.full(len(index.domains if places is None else places), np.nan)
    if not columns.any():
        raise InputError(
            f"None of the source domains ({preview(source_domains)}) is on the map, which holds "
            f"{preview(index.domains)}. Name sources as the map does."
        )
    points = index.coordinates if places is None else places
    nearest = nearest_points(points, 1, index.coordinates[columns])[1][:, 0]
    away = nearest / (median_spacing(index) or 1.0)
    return np.where(away < 1e-6, 0.0, away)  # below, it is rounding
