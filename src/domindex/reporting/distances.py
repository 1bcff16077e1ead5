"""Distances on a map in a unit that a reader can judge."""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np
from numpy.typing import NDArray

from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.geometry.point_distances import nearest_points


def median_spacing(index: DomainIndex) -> float:
    """The median distance of a domain to its nearest other; 0 where all lie on one point."""
    if len(index.domains) < 2:
        return 0.0
    nearest = nearest_points(index.coordinates, 1)[1][:, 0]
    positive = nearest[np.isfinite(nearest) & (nearest > 0.0)]
    if len(positive):
        return float(np.median(positive))
    return 0.0


def distances_to_sources(
    index: DomainIndex,
    source_domains: Collection[Hashable],
    places: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
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
    return nearest / (median_spacing(index) or 1.0)
