"""The geometry of domains: distances between clouds, maps made of them, graphs. NumPy, no torch."""

from domindex.geometry.domain_map import DomainMap
from domindex.geometry.graph import domain_graph
from domindex.geometry.index import DomainIndex
from domindex.geometry.isomap import geodesic_distances
from domindex.geometry.scaling import classical_scaling, place, procrustes_align, scaling_spectrum
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
