"""Distances on a map in a unit that a reader can judge."""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.geometry import DomainIndex


def median_spacing(index: DomainIndex) -> float:
    """The median distance of a domain to its nearest other; 0 where all lie on one point."""
    apart = np.array(index.map_distances)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1)
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
    columns = [number for number, name in enumerate(index.domains) if name in source_domains]
    if not columns:
        raise InputError(
            f"None of the source domains ({preview(source_domains)}) is on the map, which holds "
            f"{preview(index.domains)}. Name sources as the map does."
        )
    points = index.coordinates if places is None else places
    nearest = cdist(points, index.coordinates[columns]).min(axis=1)
    return nearest / (median_spacing(index) or 1.0)
