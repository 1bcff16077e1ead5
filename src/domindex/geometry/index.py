"""The map of the domains as a value."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist, squareform

from domindex.errors import InputError
from domindex.geometry.neighbors import (
    MOST_DRAWN,
    check_quantile,
    closest_pairs,
    nearest_links,
    nearest_points,
    quantile_of_pairs,
)
from domindex.geometry.scaling import classical_scaling, scaling_spectrum
from domindex.geometry.transport import check_distances


@dataclass(frozen=True, eq=False)
class DomainIndex:
    """One point per domain, and what it was made from.

    Attributes
    ----------
    domains : names, in the order of all rows below
    coordinates : (domains, components)
    distances : (domains, domains), what the coordinates were scaled from; (domains, landmarks)
        where there are landmarks
    eigenvalues : (domains,), falling; a gap tells how many components the map needs. Of landmarks
        only where there are any
    angles : (domains,) in (−π, π] around the ring that the domains lie on; None on an open map
    landmarks : rising numbers of the domains that the map was drawn from, where there are too many
        to draw it from all (`choose_landmarks`); None where it was

    Examples
    --------
    >>> from domindex.geometry import DomainIndex
    >>> index = DomainIndex.from_distances(["a", "b", "c"], [[0, 1, 3], [1, 0, 2], [3, 2, 0]], 1)
    >>> index.find("c").round(3).tolist(), round(index.stress, 6)
    ([1.667], 0.0)
    """

    domains: tuple[Hashable, ...]
    coordinates: NDArray[np.float64]
    distances: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    angles: NDArray[np.float64] | None = None
    landmarks: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        arrays = (self.coordinates, self.distances, self.eigenvalues, self.angles, self.landmarks)
        for array in arrays:
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def from_distances(
        cls, domains: Sequence[Hashable], distances: ArrayLike, n_components: int = 2
    ) -> DomainIndex:
        """The map that classical scaling makes of `distances`."""
        matrix = np.array(distances, dtype=np.float64)
        if len(domains) != len(matrix):
            raise InputError(
                f"There are {len(domains)} domain names, but distances has {len(matrix)} rows. "
                "Name each row once."
            )
        coordinates = classical_scaling(matrix, n_components)
        return cls(tuple(domains), coordinates, matrix, scaling_spectrum(matrix))

    def find(self, name: Hashable) -> NDArray[np.float64] | None:
        """The point of a domain, None where it is not on the map."""
        if name not in self.domains:
            return None
        return self.coordinates[self.domains.index(name)]

    @property
    def map_distances(self) -> NDArray[np.float64]:
        """Distances between the points of the map, (domains, domains): not for thousands."""
        return squareform(pdist(self.coordinates))

    @property
    def stress(self) -> float:
        """Kruskal's stress: the share of the distances that the map does not show, 0 is perfect."""
        total = float((self.distances**2).sum())
        if self.landmarks is None:
            shown = self.map_distances
        else:
            shown = cdist(self.coordinates, self.coordinates[self.landmarks])
        return float(np.sqrt(((shown - self.distances) ** 2).sum() / (total or 1.0)))

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "domains": self.domains,
            "coordinates": self.coordinates,
            "distances": self.distances,
            "eigenvalues": self.eigenvalues,
        }
        if self.landmarks is not None:
            state["landmarks"] = self.landmarks.tolist()
        return state if self.angles is None else state | {"angles": self.angles}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> DomainIndex:
        domains, n_domains = tuple(state["domains"]), len(state["domains"])
        if not domains or len(set(domains)) < n_domains:
            raise ValueError("the domains do not have a name each")
        shapes = [state[name].shape for name in ("distances", "eigenvalues", "coordinates")]
        index_dim = state["coordinates"].shape[-1]
        landmarks = _landmarks(state.get("landmarks"), n_domains)
        n_drawn = n_domains if landmarks is None else len(landmarks)
        if shapes != [(n_domains, n_drawn), (n_drawn,), (n_domains, index_dim)]:
            raise ValueError(f"arrays of shapes {shapes} are no map of {n_domains} domains")
        angles = state.get("angles")  # only maps that close have them
        if angles is not None and angles.shape != (n_domains,):
            raise ValueError("the angles do not match the domains")
        coordinates, distances, eigenvalues = (
            state[name] for name in ("coordinates", "distances", "eigenvalues")
        )
        return cls(domains, coordinates, distances, eigenvalues, angles, landmarks)


def _landmarks(numbers: list[int] | None, n_domains: int) -> NDArray[np.int64] | None:
    """Of a state: rising numbers of domains, or none."""
    if numbers is None:
        return None
    if any(type(number) is not int for number in numbers):
        raise ValueError("the landmarks are no numbers of domains")
    landmarks = np.array(numbers, dtype=np.int64)
    if not len(landmarks) or landmarks[0] < 0 or landmarks[-1] >= n_domains:
        raise ValueError("the landmarks are no numbers of domains")
    if (np.diff(landmarks) <= 0).any():
        raise ValueError("the landmarks do not rise")
    return landmarks


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
