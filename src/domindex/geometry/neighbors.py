"""Who is near to whom on a map: graphs, trees, and distances that few or many domains can hold.

Of more than `max_drawn` domains nothing is formed for every pair.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.geometry.scaling import DomainIndex, Links, nearest_links
from domindex.geometry.settings import MAP
from domindex.geometry.transport import check_distances


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
        return point_graph(index.coordinates, index.domains, threshold, quantile, n_neighbors)
    distances = check_distances(index)
    names = list(range(len(distances)) if domains is None else domains)
    if len(names) != len(distances):
        raise InputError(
            f"domains names {len(names)} nodes, but there are {len(distances)} rows of distances."
        )
    _check_rule(len(distances), threshold, quantile, n_neighbors)
    if threshold is not None:
        links = distances <= threshold
    elif n_neighbors is not None:
        links = nearest_links(distances, n_neighbors)
    else:
        assert quantile is not None
        links = _closest_pairs(distances, quantile)
    first, second = np.nonzero(np.triu(links, k=1))
    return _graph(names, first, second, distances[first, second])


def point_graph(
    points: Floats,
    names: Sequence[Hashable],
    threshold: float | None = None,
    quantile: float | None = None,
    n_neighbors: int | None = None,
) -> nx.Graph:
    """`domain_graph` of the points of a map, (domains, index_dim), without a matrix of all."""
    _check_rule(len(points), threshold, quantile, n_neighbors)
    tree = cKDTree(points)
    if n_neighbors is not None:
        near, _ = nearest_points(points, n_neighbors)
        pairs = np.stack([np.repeat(np.arange(len(points)), n_neighbors), near.ravel()], axis=1)
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    elif threshold is not None:
        pairs = tree.query_pairs(threshold, output_type="ndarray")
    else:
        assert quantile is not None
        count = max(1, round(quantile * len(points) * (len(points) - 1) / 2))
        reach, pairs = _quantile_of_pairs(points, quantile), np.empty((0, 2), dtype=np.int64)
        while len(pairs) < count:  # the reach comes from a sample: a little more, until all are in
            reach = 1.1 * reach + 1e-9 * float(np.ptp(points)) + np.finfo(np.float64).tiny
            pairs = tree.query_pairs(reach, output_type="ndarray")
        order = np.lexsort((pairs[:, 1], pairs[:, 0], _lengths(points, *pairs.T)))
        pairs = pairs[order[:count]]
    first, second = pairs.T
    return _graph(names, first, second, _lengths(points, first, second))


def _graph(names: Sequence[Hashable], first: Ints, second: Ints, lengths: Floats) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(names)
    edges = zip(first.tolist(), second.tolist(), lengths.tolist())
    graph.add_edges_from((names[i], names[j], {"distance": length}) for i, j, length in edges)
    return graph


def _lengths(points: Floats, first: Ints, second: Ints) -> Floats:
    return np.linalg.norm(points[first] - points[second], axis=1)


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
    if quantile is not None and not 0.0 < quantile <= 1.0:
        raise InputError(f"quantile is {quantile}. Choose a share of the pairs in (0, 1].")
    if n_neighbors is not None and not 1 <= n_neighbors < n_domains:
        raise InputError(
            f"n_neighbors is {n_neighbors}. With {n_domains} domains choose 1 to {n_domains - 1}."
        )


def _closest_pairs(distances: Floats, quantile: float) -> Links:
    """Join the closest `quantile` of all pairs, at least one."""
    rows, columns = np.triu_indices(len(distances), k=1)
    count = max(1, round(quantile * len(rows)))
    chosen = np.argsort(distances[rows, columns], kind="stable")[:count]
    links = np.zeros(distances.shape, dtype=bool)
    links[rows[chosen], columns[chosen]] = True
    return links | links.T


def _quantile_of_pairs(points: Floats, quantile: float, n_pairs: int = 100_000) -> float:
    """Length that this share of all pairs does not exceed, by random ones."""
    first, second = np.random.default_rng(0).integers(len(points), size=(2, n_pairs))
    apart = first != second
    return float(np.quantile(_lengths(points, first[apart], second[apart]), quantile))


@dataclass(frozen=True, eq=False)
class DomainWeb:
    """What joins the points of a map: a spanning tree, and the closest pairs."""

    points: Floats  # (domains, index_dim)
    tree: csr_array  # (domains, domains) symmetric, an entry where two are next to each other
    links: Links | None  # (domains, domains) which are joined; None where points are many
    reach: float = 0.0  # distance up to which two of many points are joined

    @classmethod
    def of(cls, points: Floats, quantile: float, links: Links | None = None) -> DomainWeb:
        """Joins the closest `quantile` of all pairs, unless `links` says who is joined."""
        reach, tree = 0.0, _spanning_tree(points)
        if links is None and len(points) <= MAP.max_drawn:
            links = _closest_pairs(cdist(points, points), quantile)
        elif links is None:
            reach = _quantile_of_pairs(points, quantile)
        return cls(points, tree, links, reach)

    def next_to(self, domain: int, present: Ints) -> Ints:
        """Those of the `present` that are next to a domain on the tree, in their order."""
        near = self.tree.indices[self.tree.indptr[domain] : self.tree.indptr[domain + 1]]
        return present[np.isin(present, near)]

    def links_among(self, domains: Ints) -> Links:
        """(domains, domains) which of some domains are joined."""
        if self.links is not None:
            return self.links[np.ix_(domains, domains)]
        near = cdist(self.points[domains], self.points[domains]) <= self.reach
        np.fill_diagonal(near, False)
        return near


def _spanning_tree(points: Floats, n_near: int = 12) -> csr_array:
    """The fewest and shortest steps that reach every domain, symmetric, with their lengths.

    Of many points only steps to the nearest are looked at, and those along the first axis, which
    keep the tree in one piece.
    """
    n_points = len(points)
    first, second = np.triu_indices(n_points, k=1)
    if n_points > MAP.max_drawn:
        near = NearestNeighbors(n_neighbors=n_near).fit(points).kneighbors()[1]
        along = np.argsort(points[:, 0], kind="stable")
        first = np.append(np.repeat(np.arange(n_points), n_near), along[:-1])
        second = np.append(near.ravel(), along[1:])
        pairs = np.sort(np.stack([first, second], axis=1), axis=1)
        first, second = np.unique(pairs, axis=0).T
    first, second = first.astype(np.int32), second.astype(np.int32)  # as older SciPy wants them
    lengths, shape = _lengths(points, first, second), (n_points, n_points)
    # A zero means "no edge" to SciPy; adding the same length to all leaves the tree as it is.
    offset = max(float(lengths.max(initial=0.0)), 1.0)
    tree = minimum_spanning_tree(
        csr_array((lengths + offset, (first, second)), shape=shape)
    ).tocoo()
    steps = np.maximum(_lengths(points, tree.row, tree.col), np.finfo(np.float64).tiny)
    both = (np.append(tree.row, tree.col), np.append(tree.col, tree.row))
    return csr_array((np.append(steps, steps), both), shape=shape)


@dataclass(frozen=True, eq=False)
class PointDistances:
    """Distances between the points (domains, index_dim) of a map."""

    points: Floats

    def row(self, number: int) -> Floats:
        """(domains,) from one domain to all."""
        return cdist(self.points[number : number + 1], self.points)[0]

    def to_nearest(self, numbers: Ints, others: Ints) -> Floats:
        """(numbers,) from each domain to the nearest of the others."""
        return cKDTree(self.points[others]).query(self.points[numbers])[0]


def nearest_points(
    points: Floats, count: int, goals: Floats | None = None, own: Ints | None = None
) -> tuple[Ints, Floats]:
    """(points, count) numbers of the nearest goals, and their distances.

    Of the other points where `goals` is None. `own` (points,) numbers each point among the goals,
    to be left out; -1 where it is none of them. Of few domains at one place the first comes first.
    """
    if goals is None:
        goals, own = points, np.arange(len(points))
    if own is None:
        own = np.full(len(points), -1)
    if max(len(points), len(goals)) <= MAP.max_drawn:
        gaps = cdist(points, goals)
        left_out = np.flatnonzero(own >= 0)
        gaps[left_out, own[left_out]] = np.inf
        found = np.argsort(gaps, axis=1, kind="stable")[:, :count]
        return found, np.take_along_axis(gaps, found, axis=1)
    more = min(count + 1, len(goals))
    gaps, found = NearestNeighbors(n_neighbors=more).fit(goals).kneighbors(points)
    # A point itself goes to the end; where it is not among those found, the last one does.
    order = np.argsort(found == own[:, None], axis=1, kind="stable")[:, :count]
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(gaps, order, axis=1)
