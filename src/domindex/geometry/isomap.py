"""Shortest paths through neighbouring domains: unrolls families of domains that lie on a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from domindex.geometry.distance_checks import check_distances
from domindex.geometry.neighbors import bridge_components, nearest_links


def geodesic_distances(distances: ArrayLike, n_neighbors: int) -> NDArray[np.float64]:
    """Lengths of the shortest paths on the k-nearest-neighbour graph of the domains, (N, N).

    Two domains are joined when either is among the other's `n_neighbors` nearest. Where the graph
    falls apart, the shortest missing pair joins two components, until it is one.

    Examples
    --------
    Around three corners of a square, and not across:

    >>> import numpy as np
    >>> from domindex.geometry import geodesic_distances
    >>> corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    >>> direct = np.linalg.norm(corners[:, None] - corners[None], axis=-1)
    >>> round(float(direct[0, 2]), 3), float(geodesic_distances(direct, n_neighbors=1)[0, 2])
    (1.414, 2.0)
    """
    matrix = check_distances(distances)
    links = bridge_components(nearest_links(matrix, n_neighbors), matrix)
    # Sparse, because a zero (or nearly so) in a dense matrix means "no edge" to SciPy, while two
    # domains may be identical.
    first, second = np.nonzero(links)
    edges = csr_array((matrix[first, second], (first, second)), shape=matrix.shape)
    return shortest_path(edges, directed=False)


def mean_geodesics(distances: NDArray[np.float64], neighbors: Sequence[int]) -> NDArray[np.float64]:
    """Geodesic distances averaged over several numbers of neighbours, (N, N).

    Each is brought to the mean length of the first: more neighbours make shorter paths. A single
    number can make a shortcut that closes a curve; few of several do.
    """
    paths = [geodesic_distances(distances, number) for number in neighbors]
    return np.mean([path * _share(paths[0], path) for path in paths], axis=0)


def extend_mean_geodesics(
    gaps: NDArray[np.float64], distances: NDArray[np.float64], neighbors: Sequence[int]
) -> NDArray[np.float64]:
    """`mean_geodesics` (known,) from a new domain at direct distances `gaps` (known,)."""
    return extend_paths(gaps, known_paths(distances, neighbors))


@dataclass(frozen=True, eq=False)
class KnownPaths:
    """Paths between known domains through one number of neighbours, to be gone on by new ones.

    Attributes
    ----------
    n_neighbors : that number
    lengths : (N, N) of the shortest paths
    share : what brings them to the mean length of the paths they are averaged with
    reach : (N,) distance of each domain to the last of its neighbours: a new one that is nearer
        would be among them
    nearest : (N, n_neighbors) the neighbours of each, the last one last; of fewer domains, all
        others
    """

    n_neighbors: int
    lengths: NDArray[np.float64]
    share: float
    reach: NDArray[np.float64]
    nearest: NDArray[np.int64]


def known_paths(distances: NDArray[np.float64], neighbors: Sequence[int]) -> list[KnownPaths]:
    """What `extend_paths` needs of the known domains, for each number of neighbours."""
    lengths = [geodesic_distances(distances, number) for number in neighbors]
    others = distances + np.diag(np.full(len(distances), np.inf))
    order = np.argsort(others, axis=1, kind="stable")[:, : max(len(distances) - 1, 1)]
    apart = np.take_along_axis(others, order, axis=1)
    last = order.shape[1] - 1
    return [
        KnownPaths(
            number,
            one,
            _share(lengths[0], one),
            apart[:, min(number - 1, last)],
            order[:, : min(number, len(distances) - 1)],
        )
        for number, one in zip(neighbors, lengths)
    ]


def extend_paths(gaps: NDArray[np.float64], paths: Sequence[KnownPaths]) -> NDArray[np.float64]:
    """`extend_mean_geodesics` along paths that were found once for many new domains.

    `gaps` (known,) of one new domain or (new, known) of many.
    """
    many = np.atleast_2d(gaps)
    extended = [
        extend_geodesics(many, one.lengths, one.n_neighbors, one.reach) * one.share for one in paths
    ]
    return np.mean(extended, axis=0).reshape(gaps.shape)


def _share(first: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(first.sum() / other.sum()) if other.any() else 1.0


def extend_geodesics(
    gaps: NDArray[np.float64],
    geodesics: NDArray[np.float64],
    n_neighbors: int,
    reach: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Path lengths, shaped like `gaps`, from new domains at direct distances `gaps` (…, known).

    The first step leads to one of its `n_neighbors` nearest, or to a domain that would have it
    among its own, no farther than `reach` (known,); the rest along known paths.
    """
    many = np.atleast_2d(gaps)
    rows = np.arange(len(many))
    joined = np.zeros(many.shape, dtype=bool)
    joined[rows[:, None], np.argsort(many, axis=1, kind="stable")[:, :n_neighbors]] = True
    if reach is not None:
        joined |= np.isfinite(many) & (many <= reach)
    steps = np.argsort(~joined, axis=1, kind="stable")
    counts, result = joined.sum(axis=1), np.full(many.shape, np.inf)
    for rank in range(int(counts.max(initial=0))):
        going = rows[counts > rank]
        via = steps[going, rank]
        result[going] = np.minimum(result[going], many[going, via][:, None] + geodesics[via])
    return result.reshape(gaps.shape)
