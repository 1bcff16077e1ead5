"""From distances between domains to a map of unit scale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from domindex.geometry.index import DomainIndex
from domindex.geometry.isomap import mean_geodesics
from domindex.geometry.scaling import (
    classical_scaling,
    procrustes_align,
    scaling_spectrum,
    unit_scale,
)

Floats = NDArray[np.float64]


def drawn_together(cloud: Floats, share: float) -> Floats:
    """A cloud (rows, local_dim) with only this share of its mean."""
    return cloud if share == 1.0 else cloud - (1.0 - share) * cloud.mean(axis=0)


def scaled_index(
    domains: Sequence[Hashable],
    transport: Floats,
    neighbors: Sequence[int],
    index_dim: int,
    reference: Floats | None,
) -> tuple[DomainIndex, float]:
    """Distances to a map of unit scale, and that unit.

    One scale, not one per axis: the axes' lengths say how much the domains differ along them.
    """
    shown = mean_geodesics(transport, neighbors) if neighbors else transport
    coordinates, unit = unit_scale(classical_scaling(shown, index_dim))
    if reference is not None:
        coordinates = procrustes_align(coordinates, reference)
    spectrum = scaling_spectrum(shown) / unit**2
    return DomainIndex(tuple(domains), coordinates, shown / unit, spectrum), unit
