"""Classical scaling: from distances to a map, turned onto an older one, with room for newcomers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, orthogonal_procrustes
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, shortest_path

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry.neighbors import bridge_components, nearest_links
from domindex.geometry.transport import check_distances

FLAT_AXIS = 1e-3
"""Spread of an axis, relative to the widest, below which it cannot tell where a newcomer lies."""


def classical_scaling(distances: ArrayLike, n_components: int) -> NDArray[np.float64]:
    """Coordinates (N, n_components), centred, whose distances come closest in inner products.

    With B = −½ J D² J (J centres), X = V √Λ from B's largest eigenpairs; negative eigenvalues,
    which a distance that is not Euclidean can have, count as zero. The entry of largest size in
    each column is positive, so the same distances always give the same map.

    Examples
    --------
    Three points on a line come back on a line:

    >>> from domindex.geometry import classical_scaling
    >>> classical_scaling([[0, 1, 3], [1, 0, 2], [3, 2, 0]], n_components=1)[:, 0].round(3)
    array([-1.333, -0.333,  1.667])
    """
    matrix = check_distances(distances)
    if n_components < 1:
        raise InputError(f"n_components is {n_components}. Ask for 1 or more.")
    kept = min(n_components, len(matrix))
    values, vectors = eigh(
        _centred_products(matrix), subset_by_index=[len(matrix) - kept, len(matrix) - 1]
    )
    coordinates = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    largest = np.abs(coordinates).argmax(axis=0)
    coordinates *= np.where(coordinates[largest, np.arange(kept)] < 0, -1.0, 1.0)
    return np.pad(coordinates, ((0, 0), (0, n_components - kept)))


def unit_scale(coordinates: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Points divided by their root mean square length, and that length (1 where all are zero)."""
    length = float(np.sqrt((coordinates**2).sum(axis=1).mean())) or 1.0
    return coordinates / length, length


def scaling_spectrum(distances: ArrayLike) -> NDArray[np.float64]:
    """All N eigenvalues of B in falling order: how many directions the map really has.

    Examples
    --------
    Points on a line need one direction:

    >>> from domindex.geometry import scaling_spectrum
    >>> (scaling_spectrum([[0, 1, 3], [1, 0, 2], [3, 2, 0]]) > 1e-9).tolist()
    [True, False, False]
    """
    return eigh(_centred_products(check_distances(distances)), eigvals_only=True)[::-1]


def procrustes_align(embedding: ArrayLike, reference: ArrayLike) -> NDArray[np.float64]:
    """Rotate, reflect and shift `embedding` onto `reference`, both (domains, components).

    Scaling fixes distances, not orientation: unaligned, the index would flip between epochs.

    Examples
    --------
    A map that was turned by a right angle is turned back:

    >>> import numpy as np
    >>> from domindex.geometry import procrustes_align
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> turned = points @ [[0.0, 1.0], [-1.0, 0.0]]
    >>> bool(np.allclose(procrustes_align(turned, points), points))
    True
    """
    points = np.asarray(embedding, dtype=np.float64)
    goal = np.asarray(reference, dtype=np.float64)
    if points.shape != goal.shape or points.ndim != 2:
        raise InputError(
            f"embedding has shape {points.shape} and reference {goal.shape}. "
            "Both must be (domains, components), with the domains in the same order."
        )
    centred = points - points.mean(axis=0)
    rotation, _ = orthogonal_procrustes(centred, goal - goal.mean(axis=0))
    return centred @ rotation + goal.mean(axis=0)


def place(
    distances_to_known: ArrayLike,
    embedding: ArrayLike,
    known_distances: ArrayLike | None = None,
    flat_axis: float = FLAT_AXIS,
) -> NDArray[np.float64]:
    """Put new domains into an existing map without moving it.

    Gower's formula, with X the centred map and δ² the squared distances to its points:
    x = ½ X⁺ (mean of D² over columns − δ²). Exact where the map shows the distances exactly.

    Parameters
    ----------
    distances_to_known : (known,) or (new, known)
    embedding : (known, components)
    known_distances : (known, known), the distances the map was made from; the map's own where None
    flat_axis : spread of an axis, relative to the widest, below which newcomers lie at its middle

    Returns
    -------
    (components,) or (new, components)

    Examples
    --------
    Between two points, one length from each:

    >>> from domindex.geometry import place
    >>> place([1.0, 1.0], [[0.0], [2.0]]).tolist()
    [1.0]
    """
    points = np.asarray(embedding, dtype=np.float64)
    gaps = np.asarray(distances_to_known, dtype=np.float64)
    if points.ndim != 2 or gaps.ndim not in (1, 2) or gaps.shape[-1] != len(points):
        raise InputError(
            f"distances_to_known has shape {gaps.shape} and embedding {points.shape}. "
            "Pass one distance to every known domain: (known,) or (new, known)."
        )
    if not np.isfinite(gaps).all() or (gaps < 0).any():
        raise InputError("distances_to_known holds NaN, infinite or negative entries.")
    centre = points.mean(axis=0)
    centred = points - centre
    if known_distances is None:
        squares = ((centred[:, None, :] - centred[None, :, :]) ** 2).sum(axis=-1)
    else:
        squares = check_distances(known_distances) ** 2
    inverse = np.linalg.pinv(centred, rcond=flat_axis)
    return centre + 0.5 * (squares.mean(axis=0) - gaps**2) @ inverse.T


def _centred_products(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = matrix**2
    means = squares.mean(axis=0)
    return -0.5 * (squares - means[:, None] - means[None, :] + means.mean())


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


Links = NDArray[np.bool_]


def join_paths(gaps: Floats, distances: Floats, paths: Sequence[KnownPaths]) -> Floats:
    """(new, known) mean path lengths of new domains at direct distances `gaps` (new, known).

    A domain that joins the graph takes the place of the last neighbour of those it is near to:
    long edges go, and paths around it, its own too, are longer than on the map that was drawn
    without it. What it does to the paths of its nearest known domains is therefore taken off its
    own: with w by inverse distance over as many of them as geodesics pass through at most,
    δ(i) = g'(new, i) − Σⱼ wⱼ (g'(j, i) − g(j, i)), g' with it and g without. A domain that
    coincides with a known one has the paths of that one. Each is placed as if it had come alone.

    Parameters
    ----------
    gaps : infinite where nobody can be anybody's neighbour
    distances : (known, known)
    paths : of the known domains, one for each number of neighbours

    Examples
    --------
    On a line, halfway between two of its points:

    >>> import numpy as np
    >>> from domindex.geometry.scaling import known_paths
    >>> from domindex.geometry.scaling import join_paths
    >>> points = np.arange(4.0)
    >>> distances = np.abs(points[:, None] - points)
    >>> join_paths(np.abs(1.5 - points)[None], distances, known_paths(distances, (2,))).tolist()
    [[1.5, 0.5, 0.5, 1.5]]
    """
    n_known, widest = len(distances), max(one.n_neighbors for one in paths)
    joined = np.zeros((n_known + 1, n_known + 1))
    joined[:n_known, :n_known] = distances
    result = np.empty(gaps.shape)
    for number, gap in enumerate(gaps):
        joined[n_known, :n_known] = joined[:n_known, n_known] = gap
        near = np.argsort(gap, kind="stable")[:widest]
        near = near[np.isfinite(gap[near])]
        lengths = [_lengths_beside(joined, near, one) for one in paths]
        result[number] = np.maximum(np.mean(lengths, axis=0), 0.0)
    return result


def _lengths_beside(joined: Floats, near: NDArray[np.int64], paths: KnownPaths) -> Floats:
    """(known,) δ of the last domain of `joined`, through one number of neighbours."""
    n_known = len(joined) - 1
    edges = _edges(_links(joined[n_known, :n_known], paths), joined)
    found = dijkstra(edges, directed=False, indices=np.append(n_known, near))[:, :n_known]
    longer = _inverse(joined[n_known, near]) @ (found[1:] - paths.lengths[near])
    return paths.share * (found[0] - longer)


def _links(gap: Floats, paths: KnownPaths) -> Links:
    """(known + 1, known + 1): either is among the other's nearest, now that there is one more."""
    n_known, n_nearest = paths.nearest.shape
    nearer = np.flatnonzero(np.isfinite(gap))
    chosen = np.zeros((n_known + 1, n_known + 1), dtype=bool)
    chosen[np.arange(n_known)[:, None], paths.nearest] = True
    if n_nearest == paths.n_neighbors:  # otherwise all are neighbours, and one more has room
        nearer = np.flatnonzero(gap < paths.reach)
        chosen[nearer, paths.nearest[nearer, -1]] = False
    chosen[nearer, n_known] = True
    chosen[n_known, np.argsort(gap, kind="stable")[: paths.n_neighbors]] = True
    return chosen | chosen.T


def _edges(links: Links, distances: Floats) -> csr_array:
    """Sparse, as a zero in a dense matrix would be no edge; in one piece."""
    edges = _lengths(links, distances)
    if connected_components(edges, directed=False)[0] == 1:
        return edges
    return _lengths(bridge_components(links, distances), distances)


def _lengths(links: Links, distances: Floats) -> csr_array:
    first, second = np.nonzero(links)
    return csr_array((distances[first, second], (first, second)), shape=links.shape)


def _inverse(gaps: Floats) -> Floats:
    """Weights by inverse distance; where some are zero, only these count."""
    same = gaps == 0.0
    weights = same.astype(np.float64) if same.any() else gaps.min() / gaps
    return weights / weights.sum()
