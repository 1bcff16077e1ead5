"""A map that keeps what it takes to place a new domain on it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.geometry.geodesics import extend_mean_geodesics, mean_geodesics
from domindex.geometry.index import DomainIndex
from domindex.geometry.scaling import (
    classical_scaling,
    place,
    procrustes_align,
    scaling_spectrum,
    unit_scale,
)
from domindex.geometry.transport import Method, thin, transport_distances, transport_distances_to

Floats = NDArray[np.float64]

MAX_EXACT_DOMAINS = 100
"""Domains up to which every pair's transport problem is solved; beyond, distances are sliced."""


@dataclass(frozen=True, eq=False)
class Atlas:
    """The map of the known domains, with the clouds it was drawn from.

    Attributes
    ----------
    index : coordinates of unit mean square length, and the distances they show, in that unit
    transport : (domains, domains) transport distances between the clouds, in the clouds' unit
    clouds : the (thinned) points of each domain
    method : how transport is measured
    neighbors : numbers of neighbours that geodesics pass through, averaged over; none where the
        map shows transport itself
    unit : length in the clouds' space of one unit of the map
    """

    index: DomainIndex
    transport: Floats
    clouds: tuple[Floats, ...]
    method: Method
    neighbors: tuple[int, ...]
    unit: float

    def locate(self, cloud: Floats) -> Floats:
        """Where a new domain with these points belongs, (index_dim,). The map does not move."""
        gaps = transport_distances_to(thin(cloud), self.clouds, method=self.method)
        if self.neighbors:
            gaps = extend_mean_geodesics(gaps, self.transport, self.neighbors)
        return place(gaps / self.unit, self.index.coordinates, self.index.distances)


def draw_map(
    domains: Sequence[Hashable],
    clouds: Sequence[Floats],
    index_dim: int,
    *,
    method: Method | None = None,
    neighbors: Sequence[int] = (),
    transport: Floats | None = None,
    reference: Floats | None = None,
    n_jobs: int | None = None,
) -> Atlas:
    """Transport, optionally geodesics, scaling, one overall scale, turned onto `reference`.

    One scale, not one per axis: the axes' lengths say how much the domains differ along them.
    """
    thinned = tuple(thin(cloud) for cloud in clouds)
    method = method or default_method(len(clouds))
    if transport is None:
        transport = transport_distances(thinned, method=method, n_jobs=n_jobs)
    shown = mean_geodesics(transport, neighbors) if neighbors else transport
    coordinates, unit = unit_scale(classical_scaling(shown, index_dim))
    if reference is not None:
        coordinates = procrustes_align(coordinates, reference)
    index = DomainIndex(
        tuple(domains), coordinates, shown / unit, scaling_spectrum(shown) / unit**2
    )
    return Atlas(index, transport, thinned, method, tuple(neighbors), unit)


def default_method(n_domains: int) -> Method:
    """Exact transport while the pairs are few, slices beyond."""
    return "exact" if n_domains <= MAX_EXACT_DOMAINS else "sliced"
