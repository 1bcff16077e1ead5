"""Domain graphs: which domains are close enough to be joined."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from domindex.errors import InputError
from domindex.geometry.distance_checks import check_distances
from domindex.geometry.index import DomainIndex
from domindex.geometry.neighbors import closest_pairs, nearest_links


def domain_graph(
    index: DomainIndex | ArrayLike,
    *,
    threshold: float | None = None,
    quantile: float | None = None,
    n_neighbors: int | None = None,
    domains: Sequence[Hashable] | None = None,
) -> nx.Graph:
    """Join domains that are close; edges carry their length as `distance`.

    Parameters
    ----------
    index : a `DomainIndex` (distances on the map are used) or an (N, N) distance matrix
    threshold : join pairs no farther apart than this
    quantile : join the closest share of all pairs, between 0 and 1
    n_neighbors : join each domain to its nearest others
    domains : names of the nodes for a plain matrix; 0 … N − 1 where None

    Exactly one of `threshold`, `quantile` and `n_neighbors` says which pairs are close.

    Examples
    --------
    >>> from domindex.geometry import domain_graph
    >>> distances = [[0, 1, 9], [1, 0, 9], [9, 9, 0]]
    >>> sorted(domain_graph(distances, threshold=2, domains=["a", "b", "c"]).edges)
    [('a', 'b')]
    """
    if isinstance(index, DomainIndex):
        distances, names = index.map_distances, list(index.domains)
    else:
        distances = check_distances(index)
        names = list(range(len(distances)) if domains is None else domains)
    if len(names) != len(distances):
        raise InputError(
            f"domains names {len(names)} nodes, but there are {len(distances)} rows of distances."
        )
    links = _links(distances, threshold, quantile, n_neighbors)
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from(
        (names[i], names[j], {"distance": float(distances[i, j])})
        for i, j in zip(*np.nonzero(np.triu(links, k=1)))
    )
    return graph


def _links(
    distances: NDArray[np.float64],
    threshold: float | None,
    quantile: float | None,
    n_neighbors: int | None,
) -> NDArray[np.bool_]:
    given = [rule for rule in (threshold, quantile, n_neighbors) if rule is not None]
    if len(given) != 1:
        raise InputError(
            f"{len(given)} of threshold, quantile and n_neighbors are given. Choose exactly one."
        )
    if isinstance(given[0], bool) or not isinstance(given[0], int | float | np.number):
        raise InputError(f"The rule of the graph is {given[0]!r:.60}. Pass a number.")
    if threshold is not None:
        return distances <= threshold
    if quantile is not None:
        return closest_pairs(distances, quantile)
    assert n_neighbors is not None
    if not 1 <= n_neighbors < len(distances):
        raise InputError(
            f"n_neighbors is {n_neighbors}. With {len(distances)} domains choose "
            f"1 to {len(distances) - 1}."
        )
    return nearest_links(distances, n_neighbors)
