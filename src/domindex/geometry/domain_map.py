"""The map of the domains: distances between their local indices, shown in few dimensions.

Distances between all pairs, geodesics and scaling grow with the square and the cube of the number
of domains. So the map of many domains is drawn from some of them, landmarks, and all others are
placed by their distances to these, as new domains are. What that costs is measured on random pairs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from domindex.arrays import Floats, Ints
from domindex.geometry.rings import Loop, comes_back, find_loop
from domindex.geometry.scaling import (
    DomainIndex,
    KnownPaths,
    classical_scaling,
    extend_paths,
    join_paths,
    known_paths,
    mean_geodesics,
    place,
    procrustes_align,
    scaling_spectrum,
)
from domindex.geometry.settings import MAP
from domindex.geometry.transport import (
    Method,
    groups_by_size,
    thin,
    transport_distances,
    transport_of_pairs,
    transport_to_known,
)

if TYPE_CHECKING:
    from typing_extensions import Self


def choose_landmarks(
    clouds: Sequence[Floats],
    is_source: NDArray[np.bool_] | None = None,
    most: int = MAP.max_drawn,
) -> Ints:
    """The rising numbers of at most `most` of the clouds (rows, features), spread over all.

    As k-means++ starts: one after the other, each with a chance that grows with the square of its
    distance to the nearest chosen so far. Sources have their share, and a tenth at least.
    """
    n_clouds = len(clouds)
    if n_clouds <= most:
        return np.arange(n_clouds)
    groups = [(np.arange(n_clouds), most)]
    if is_source is not None and is_source.any() and not is_source.all():
        n_sources = int(is_source.sum())
        least = min(n_sources, int(MAP.min_source_share * most))
        count = max(1, min(max(round(most * n_sources / n_clouds), least), most - 1))
        others = min(most - count, n_clouds - n_sources)
        groups = [(np.flatnonzero(is_source), count), (np.flatnonzero(~is_source), others)]
    summaries, rng = domain_summaries(clouds), np.random.default_rng(0)
    away = np.full(n_clouds, np.inf)
    chosen: list[int] = []
    for group, count in groups:
        for _ in range(count):
            weights = np.where(np.isfinite(away[group]), away[group], 1.0)
            if weights.sum() > 0.0:
                chosen.append(int(rng.choice(group, p=weights / weights.sum())))
            else:  # all that are left coincide with one that was chosen
                chosen.append(int(rng.choice(np.setdiff1d(group, chosen))))
            away = np.minimum(away, ((summaries - summaries[chosen[-1]]) ** 2).sum(axis=1))
    return np.sort(np.array(chosen, dtype=np.int64))


def domain_summaries(clouds: Sequence[Floats]) -> Floats:
    """(clouds, summaries): mean, deviation and three quantiles of every feature."""
    levels = (0.1, 0.5, 0.9)
    result = np.empty((len(clouds), (2 + len(levels)) * clouds[0].shape[1]))
    for numbers in groups_by_size(clouds):
        rows = np.stack([clouds[number] for number in numbers])
        quantiles = np.quantile(rows, levels, axis=1)
        result[numbers] = np.hstack([rows.mean(axis=1), rows.std(axis=1), *quantiles])
    return result


@dataclass(frozen=True)
class LandmarkError:
    """How well distances on a map that was drawn from landmarks follow exact transport.

    The map shows few dimensions, and geodesics: so even between landmarks the two differ. What
    placing the others adds is the difference between the figures of all domains and those of the
    landmarks.
    """

    n_landmarks: int
    n_domains: int
    n_pairs: int  # random pairs that were measured exactly, of each kind
    spearman: float  # rank correlation of map distances with exact ones, pairs of any domains
    stress: float  # share of the exact distances that the map, at its best scale, does not show
    landmark_spearman: float
    landmark_stress: float

    @classmethod
    def measure(
        cls, clouds: Sequence[Floats], coordinates: Floats, landmarks: Ints, n_pairs: int = 300
    ) -> LandmarkError:
        """Exact transport between clouds against distances of coordinates."""
        rng = np.random.default_rng(0)
        found = []
        for numbers in (np.arange(len(clouds)), landmarks):
            pairs = random_pairs(numbers, n_pairs, rng)
            exact = transport_of_pairs(clouds, pairs)
            first, second = pairs.T
            shown = np.linalg.norm(coordinates[first] - coordinates[second], axis=1)
            scale = float(shown @ exact) / (float(shown @ shown) or 1.0)
            off = np.linalg.norm(scale * shown - exact) / (np.linalg.norm(exact) or 1.0)
            found += [rank_correlation(shown, exact), float(off)]
        return cls(len(landmarks), len(clouds), n_pairs, *found)

    def __str__(self) -> str:
        return (
            f"The map was drawn from {self.n_landmarks} of {self.n_domains} domains; on "
            f"{self.n_pairs} random pairs its distances follow exact ones with a rank correlation "
            f"of {self.spearman:.3f} (landmarks: {self.landmark_spearman:.3f}) and a stress of "
            f"{self.stress:.3f} ({self.landmark_stress:.3f})."
        )


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


def scaled_index(
    domains: Sequence[Hashable],
    transport: Floats,
    neighbors: Sequence[int],
    index_dim: int,
    reference: Floats | None = None,
) -> tuple[DomainIndex, float]:
    """Distances to a map of unit mean square length, and that unit.

    One scale, not one per axis: the axes' lengths say how much the domains differ along them.
    """
    shown = mean_geodesics(transport, neighbors) if neighbors else transport
    coordinates = classical_scaling(shown, index_dim)
    unit = float(np.sqrt((coordinates**2).sum(axis=1).mean())) or 1.0
    coordinates = coordinates / unit
    if reference is not None:
        coordinates = procrustes_align(coordinates, reference)
    spectrum = scaling_spectrum(shown) / unit**2
    return DomainIndex(tuple(domains), coordinates, shown / unit, spectrum), unit


@dataclass(frozen=True, eq=False)
class DomainMap:
    """Transport between the local indices of the domains, optionally geodesics, and scaling.

    Attributes
    ----------
    index : coordinates of unit mean square length, and the distances they show, in that unit
    transport : (drawn, drawn) distances between the clouds that the map was drawn from: all of the
        fit or, of many, landmarks (`index.landmarks`)
    clouds : the (thinned) local indices of each domain, their levels drawn together
    method : how transport is measured
    neighbors : numbers of neighbours that geodesics pass through, averaged over; may be none
    unit : length in the space of local indices of one unit of the map
    level_share : share of a domain's mean that is kept: below 1, the shapes of centred clouds count
        beside levels that differ much more
    n_added : how many domains, the last ones, were added later; they have no say in where others go
    loop : the ring that the domains lie on; None where the map is open, or was not looked at

    Examples
    --------
    A new domain halfway between two known ones is placed there:

    >>> from domindex.geometry import DomainMap
    >>> cloud = np.random.default_rng(0).normal(size=(30, 1))
    >>> domain_map = DomainMap.fit(["a", "b", "c"], [cloud, cloud + 2, cloud + 4], index_dim=1)
    >>> place = domain_map.locate(cloud + 3)
    >>> bool(np.isclose(place, domain_map.coordinates[1:].mean(), atol=1e-6).all())
    True
    """

    index: DomainIndex
    transport: Floats
    clouds: tuple[Floats, ...]
    method: Method
    neighbors: tuple[int, ...]
    unit: float
    level_share: float = 1.0
    n_added: int = 0
    loop: Loop | None = None

    @classmethod
    def fit(
        cls,
        domains: Sequence[Hashable],
        local_indices: Sequence[Floats],
        index_dim: int,
        *,
        neighbors: Sequence[int] = (),
        level_share: float = 1.0,
        method: Method | None = None,
        reference: Floats | None = None,
        n_jobs: int | None = None,
        landmarks: Ints | None = None,
        most_drawn: int = MAP.max_drawn,
    ) -> DomainMap:
        """Map domains by their local indices, one array (rows, local_dim) each.

        Exact transport while the pairs are few, slices beyond, unless `method` says which.
        `reference` is a map of the same domains that this one is turned onto. Of more than
        `most_drawn` domains the map is drawn from `landmarks`, chosen here where None, and the
        others are placed on it.
        """
        if landmarks is None and len(local_indices) > most_drawn:
            landmarks = choose_landmarks(local_indices, most=most_drawn)
        drawn = np.arange(len(local_indices)) if landmarks is None else landmarks
        names = [domains[number] for number in drawn]
        clouds = _map_clouds([local_indices[number] for number in drawn], level_share)
        method = method or ("exact" if len(clouds) <= MAP.max_exact_domains else "sliced")
        transport = transport_distances(clouds, method=method, n_jobs=n_jobs)
        goal = None if reference is None else reference[drawn]
        index, unit = scaled_index(names, transport, neighbors, index_dim, goal)
        result = cls(index, transport, clouds, method, tuple(neighbors), unit, level_share)
        return result if landmarks is None else result.among(domains, local_indices, landmarks)

    @property
    def coordinates(self) -> Floats:
        """(domains, index_dim)"""
        return self.index.coordinates

    def along(self, neighbors: Sequence[int]) -> DomainMap:
        """The same distances along geodesics through other neighbours; of a map drawn from all."""
        index_dim = self.coordinates.shape[1]
        index, unit = scaled_index(self.index.domains, self.transport, neighbors, index_dim)
        return replace(self, index=index, neighbors=tuple(neighbors), unit=unit)._around(self.loop)

    def closed(self, clouds: Sequence[Floats] | None = None) -> DomainMap:
        """The same map, with the ring that its domains lie on where they do.

        `clouds` are all inputs (rows, features) of each domain: the ring must close there too.
        """
        loop = find_loop(self.transport)
        if loop is not None and clouds is not None:
            drawn = [clouds[number] for number in self.drawn]
            loop = loop if comes_back(loop, drawn) else None
        return self._around(loop)

    def _around(self, loop: Loop | None) -> DomainMap:
        """The same map with this ring; those that were not drawn lie where they belong on it."""
        if loop is None and self.loop is None:
            return self
        closed, angles = replace(self, loop=loop), None
        if loop is not None:
            angles, others = np.empty(len(self.clouds)), self._not_drawn
            angles[self.drawn] = loop.angles
            angles[others] = closed._angles_of_clouds([self.clouds[number] for number in others])
        return replace(closed, index=replace(self.index, angles=angles))

    def among(
        self, domains: Sequence[Hashable], local_indices: Sequence[Floats], landmarks: Ints
    ) -> DomainMap:
        """The same map with all `domains` on it: those it was not drawn from by their distances to
        `landmarks`.
        """
        clouds = _map_clouds(local_indices, self.level_share)
        others = np.setdiff1d(np.arange(len(clouds)), landmarks)
        coordinates = np.empty((len(clouds), self.coordinates.shape[1]))
        shown = np.empty((len(clouds), len(landmarks)))
        coordinates[landmarks], shown[landmarks] = self.coordinates, self.index.distances
        if len(others):
            placed = self._locate_clouds([clouds[number] for number in others], by_landmarks=True)
            coordinates[others], shown[others] = placed
        numbers, eigenvalues = np.array(landmarks), self.index.eigenvalues
        index = DomainIndex(tuple(domains), coordinates, shown, eigenvalues, None, numbers)
        grown = replace(self, index=index, clouds=clouds, loop=None)
        return grown if self.loop is None else grown._around(self.loop)

    def of_landmarks(self) -> DomainMap:
        """The map as it was drawn, without those that were placed on it."""
        drawn, index = self.drawn, self.index
        if index.landmarks is None:
            return self
        part = DomainIndex(
            tuple(index.domains[number] for number in drawn),
            index.coordinates[drawn],
            index.distances[drawn],
            index.eigenvalues,
            None if self.loop is None else self.loop.angles,
        )
        return replace(self, index=part, clouds=self._drawn_clouds, n_added=0)

    def locate(self, local_indices: Floats) -> Floats:
        """Where a new domain with these local indices belongs, (index_dim,). The map stays."""
        return self.locate_all([local_indices])[0]

    def locate_all(self, local_indices: Sequence[Floats]) -> Floats:
        """Where new domains belong, (new, index_dim): each as if it had come alone."""
        if not local_indices:
            return np.empty((0, self.coordinates.shape[1]))
        clouds = _map_clouds(local_indices, self.level_share)
        return self._locate_clouds(clouds, self._by_landmarks)[0]

    def with_domains(self, names: Sequence[Hashable], local_indices: Sequence[Floats]) -> DomainMap:
        """The same map with more domains on it, each where `locate` puts it. Nothing else moves.

        The distances shown are, to an added domain, those it was placed by; between two, of their
        places.
        """
        clouds = _map_clouds(local_indices, self.level_share)
        places, shown = self._locate_clouds(clouds, self._by_landmarks)
        old, spectrum = self.index.distances, self.index.eigenvalues
        if self.index.landmarks is None:
            known = np.hstack([shown, cdist(places, self.coordinates[self.n_fitted :])])
            distances = np.block([[old, known.T], [known, cdist(places, places)]])
            spectrum = np.sort(np.append(spectrum, np.zeros(len(places))))[::-1].copy()
        else:
            distances = np.vstack([old, shown])
        angles = self.index.angles
        if angles is not None:
            angles = np.append(angles, self._angles_of_clouds(clouds))
        index = DomainIndex(
            (*self.index.domains, *names),
            np.vstack([self.coordinates, places]),
            distances,
            spectrum,
            angles,
            self.index.landmarks,
        )
        n_added = self.n_added + len(clouds)
        return replace(self, index=index, clouds=(*self.clouds, *clouds), n_added=n_added)

    @property
    def n_fitted(self) -> int:
        """How many domains, the first ones, are those of the fit."""
        return len(self.clouds) - self.n_added

    @property
    def drawn(self) -> Ints:
        """Numbers of the domains that the map was drawn from: all of the fit, or landmarks."""
        landmarks = self.index.landmarks
        return np.arange(self.n_fitted) if landmarks is None else landmarks

    @property
    def _not_drawn(self) -> Ints:
        return np.setdiff1d(np.arange(len(self.clouds)), self.drawn)

    @property
    def _drawn_clouds(self) -> tuple[Floats, ...]:
        return tuple(self.clouds[number] for number in self.drawn)

    @cached_property
    def landmark_error(self) -> LandmarkError | None:
        """What drawing the map from landmarks costs; None where it was drawn from all."""
        if self.index.landmarks is None:
            return None
        fitted = slice(self.n_fitted)
        clouds, places = self.clouds[fitted], self.coordinates[fitted]
        return LandmarkError.measure(clouds, places, self.index.landmarks)

    @cached_property
    def all_transport(self) -> Floats:
        """(domains, domains) transport distances between all clouds, added ones too; (domains,
        landmarks) where there are any. What the map was not drawn from is measured when this is
        first asked for.
        """
        if len(self.drawn) == len(self.clouds):
            return self.transport
        drawn, others = self._drawn_clouds, self._not_drawn
        rest = [self.clouds[number] for number in others]
        across = transport_to_known(rest, drawn, self.method, at_once=self._by_landmarks)
        if self.index.landmarks is not None:
            result = np.empty((len(self.clouds), len(drawn)))
            result[self.drawn], result[others] = self.transport, across
            return result
        among = transport_distances(rest, method=self.method)
        return np.block([[self.transport, across.T], [across, among]])

    @property
    def _by_landmarks(self) -> bool:
        """Whether distances come from one product, and flat axes of landmarks place nobody."""
        return self.index.landmarks is not None

    def _locate_clouds(self, clouds: Sequence[Floats], by_landmarks: bool) -> tuple[Floats, Floats]:
        """Places (new, index_dim) and the distances (new, drawn) that they show, in map units."""
        widest, reach = None, None
        if self.neighbors:
            widest = max(self.neighbors)
            reach = np.max([one.reach for one in self._paths], axis=0)
        known, method = self._drawn_clouds, self.method
        gaps = transport_to_known(clouds, known, method, widest, reach, at_once=by_landmarks)
        if self.neighbors and by_landmarks:  # thousands, some at a time for memory
            starts = range(0, len(gaps), MAP.block)
            gaps = np.vstack([extend_paths(gaps[n : n + MAP.block], self._paths) for n in starts])
        elif self.neighbors:
            gaps = join_paths(gaps, self.transport, self._paths)
        shown = gaps / self.unit
        # A slice where it can be one: a copy in another layout would round differently.
        drawn = slice(self.n_fitted) if self.index.landmarks is None else self.index.landmarks
        distances = self.index.distances[drawn][:, : len(known)]
        flat_axis = MAP.flat_landmark_axis if by_landmarks else MAP.flat_axis
        return place(shown, self.coordinates[drawn], distances, flat_axis), shown

    @cached_property
    def _paths(self) -> list[KnownPaths]:
        """Geodesics between the domains that the map was drawn from, for each of `neighbors`."""
        return known_paths(self.transport, self.neighbors)

    def angles_of(self, local_indices: Sequence[Floats]) -> Floats | None:
        """The angles (new,) of new domains around the ring; None where the map is open."""
        if self.loop is None:
            return None
        return self._angles_of_clouds(_map_clouds(local_indices, self.level_share))

    def _angles_of_clouds(self, clouds: Sequence[Floats]) -> Floats:
        assert self.loop is not None
        if not clouds:
            return np.empty(0)
        known = self._drawn_clouds
        gaps = transport_to_known(clouds, known, self.method, at_once=self._by_landmarks)
        return np.array([self.loop.locate(gap) for gap in gaps])

    def state(self) -> dict[str, Any]:
        state = {
            "index": self.index.state(),
            "transport": self.transport,
            "clouds": np.concatenate(self.clouds),
            "cloud_sizes": [len(cloud) for cloud in self.clouds],
            "method": self.method,
            "neighbors": list(self.neighbors),
            "unit": float(self.unit),
            "level_share": float(self.level_share),
            "n_added": int(self.n_added),
        }
        return state if self.loop is None else state | {"loop": self.loop.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        index = DomainIndex.from_state(state["index"])
        _check_map_state(state, index)
        sizes, clouds = state["cloud_sizes"], state["clouds"]
        loop = state.get("loop")  # only maps that close have it
        return cls(
            index,
            state["transport"],
            tuple(np.split(clouds, np.cumsum(sizes)[:-1])),
            state["method"],
            tuple(int(number) for number in state["neighbors"]),
            float(state["unit"]),
            float(state["level_share"]),
            state["n_added"],
            None if loop is None else Loop.from_state(loop, state["transport"]),
        )


def _map_clouds(local_indices: Sequence[Floats], level_share: float) -> tuple[Floats, ...]:
    """Thinned clouds (rows, local_dim) with only this share of their means."""
    if level_share != 1.0:
        local_indices = [one - (1.0 - level_share) * one.mean(axis=0) for one in local_indices]
    return tuple(thin(cloud) for cloud in local_indices)


def _check_map_state(state: dict[str, Any], index: DomainIndex) -> None:
    """ValueError where the parts of a `DomainMap.state` do not fit its index."""
    sizes, clouds, n_domains = state["cloud_sizes"], state["clouds"], len(index.domains)
    if state["method"] not in get_args(Method):
        raise ValueError(f"transport is measured by {state['method']!r}")
    if len(sizes) != n_domains or min(sizes) < 1 or sum(sizes) != len(clouds):
        raise ValueError("the clouds do not match the domains")
    n_added = state["n_added"]
    if type(n_added) is not int or not 0 <= n_added < n_domains:
        raise ValueError(f"{n_added} of {n_domains} domains were added")
    landmarks = index.landmarks
    n_drawn = n_domains - n_added if landmarks is None else len(landmarks)
    if landmarks is not None and landmarks[-1] >= n_domains - n_added:
        raise ValueError("a landmark was added to the map that was drawn from it")
    if state["transport"].shape != (n_drawn, n_drawn):
        raise ValueError("the transport distances do not match the domains")
    if not np.isfinite(state["transport"]).all() or not 0.0 < state["unit"] < np.inf:
        raise ValueError("the distances of the map are not usable numbers")
    if any(type(number) is not int or number < 1 for number in state["neighbors"]):
        raise ValueError(f"geodesics pass through {state['neighbors']} neighbours")
