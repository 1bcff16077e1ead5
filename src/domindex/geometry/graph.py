"""Domain graphs: which domains are close enough to be joined."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist, squareform

from domindex.errors import InputError
from domindex.geometry.distance_checks import check_distances
from domindex.geometry.index import DomainIndex
from domindex.geometry.landmarks import MOST_DRAWN
from domindex.geometry.neighbors import (
    check_quantile,
    closest_pairs,
    nearest_links,
    quantile_of_pairs,
)
from domindex.geometry.point_distances import nearest_points


def domain_graph(
    index: DomainIndex | ArrayLike,
    *,
    threshold: float | None = None,
    quantile: float | None = None,
    n_neighbors: int | None = None,
    domains: Sequence[Hashable] | None = None,
) -> nx.Graph:
    """Join domains that are close; edges carry their length as `distance`.

    Exactly one of `threshold`, `quantile` and `n_neighbors` says which pairs are close.

    Parameters
    ----------
    index : a `DomainIndex` (distances on the map are used) or an (N, N) distance matrix
    threshold : join pairs no farther apart than this
    quantile : join the closest share of all pairs, between 0 and 1
    n_neighbors : join each domain to its nearest others
    domains : names of the nodes for a plain matrix; 0 … N − 1 where None

    Examples
    --------
    >>> from domindex.geometry import domain_graph
    >>> distances = [[0, 1, 9], [1, 0, 9], [9, 9, 0]]
    >>> sorted(domain_graph(distances, threshold=2, domains=["a", "b", "c"]).edges)
    [('a', 'b')]
    """
    if isinstance(index, DomainIndex):
        return point_graph(
            index.coordinates,
            index.domains,
            threshold=threshold,
            quantile=quantile,
            n_neighbors=n_neighbors,
        )
    distances = check_distances(index)
    names = list(range(len(distances)) if domains is None else domains)
    if len(names) != len(distances):
        raise InputError(
            f"domains names {len(names)} nodes, but there are {len(distances)} rows of distances."
        )
    links = _links(distances, threshold, quantile, n_neighbors)
    first, second = np.nonzero(np.triu(links, k=1))
    return _graph(names, first, second, distances[first, second])


def point_graph(
    points: NDArray[np.float64],
    names: Sequence[Hashable],
    *,
    threshold: float | None = None,
    quantile: float | None = None,
    n_neighbors: int | None = None,
) -> nx.Graph:
    """`domain_graph` of the points of a map, (domains, index_dim).

    Of more than `MOST_DRAWN` points only near pairs are looked at, by a tree.
    """
    if len(points) <= MOST_DRAWN:
        distances = squareform(pdist(points))
        return domain_graph(
            distances,
            threshold=threshold,
            quantile=quantile,
            n_neighbors=n_neighbors,
            domains=names,
        )
    _check_rule(len(points), threshold, quantile, n_neighbors)
    first, second = _near_pairs(points, threshold, quantile, n_neighbors).T
    lengths = np.linalg.norm(points[first] - points[second], axis=1)
    return _graph(names, first, second, lengths)


def _graph(
    names: Sequence[Hashable],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    lengths: NDArray[np.float64],
) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from(
        (names[i], names[j], {"distance": length})
        for i, j, length in zip(first.tolist(), second.tolist(), lengths.tolist())
    )
    return graph


def _near_pairs(
    points: NDArray[np.float64],
    threshold: float | None,
    quantile: float | None,
    n_neighbors: int | None,
) -> NDArray[np.int64]:
    """(pairs, 2) of many points that are joined, the smaller number first."""
    if n_neighbors is not None:
        near, _ = nearest_points(points, n_neighbors)
        pairs = np.stack([np.repeat(np.arange(len(points)), n_neighbors), near.ravel()], axis=1)
        return np.unique(np.sort(pairs, axis=1), axis=0)
    tree = cKDTree(points)
    if threshold is not None:
        return tree.query_pairs(threshold, output_type="ndarray")
    assert quantile is not None
    count = max(1, round(quantile * len(points) * (len(points) - 1) / 2))
    reach, pairs = quantile_of_pairs(points, quantile), np.empty((0, 2), dtype=np.int64)
    while len(pairs) < count:  # the reach comes from a sample: a little more, until all are there
        reach = 1.1 * reach + 1e-9 * float(np.ptp(points)) + np.finfo(np.float64).tiny
        pairs = tree.query_pairs(reach, output_type="ndarray")
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0], lengths))[:count]]


def _links(
    distances: NDArray[np.float64],
    threshold: float | None,
    quantile: float | None,
    n_neighbors: int | None,
) -> NDArray[np.bool_]:
    _check_rule(len(distances), threshold, quantile, n_neighbors)
    if threshold is not None:
        return distances <= threshold
    if quantile is not None:
        return closest_pairs(distances, quantile)
    assert n_neighbors is not None
    return nearest_links(distances, n_neighbors)


def _check_rule(
    n_domains: int, threshold: float | None, quantile: float | None, n_neighbors: int | None
) -> None:
    given = [rule for rule in (threshold, quantile, n_neighbors) if rule is not None]
    if len(given) != 1:
        raise InputError(
            f"{len(given)} of threshold, quantile and n_neighbors are given. Choose exactly one."
        )
    if isinstance(given[0], bool) or not isinstance(given[0], int | float | np.number):
        raise InputError(f"The rule of the graph is {given[0]!r:.60}. Pass a number.")
    if quantile is not None:
        check_quantile(quantile)
    if n_neighbors is not None and not 1 <= n_neighbors < n_domains:
        raise InputError(
            f"n_neighbors is {n_neighbors}. With {n_domains} domains choose 1 to {n_domains - 1}."
        )
