"""Which domains are joined: symmetric (N, N) boolean matrices without loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from domindex.errors import InputError


def nearest_links(distances: NDArray[np.float64], n_neighbors: int) -> NDArray[np.bool_]:
    """Join two domains when either is among the other's `n_neighbors` nearest."""
    n_domains = len(distances)
    if n_neighbors < 1:
        raise InputError(f"n_neighbors is {n_neighbors}. Join each domain to 1 or more others.")
    others = distances + np.diag(np.full(n_domains, np.inf))
    nearest = np.argsort(others, axis=1, kind="stable")[:, : min(n_neighbors, n_domains - 1)]
    links = np.zeros((n_domains, n_domains), dtype=bool)
    links[np.arange(n_domains)[:, None], nearest] = True
    return links | links.T


def closest_pairs(distances: NDArray[np.float64], quantile: float) -> NDArray[np.bool_]:
    """Join the closest `quantile` of all pairs, at least one."""
    if not 0.0 < quantile <= 1.0:
        raise InputError(f"quantile is {quantile}. Choose a share of the pairs in (0, 1].")
    rows, columns = np.triu_indices(len(distances), k=1)
    count = max(1, round(quantile * len(rows)))
    chosen = np.argsort(distances[rows, columns], kind="stable")[:count]
    links = np.zeros(distances.shape, dtype=bool)
    links[rows[chosen], columns[chosen]] = True
    return links | links.T


def bridge_components(
    links: NDArray[np.bool_], distances: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Add the shortest missing pair between two components until there is only one."""
    bridged = links.copy()
    n_components, component = connected_components(bridged, directed=False)
    for _ in range(n_components - 1):
        apart = component[:, None] != component[None, :]
        gaps = np.where(apart, distances, np.inf)
        first, second = np.unravel_index(np.argmin(gaps), gaps.shape)
        bridged[first, second] = bridged[second, first] = True
        component[component == component[second]] = component[first]
    return bridged


def spanning_tree(distances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The fewest and shortest steps that reach every domain."""
    # A zero means "no edge" to SciPy; adding the same length to all leaves the tree as it is.
    offset = max(float(distances.max()), 1.0)
    tree = minimum_spanning_tree(distances + offset).toarray() > 0.0
    return tree | tree.T


def order_of_arrival(
    distances: NDArray[np.float64], starts: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """When each domain is reached from the `starts` along the spanning tree, in [0, 1].

    Starts are there at 0; the others follow in the order of their path lengths, the last at 1.
    """
    first, second = np.nonzero(spanning_tree(distances))
    edges = csr_array((distances[first, second], (first, second)), shape=distances.shape)
    paths = dijkstra(edges, directed=False, indices=np.flatnonzero(starts), min_only=True)
    arrival = np.zeros(len(paths))
    others = np.flatnonzero(~starts)
    ranked = others[np.argsort(paths[others], kind="stable")]
    arrival[ranked] = np.arange(1, len(ranked) + 1) / max(len(ranked), 1)
    return arrival
