"""Which domains are joined: symmetric (N, N) boolean matrices without loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from domindex.errors import InputError
from domindex.geometry.landmarks import MOST_DRAWN

NEAR_POINTS = 12
SAMPLED_PAIRS = 100_000
"""Nearest points that a step of a tree of many points may lead to, and random pairs that say how
far apart they are; for time and memory, not tuned."""


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
    check_quantile(quantile)
    rows, columns = np.triu_indices(len(distances), k=1)
    count = max(1, round(quantile * len(rows)))
    chosen = np.argsort(distances[rows, columns], kind="stable")[:count]
    links = np.zeros(distances.shape, dtype=bool)
    links[rows[chosen], columns[chosen]] = True
    return links | links.T


def check_quantile(quantile: float) -> None:
    """A share of the pairs."""
    if not 0.0 < quantile <= 1.0:
        raise InputError(f"quantile is {quantile}. Choose a share of the pairs in (0, 1].")


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


@dataclass(frozen=True, eq=False)
class DomainWeb:
    """What joins the points of a map: a spanning tree, and the closest pairs.

    Attributes
    ----------
    points : (domains, index_dim)
    tree : (domains, domains) symmetric and sparse, an entry where two are next to each other
    arrival : (domains,) when each is reached from the starts, see `order_of_arrival`
    links : (domains, domains) which are joined; None where points are many
    reach : distance up to which two of many points are joined
    """

    points: NDArray[np.float64]
    tree: csr_array
    arrival: NDArray[np.float64]
    links: NDArray[np.bool_] | None
    reach: float = 0.0

    @classmethod
    def of(
        cls,
        points: NDArray[np.float64],
        starts: NDArray[np.bool_],
        quantile: float,
        links: NDArray[np.bool_] | None = None,
    ) -> DomainWeb:
        """Joins the closest `quantile` of all pairs, unless `links` says who is joined.

        Of more than `MOST_DRAWN` points nothing is formed for every pair: the tree is the shortest
        among steps to near points, and a quantile of random pairs is the reach of links.
        """
        if len(points) <= MOST_DRAWN:
            distances = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=-1)
            if links is None:
                links = closest_pairs(distances, quantile)
            tree = spanning_tree(distances)
            return cls(points, csr_array(tree), order_of_arrival(distances, starts), links)
        tree = tree_of_points(points)
        arrival = _ranks_along(tree, starts)
        reach = 0.0 if links is not None else quantile_of_pairs(points, quantile)
        return cls(points, tree, arrival, links, reach)

    def next_to(self, domain: int, present: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the `present` that are next to a domain on the tree, in their order."""
        near = self.tree.indices[self.tree.indptr[domain] : self.tree.indptr[domain + 1]]
        return present[np.isin(present, near)]

    def links_among(self, domains: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(domains, domains) which of some domains are joined."""
        if self.links is not None:
            return self.links[np.ix_(domains, domains)]
        near = cdist(self.points[domains], self.points[domains]) <= self.reach
        np.fill_diagonal(near, False)
        return near


def tree_of_points(points: NDArray[np.float64]) -> csr_array:
    """A spanning tree of short steps between many points, symmetric, entries are lengths.

    The shortest of all trees whose steps lead to one of `NEAR_POINTS` nearest, or to the next
    point along the first axis, which keep it in one piece.
    """
    n_points = len(points)
    near = NearestNeighbors(n_neighbors=min(NEAR_POINTS, n_points - 1)).fit(points).kneighbors()[1]
    along = np.argsort(points[:, 0], kind="stable")
    first = np.append(np.repeat(np.arange(n_points), near.shape[1]), along[:-1])
    second = np.append(near.ravel(), along[1:])
    pairs = np.unique(np.sort(np.stack([first, second], axis=1), axis=1), axis=0)
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    # As in `spanning_tree`: a zero would be no edge.
    offset = max(float(lengths.max()), 1.0)
    shape = (n_points, n_points)
    tree = minimum_spanning_tree(csr_array((lengths + offset, pairs.T), shape=shape)).tocoo()
    steps = np.maximum(tree.data - offset, np.finfo(np.float64).tiny)
    both = (np.append(tree.row, tree.col), np.append(tree.col, tree.row))
    return csr_array((np.append(steps, steps), both), shape=shape)


def quantile_of_pairs(points: NDArray[np.float64], quantile: float) -> float:
    """Length that this share of all pairs does not exceed, by random ones."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(points), size=(2, SAMPLED_PAIRS))
    apart = first != second
    lengths = np.linalg.norm(points[first[apart]] - points[second[apart]], axis=1)
    return float(np.quantile(lengths, quantile))


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
    return _ranks_along(edges, starts)


def _ranks_along(edges: csr_array, starts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(domains,) in [0, 1]: 0 for the starts, the others by their path lengths."""
    paths = dijkstra(edges, directed=False, indices=np.flatnonzero(starts), min_only=True)
    arrival = np.zeros(len(paths))
    others = np.flatnonzero(~starts)
    ranked = others[np.argsort(paths[others], kind="stable")]
    arrival[ranked] = np.arange(1, len(ranked) + 1) / max(len(ranked), 1)
    return arrival
