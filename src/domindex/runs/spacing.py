"""How far apart things lie on a map, in a unit that means something."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]


def median_spacing(coordinates: Floats) -> float:
    """The median distance of a domain to its nearest neighbour; 1 where all lie in one place."""
    distances = cdist(coordinates, coordinates)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    apart = nearest[np.isfinite(nearest) & (nearest > 0)]
    return float(np.median(apart)) if len(apart) else 1.0


def distance_to_sources(model: Any, place: Floats) -> float:
    """From a point of the map to the nearest source, in the map's own unit."""
    sources = [model.domains_.index(name) for name in model.source_domains_]
    return float(cdist(place[None], model.domain_indices_[sources]).min())
