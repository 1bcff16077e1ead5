"""Beyond so many domains, the map is drawn from some of them: landmarks, to which others are held.

Distances between all pairs, geodesics and scaling grow with the square and the cube of the number
of domains. So the geometry of many domains is solved on landmarks, and all others are placed by
their distances to these, by the formula that places new domains. How much that costs is measured
on random pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.geometry.transport import transport_of_pairs

MOST_DRAWN = 500
"""Domains up to which the map is drawn from all of them, and landmarks beyond. For time and memory:
with 500 a map of 1,000 domains agrees with that drawn from all (docs/scaling.md)."""

LEAST_SOURCE_SHARE = 0.1
"""Of the landmarks that are sources, where there are so many: the flow, and the cut of a ring, are
told from where the labels are. Not tuned."""

SUMMARY_LEVELS = (0.1, 0.5, 0.9)
"""Quantiles of every feature that stand beside its mean and deviation in a domain's summary."""

N_PAIRS = 300
"""Random pairs of domains, and of landmarks, whose exact distances say what the map is worth."""


def choose_landmarks(
    clouds: Sequence[Floats], is_source: NDArray[np.bool_] | None = None, most: int = MOST_DRAWN
) -> Ints:
    """The rising numbers of at most `most` of the clouds (rows, features), spread over all.

    As k-means++ starts: one after the other, each with a chance that grows with the square of its
    distance to the nearest chosen so far. Farthest points would be those with the noisiest rows;
    plain chance would leave what is rare to itself. Sources have their share, and a tenth at least.

    Examples
    --------
    Of two dense places both are chosen, and the single domain far away:

    >>> import numpy as np
    >>> from domindex.geometry.neighbors import choose_landmarks
    >>> cloud = np.random.default_rng(0).normal(size=(20, 2))
    >>> places = [0.0] * 50 + [9.0] * 50 + [90.0]
    >>> choose_landmarks([cloud + place for place in places], most=3).tolist()[-1]
    100
    """
    n_clouds = len(clouds)
    if n_clouds <= most:
        return np.arange(n_clouds)
    summaries, rng = domain_summaries(clouds), np.random.default_rng(0)
    away = np.full(n_clouds, np.inf)
    chosen: list[int] = []
    for group, count in _shares(n_clouds, is_source, most):
        for _ in range(count):
            chosen.append(_draw(group, away, chosen, rng))
            gaps = ((summaries - summaries[chosen[-1]]) ** 2).sum(axis=1)
            away = np.minimum(away, gaps)
    return np.sort(np.array(chosen, dtype=np.int64))


def _shares(
    n_clouds: int, is_source: NDArray[np.bool_] | None, most: int
) -> Iterator[tuple[Ints, int]]:
    """Who is to be chosen from, and how many."""
    if is_source is None or not is_source.any() or is_source.all():
        yield np.arange(n_clouds), most
        return
    n_sources = int(is_source.sum())
    count = max(round(most * n_sources / n_clouds), min(n_sources, int(LEAST_SOURCE_SHARE * most)))
    count = max(1, min(count, most - 1))
    yield np.flatnonzero(is_source), count
    yield np.flatnonzero(~is_source), min(most - count, n_clouds - n_sources)


def _draw(group: Ints, away: Floats, chosen: list[int], rng: np.random.Generator) -> int:
    """One of the group by its squared distance to what was chosen; any where all coincide."""
    weights = np.where(np.isfinite(away[group]), away[group], 1.0)
    if weights.sum() <= 0.0:
        left = np.setdiff1d(group, chosen)
        return int(rng.choice(left))
    return int(rng.choice(group, p=weights / weights.sum()))


def domain_summaries(clouds: Sequence[Floats]) -> Floats:
    """(clouds, summaries): means, deviations and a few quantiles of every feature.

    Clouds of one size are summarised at once.
    """
    by_size: dict[int, list[int]] = {}
    for number, cloud in enumerate(clouds):
        by_size.setdefault(len(cloud), []).append(number)
    n_features = clouds[0].shape[1]
    result = np.empty((len(clouds), (2 + len(SUMMARY_LEVELS)) * n_features))
    for numbers in by_size.values():
        rows = np.stack([clouds[number] for number in numbers])
        levels = np.quantile(rows, SUMMARY_LEVELS, axis=1)
        result[numbers] = np.hstack([rows.mean(axis=1), rows.std(axis=1), *levels])
    return result


@dataclass(frozen=True)
class LandmarkError:
    """How well distances on a map that was drawn from landmarks follow exact transport.

    The map shows few dimensions, and geodesics: so even between landmarks, which it was drawn from,
    the two differ. What placing the others by landmarks adds is the difference between the figures
    of all domains and those of the landmarks.

    Attributes
    ----------
    n_landmarks, n_domains : how many there are
    n_pairs : random pairs that were measured exactly, of each kind
    spearman : rank correlation of map distances with exact ones, pairs of any domains
    stress : share of the exact distances that the map, at its best scale, does not show
    landmark_spearman, landmark_stress : the same of pairs of landmarks
    """

    n_landmarks: int
    n_domains: int
    n_pairs: int
    spearman: float
    stress: float
    landmark_spearman: float
    landmark_stress: float

    def __str__(self) -> str:
        return (
            f"The map was drawn from {self.n_landmarks} of {self.n_domains} domains; on "
            f"{self.n_pairs} random pairs its distances follow exact ones with a rank correlation "
            f"of {self.spearman:.3f} (landmarks: {self.landmark_spearman:.3f}) and a stress of "
            f"{self.stress:.3f} ({self.landmark_stress:.3f})."
        )


def measure_error(
    clouds: Sequence[Floats], coordinates: Floats, landmarks: Ints, n_pairs: int = N_PAIRS
) -> LandmarkError:
    """Exact transport between clouds against distances of coordinates (domains, index_dim)."""
    rng = np.random.default_rng(0)
    found = []
    for numbers in (np.arange(len(clouds)), landmarks):
        pairs = random_pairs(numbers, n_pairs, rng)
        exact = transport_of_pairs(clouds, pairs)
        first, second = pairs.T
        shown = np.linalg.norm(coordinates[first] - coordinates[second], axis=1)
        found += [rank_correlation(shown, exact), _stress(shown, exact)]
    return LandmarkError(len(landmarks), len(clouds), n_pairs, *found)


def random_pairs(numbers: Ints, count: int, rng: np.random.Generator) -> Ints:
    """(count, 2) of the numbers, two different ones each."""
    first = rng.integers(len(numbers), size=count)
    second = (first + rng.integers(1, len(numbers), size=count)) % len(numbers)
    return np.stack([numbers[first], numbers[second]], axis=1)


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's; 1 where one of the two has no order to be missed."""
    if np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return 1.0
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def _stress(shown: Floats, exact: Floats) -> float:
    scale = float(shown @ exact) / (float(shown @ shown) or 1.0)
    return float(np.linalg.norm(scale * shown - exact) / (np.linalg.norm(exact) or 1.0))


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


@dataclass(frozen=True, eq=False)
class PointDistances:
    """Distances between the domains of a map.

    Attributes
    ----------
    points : (domains, index_dim)
    matrix : (domains, domains) where domains are few; None beyond `MOST_DRAWN`

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.geometry.neighbors import PointDistances
    >>> line = PointDistances.of(np.array([[0.0], [1.0], [5.0]]))
    >>> line.row(1).tolist(), line.to_nearest(np.array([2]), np.array([0, 1])).tolist()
    ([1.0, 0.0, 4.0], [4.0])
    """

    points: Floats
    matrix: Floats | None

    @classmethod
    def of(cls, points: Floats) -> PointDistances:
        """Of the coordinates of a map."""
        return cls(points, squareform(pdist(points)) if len(points) <= MOST_DRAWN else None)

    @classmethod
    def of_matrix(cls, matrix: Floats) -> PointDistances:
        """Of distances that are known already."""
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
    if max(len(points), len(goals)) <= MOST_DRAWN:
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
