"""Who is near to whom on a map: graphs, trees, and distances that few or many domains can hold.

Of more than `max_drawn` domains nothing is formed for every pair.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist, squareform
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
    rule = (threshold, quantile, n_neighbors)
    if isinstance(index, DomainIndex):
        return point_graph(index.coordinates, index.domains, *rule)
    distances = check_distances(index)
    names = list(range(len(distances)) if domains is None else domains)
    if len(names) != len(distances):
        raise InputError(
            f"domains names {len(names)} nodes, but there are {len(distances)} rows of distances."
        )
    _check_rule(len(distances), *rule)
    if threshold is not None:
        links = distances <= threshold
    elif quantile is not None:
        links = closest_pairs(distances, quantile)
    else:
        assert n_neighbors is not None
        links = nearest_links(distances, n_neighbors)
    first, second = np.nonzero(np.triu(links, k=1))
    return _graph(names, first, second, distances[first, second])


def point_graph(
    points: Floats,
    names: Sequence[Hashable],
    threshold: float | None = None,
    quantile: float | None = None,
    n_neighbors: int | None = None,
) -> nx.Graph:
    """`domain_graph` of the points of a map, (domains, index_dim); of many points by a tree."""
    rule = (threshold, quantile, n_neighbors)
    if len(points) <= MAP.max_drawn:
        distances = squareform(pdist(points))
        by = {"threshold": threshold, "quantile": quantile, "n_neighbors": n_neighbors}
        return domain_graph(distances, **by, domains=names)  # type: ignore[arg-type]
    _check_rule(len(points), *rule)
    first, second = _near_pairs(points, *rule).T
    lengths = np.linalg.norm(points[first] - points[second], axis=1)
    return _graph(names, first, second, lengths)


def _graph(names: Sequence[Hashable], first: Ints, second: Ints, lengths: Floats) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from(
        (names[i], names[j], {"distance": length})
        for i, j, length in zip(first.tolist(), second.tolist(), lengths.tolist())
    )
    return graph


def _near_pairs(
    points: Floats, threshold: float | None, quantile: float | None, n_neighbors: int | None
) -> Ints:
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
    reach, pairs = _quantile_of_pairs(points, quantile), np.empty((0, 2), dtype=np.int64)
    while len(pairs) < count:  # the reach comes from a sample: a little more, until all are there
        reach = 1.1 * reach + 1e-9 * float(np.ptp(points)) + np.finfo(np.float64).tiny
        pairs = tree.query_pairs(reach, output_type="ndarray")
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0], lengths))[:count]]


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


def closest_pairs(distances: Floats, quantile: float) -> Links:
    """Join the closest `quantile` of all pairs, at least one."""
    rows, columns = np.triu_indices(len(distances), k=1)
    count = max(1, round(quantile * len(rows)))
    chosen = np.argsort(distances[rows, columns], kind="stable")[:count]
    links = np.zeros(distances.shape, dtype=bool)
    links[rows[chosen], columns[chosen]] = True
    return links | links.T


def _quantile_of_pairs(points: Floats, quantile: float, n_pairs: int = 100_000) -> float:
    """Length that this share of all pairs does not exceed, by random ones."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(points), size=(2, n_pairs))
    apart = first != second
    lengths = np.linalg.norm(points[first[apart]] - points[second[apart]], axis=1)
    return float(np.quantile(lengths, quantile))


@dataclass(frozen=True, eq=False)
class DomainWeb:
    """What joins the points of a map: a spanning tree, and the closest pairs."""

    points: Floats  # (domains, index_dim)
    tree: csr_array  # (domains, domains) symmetric, an entry where two are next to each other
    # (domains,) when each is reached along the tree: starts at 0, the last at 1, by path length
    arrival: Floats
    links: Links | None  # (domains, domains) which are joined; None where points are many
    reach: float = 0.0  # distance up to which two of many points are joined

    @classmethod
    def of(
        cls, points: Floats, starts: NDArray[np.bool_], quantile: float, links: Links | None = None
    ) -> DomainWeb:
        """Joins the closest `quantile` of all pairs, unless `links` says who is joined."""
        reach = 0.0
        if len(points) <= MAP.max_drawn:
            distances = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=-1)
            tree = _spanning_tree(distances)
            links = closest_pairs(distances, quantile) if links is None else links
        else:
            tree = _tree_of_many(points)
            reach = 0.0 if links is not None else _quantile_of_pairs(points, quantile)
        paths = dijkstra(tree, directed=False, indices=np.flatnonzero(starts), min_only=True)
        others = np.flatnonzero(~starts)
        arrival = np.zeros(len(points))
        ranked = others[np.argsort(paths[others], kind="stable")]
        arrival[ranked] = np.arange(1, len(ranked) + 1) / max(len(ranked), 1)
        return cls(points, tree, arrival, links, reach)

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


def _spanning_tree(distances: Floats) -> csr_array:
    """The fewest and shortest steps that reach every domain, symmetric, with their lengths."""
    # A zero means "no edge" to SciPy; adding the same length to all leaves the tree as it is.
    offset = max(float(distances.max()), 1.0)
    tree = minimum_spanning_tree(distances + offset).toarray() > 0.0
    first, second = np.nonzero(tree | tree.T)
    return csr_array((distances[first, second], (first, second)), shape=distances.shape)


def _tree_of_many(points: Floats, n_near: int = 12) -> csr_array:
    """The shortest tree of steps to one of the nearest points, or along the first axis, which
    keeps it in one piece.
    """
    n_points = len(points)
    near = NearestNeighbors(n_neighbors=min(n_near, n_points - 1)).fit(points).kneighbors()[1]
    along = np.argsort(points[:, 0], kind="stable")
    first = np.append(np.repeat(np.arange(n_points), near.shape[1]), along[:-1])
    second = np.append(near.ravel(), along[1:])
    pairs = np.unique(np.sort(np.stack([first, second], axis=1), axis=1), axis=0)
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    offset, shape = max(float(lengths.max()), 1.0), (n_points, n_points)
    tree = minimum_spanning_tree(csr_array((lengths + offset, pairs.T), shape=shape)).tocoo()
    steps = np.maximum(tree.data - offset, np.finfo(np.float64).tiny)
    both = (np.append(tree.row, tree.col), np.append(tree.col, tree.row))
    return csr_array((np.append(steps, steps), both), shape=shape)


@dataclass(frozen=True, eq=False)
class PointDistances:
    """Distances between the points (domains, index_dim) of a map."""

    points: Floats
    matrix: Floats | None  # (domains, domains); None where domains are many

    @classmethod
    def of(cls, points: Floats) -> PointDistances:
        return cls(points, squareform(pdist(points)) if len(points) <= MAP.max_drawn else None)

    @classmethod
    def of_matrix(cls, matrix: Floats) -> PointDistances:
        return cls(np.empty((len(matrix), 0)), matrix)

    def row(self, number: int) -> Floats:
        """(domains,) from one domain to all."""
        if self.matrix is not None:
            return self.matrix[number]
        return cdist(self.points[number : number + 1], self.points)[0]

    def to_nearest(self, numbers: Ints, others: Ints) -> Floats:
        """(numbers,) from each domain to the nearest of the others."""
        if self.matrix is not None:
            return self.matrix[np.ix_(numbers, others)].min(axis=1)
        search = NearestNeighbors(n_neighbors=1).fit(self.points[others])
        return search.kneighbors(self.points[numbers])[0][:, 0]


def nearest_points(
    points: Floats, count: int, goals: Floats | None = None, own: Ints | None = None
) -> tuple[Ints, Floats]:
    """(points, count) numbers of the nearest goals, and their distances.

    Of the other points where `goals` is None. `own` (points,) numbers each point among the goals,
    to be left out; -1 where it is none of them. Of many by a tree, without a matrix; of few by a
    stable sort, so that of domains at one place the first comes first.
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
