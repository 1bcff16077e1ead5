"""From distances to a map: classical scaling, geodesics, and places for new domains."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, orthogonal_procrustes
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, shortest_path
from scipy.spatial.distance import cdist, pdist, squareform

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.geometry.settings import MAP
from domindex.geometry.transport import check_distances
from domindex.persistence.saved import Saved

Links = NDArray[np.bool_]


def classical_scaling(distances: ArrayLike, n_components: int) -> Floats:
    """Coordinates (N, n_components), centred, whose distances come closest in inner products.

    With B = −½ J D² J (J centres), X = V √Λ from B's largest eigenpairs; negative eigenvalues count
    as zero. The largest entry of each column is positive: the same distances give the same map.

    Examples
    --------
    >>> from domindex.geometry import classical_scaling
    >>> classical_scaling([[0, 1, 3], [1, 0, 2], [3, 2, 0]], n_components=1)[:, 0].round(3)
    array([-1.333, -0.333,  1.667])
    """
    matrix = check_distances(distances)
    if n_components < 1:
        raise InputError(f"n_components is {n_components}. Ask for 1 or more.")
    size, kept = len(matrix), min(n_components, len(matrix))
    values, vectors = eigh(_centred_products(matrix), subset_by_index=[size - kept, size - 1])
    coordinates = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    sizes = np.abs(coordinates)
    largest = (sizes >= (1.0 - 1e-9) * sizes.max(axis=0)).argmax(axis=0)
    coordinates *= np.where(coordinates[largest, np.arange(kept)] < 0, -1.0, 1.0)
    return np.pad(coordinates, ((0, 0), (0, n_components - kept)))


def scaling_spectrum(distances: ArrayLike) -> Floats:
    """All N eigenvalues of B in falling order: how many directions the map really has.

    Examples
    --------
    >>> from domindex.geometry import scaling_spectrum
    >>> (scaling_spectrum([[0, 1, 3], [1, 0, 2], [3, 2, 0]]) > 1e-9).tolist()
    [True, False, False]
    """
    return eigh(_centred_products(check_distances(distances)), eigvals_only=True)[::-1]


def _centred_products(matrix: Floats) -> Floats:
    squares = matrix**2
    means = squares.mean(axis=0)
    return -0.5 * (squares - means[:, None] - means[None, :] + means.mean())


@dataclass(frozen=True, eq=False)
class DomainIndex(Saved):
    """One point per domain, and what it was made from.

    Examples
    --------
    >>> from domindex.geometry import DomainIndex
    >>> index = DomainIndex.from_distances(["a", "b", "c"], [[0, 1, 3], [1, 0, 2], [3, 2, 0]], 1)
    >>> index.find("c").round(3).tolist(), round(index.stress, 6)
    ([1.667], 0.0)
    """

    domains: tuple[Hashable, ...]  # names, in the order of all rows below
    coordinates: Floats  # (domains, components)
    # (domains, domains) that the coordinates show; (domains, landmarks) where there are any
    distances: Floats
    # (domains,) or (landmarks,), falling; a gap shows how many components the map needs
    eigenvalues: Floats
    # (domains,) in (−π, π] around the ring that the domains lie on; None on an open map
    angles: Floats | None = field(default=None, metadata={"omitted": True})
    # rising numbers of the domains that the map was drawn from; None where from all
    landmarks: Ints | None = field(default=None, metadata={"omitted": True})

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

    def find(self, name: Hashable) -> Floats | None:
        """The point of a domain, None where it is not on the map."""
        known = name in self.domains
        return self.coordinates[self.domains.index(name)] if known else None

    def in_order(self, names: Sequence[Hashable]) -> DomainIndex:
        """The same map with its domains in this order."""
        order, drawn, landmarks = reordering(self.domains, names, self.landmarks)
        return replace(
            self,
            domains=tuple(names),
            coordinates=self.coordinates[order],
            distances=self.distances[np.ix_(order, drawn)],
            angles=None if self.angles is None else self.angles[order],
            landmarks=landmarks,
        )

    @property
    def map_distances(self) -> Floats:
        """Distances between the points of the map, (domains, domains): not for thousands."""
        return squareform(pdist(self.coordinates))

    @property
    def stress(self) -> float:
        """Kruskal's stress: the share of the distances that the map does not show, 0 is perfect."""
        drawn = slice(None) if self.landmarks is None else self.landmarks
        shown = cdist(self.coordinates, self.coordinates[drawn])
        total = float((self.distances**2).sum()) or 1.0
        return float(np.sqrt(((shown - self.distances) ** 2).sum() / total))

    def _check_state(self) -> None:
        n_domains, landmarks = len(self.domains), self.landmarks
        if not n_domains or len(set(self.domains)) < n_domains:
            raise ValueError("the domains do not have a name each")
        if landmarks is not None:
            steps = np.diff(landmarks, prepend=-1, append=n_domains)
            if not len(landmarks) or steps[0] < 1 or steps[-1] < 1:
                raise ValueError("the landmarks are no numbers of domains")
            if (steps < 1).any():
                raise ValueError("the landmarks do not rise")
        n_drawn = n_domains if landmarks is None else len(landmarks)
        shapes = [part.shape for part in (self.coordinates, self.distances, self.eigenvalues)]
        if shapes != [(n_domains, shapes[0][-1]), (n_domains, n_drawn), (n_drawn,)]:
            raise ValueError(f"arrays of shapes {shapes} are no map of {n_domains} domains")
        if self.angles is not None and self.angles.shape != (n_domains,):
            raise ValueError("the angles do not match the domains")


def reordering(
    domains: Sequence[Hashable], names: Sequence[Hashable], landmarks: Ints | None = None
) -> tuple[Ints, Ints, Ints | None]:
    """What brings `domains` into the order of `names`: their numbers, numbers among those that the
    map was drawn from, and the landmarks as they are then numbered."""
    numbers = {name: number for number, name in enumerate(domains)}
    order = np.array([numbers[name] for name in names], dtype=np.int64)
    if landmarks is None:
        return order, order, None
    is_drawn = np.isin(order, landmarks)
    return order, np.searchsorted(landmarks, order[is_drawn]), np.flatnonzero(is_drawn)


def procrustes_align(embedding: ArrayLike, reference: ArrayLike) -> Floats:
    """Rotate, reflect and shift `embedding` onto `reference`, both (domains, components).

    Scaling fixes distances, not orientation: unaligned, the index would flip between epochs.

    Examples
    --------
    >>> from domindex.geometry import procrustes_align
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> turned = points @ [[0.0, 1.0], [-1.0, 0.0]]
    >>> bool(np.allclose(procrustes_align(turned, points), points))
    True
    """
    points, goal = (np.asarray(one, dtype=np.float64) for one in (embedding, reference))
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
    flat_axis: float = MAP.flat_axis,
) -> Floats:
    """Put new domains into an existing map without moving it.

    Gower's formula, with X the centred map and δ² the squared distances to its points:
    x = ½ X⁺ (mean of D² over columns − δ²). Exact where the map shows the distances exactly.

    Parameters
    ----------
    distances_to_known : (known,) or (new, known); the result has a place for each
    embedding : (known, components)
    known_distances : (known, known), the distances the map was made from; the map's own where None
    flat_axis : spread of an axis, relative to the widest, below which newcomers lie at its middle

    Examples
    --------
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
        known_distances = squareform(pdist(centred))
    squares = check_distances(known_distances) ** 2
    inverse = np.linalg.pinv(centred, rcond=flat_axis)
    return centre + 0.5 * (squares.mean(axis=0) - gaps**2) @ inverse.T


def nearest_links(distances: Floats, n_neighbors: int) -> Links:
    """Join two domains when either is among the other's `n_neighbors` nearest."""
    n_domains = len(distances)
    if n_neighbors < 1:
        raise InputError(f"n_neighbors is {n_neighbors}. Join each domain to 1 or more others.")
    others = distances + np.diag(np.full(n_domains, np.inf))
    nearest = np.argsort(others, axis=1, kind="stable")[:, : min(n_neighbors, n_domains - 1)]
    links = np.zeros((n_domains, n_domains), dtype=bool)
    links[np.arange(n_domains)[:, None], nearest] = True
    return links | links.T


def bridge_components(links: Links, distances: Floats) -> Links:
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


def _edges(links: Links, distances: Floats) -> csr_array:
    """Sparse, because a zero in a dense matrix is no edge to SciPy, while domains may coincide."""
    first, second = np.nonzero(links)
    numbers = first.astype(np.int32), second.astype(np.int32)  # as older SciPy wants them
    return csr_array((distances[first, second], numbers), shape=links.shape)


def geodesic_distances(distances: ArrayLike, n_neighbors: int) -> Floats:
    """Lengths of the shortest paths on the k-nearest-neighbour graph of the domains, (N, N).

    Two domains are joined when either is among the other's `n_neighbors` nearest. Where the graph
    falls apart, the shortest missing pair joins two components, until it is one.

    Examples
    --------
    Around three corners of a square, and not across:

    >>> from domindex.geometry import geodesic_distances
    >>> corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    >>> direct = np.linalg.norm(corners[:, None] - corners[None], axis=-1)
    >>> float(geodesic_distances(direct, n_neighbors=1)[0, 2])
    2.0
    """
    matrix = check_distances(distances)
    links = bridge_components(nearest_links(matrix, n_neighbors), matrix)
    return shortest_path(_edges(links, matrix), directed=False)


def mean_geodesics(distances: Floats, neighbors: Sequence[int]) -> Floats:
    """Geodesics averaged over several numbers of neighbours, at the mean length of the first."""
    return np.mean([one.lengths * one.share for one in known_paths(distances, neighbors)], axis=0)


@dataclass(frozen=True, eq=False)
class KnownPaths:
    """Paths between known domains through one number of neighbours, which new ones continue."""

    n_neighbors: int
    lengths: Floats  # (N, N) of the shortest paths
    share: float  # brings them to the mean length of those they are averaged with
    # (N,) distance to the last of its neighbours: a nearer new one would be among them
    reach: Floats
    # (N, n_neighbors) the neighbours of each, the last one last; of fewer domains, all others
    nearest: Ints


def known_paths(distances: Floats, neighbors: Sequence[int]) -> list[KnownPaths]:
    others = distances + np.diag(np.full(len(distances), np.inf))
    order = np.argsort(others, axis=1, kind="stable")[:, : max(len(distances) - 1, 1)]
    apart = np.take_along_axis(others, order, axis=1)
    found: list[KnownPaths] = []
    for number in neighbors:
        lengths = geodesic_distances(distances, number)
        first = found[0].lengths if found else lengths
        share = float(first.sum() / lengths.sum()) if lengths.any() else 1.0
        reach = apart[:, min(number, apart.shape[1]) - 1]
        nearest = order[:, : min(number, len(distances) - 1)]
        found.append(KnownPaths(number, lengths, share, reach, nearest))
    return found


def extend_paths(gaps: Floats, paths: Sequence[KnownPaths]) -> Floats:
    """(new, known) mean path lengths of new domains at direct distances `gaps` (new, known): a
    step to one of the nearest, or to one that would have it among its own, then known paths."""
    rows, extended = np.arange(len(gaps)), []
    for one in paths:
        joined = np.isfinite(gaps) & (gaps <= one.reach)
        nearest = np.argsort(gaps, axis=1, kind="stable")[:, : one.n_neighbors]
        joined[rows[:, None], nearest] = True
        steps = np.argsort(~joined, axis=1, kind="stable")
        counts, lengths = joined.sum(axis=1), np.full(gaps.shape, np.inf)
        for rank in range(int(counts.max(initial=0))):
            going = rows[counts > rank]
            via = steps[going, rank]
            onward = gaps[going, via][:, None] + one.lengths[via]
            lengths[going] = np.minimum(lengths[going], onward)
        extended.append(lengths * one.share)
    return np.mean(extended, axis=0)


def join_paths(gaps: Floats, distances: Floats, paths: Sequence[KnownPaths]) -> Floats:
    """`extend_paths`, with what a new domain does to known paths taken off its own.

    It takes the place of the last neighbour of those it is near to, and paths around it become
    longer. With w by inverse distance over its nearest: δ(i) = g'(new, i) − Σⱼ wⱼ (g'(j, i) −
    g(j, i)), g' with it and g without. `gaps` are infinite where nobody can be a neighbour.
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


def _lengths_beside(joined: Floats, near: Ints, paths: KnownPaths) -> Floats:
    """(known,) δ of the last domain of `joined`, through one number of neighbours."""
    n_known, n_nearest = paths.nearest.shape
    gap = joined[n_known, :n_known]
    # Either is among the other's nearest, now that there is one more.
    closer = np.flatnonzero(np.isfinite(gap))
    links = np.zeros(joined.shape, dtype=bool)
    links[np.arange(n_known)[:, None], paths.nearest] = True
    if n_nearest == paths.n_neighbors:  # otherwise all are neighbours, and one more has room
        closer = np.flatnonzero(gap < paths.reach)
        links[closer, paths.nearest[closer, -1]] = False
    links[closer, n_known] = True
    links[n_known, np.argsort(gap, kind="stable")[: paths.n_neighbors]] = True
    edges = _edges(bridge_components(links | links.T, joined), joined)
    found = dijkstra(edges, directed=False, indices=np.append(n_known, near))[:, :n_known]
    same = gap[near] == 0.0
    weights = same.astype(np.float64) if same.any() else gap[near].min() / gap[near]
    longer = weights / weights.sum() @ (found[1:] - paths.lengths[near])
    return paths.share * (found[0] - longer)
