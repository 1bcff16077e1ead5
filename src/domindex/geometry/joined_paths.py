"""Paths from new domains over the graph that each of them, by joining it, changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from domindex.geometry.isomap import KnownPaths
from domindex.geometry.neighbors import bridge_components

Floats = NDArray[np.float64]
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
    >>> from domindex.geometry.isomap import known_paths
    >>> from domindex.geometry.joined_paths import join_paths
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
