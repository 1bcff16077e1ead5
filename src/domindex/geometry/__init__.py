"""The geometry of domains: distances between clouds, maps made of them, graphs. NumPy, no torch."""

from domindex.geometry.domain_map import DomainMap
from domindex.geometry.neighbors import domain_graph
from domindex.geometry.scaling import (
    DomainIndex,
    classical_scaling,
    geodesic_distances,
    place,
    procrustes_align,
    scaling_spectrum,
)
from domindex.geometry.transport import transport_distances

__all__ = [
    "DomainIndex",
    "DomainMap",
    "classical_scaling",
    "domain_graph",
    "geodesic_distances",
    "place",
    "procrustes_align",
    "scaling_spectrum",
    "transport_distances",
]
