"""The map of the domains: distances between their local indices, shown in few dimensions.

The map of many domains is drawn from some of them, landmarks, and the others are placed by their
distances to these, as new domains are. What that costs is measured on random pairs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
    reordering,
    scaling_spectrum,
)
from domindex.geometry.settings import MAP
from domindex.geometry.transport import (
    Method,
    thin,
    transport_distances,
    transport_of_pairs,
    transport_to_known,
)
from domindex.persistence.saved import Saved

if TYPE_CHECKING:
    from typing_extensions import Self


def choose_landmarks(
    clouds: Sequence[Floats], is_source: NDArray[np.bool_] | None = None, most: int = MAP.max_drawn
) -> Ints:
    """The rising numbers of at most `most` of the clouds (rows, features), spread over all as
    k-means++ starts. Sources have their share, and a tenth at least."""
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
    moments = [
        (cloud.mean(axis=0), cloud.std(axis=0), *np.quantile(cloud, (0.1, 0.5, 0.9), axis=0))
        for cloud in clouds
    ]
    summaries = np.stack([np.concatenate(one) for one in moments])
    rng, away = np.random.default_rng(0), np.full(n_clouds, np.inf)
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


@dataclass(frozen=True)
class LandmarkError:
    """How well distances on a map that was drawn from landmarks follow exact transport.

    What placing the others adds is how far the figures of all domains differ from the landmarks'.
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
        rng, found = np.random.default_rng(0), []
        for numbers in (np.arange(len(clouds)), landmarks):
            one = rng.integers(len(numbers), size=n_pairs)  # and a different one
            other = (one + rng.integers(1, len(numbers), size=n_pairs)) % len(numbers)
            first, second = numbers[one], numbers[other]
            exact = transport_of_pairs(clouds, np.stack([first, second], axis=1))
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
    """Distances to a map of unit mean square length over all axes, and that unit."""
    shown = mean_geodesics(transport, neighbors) if neighbors else transport
    coordinates = classical_scaling(shown, index_dim)
    unit = float(np.sqrt((coordinates**2).sum(axis=1).mean())) or 1.0
    coordinates = coordinates / unit
    if reference is not None:
        coordinates = procrustes_align(coordinates, reference)
    spectrum = scaling_spectrum(shown) / unit**2
    return DomainIndex(tuple(domains), coordinates, shown / unit, spectrum), unit


@dataclass(frozen=True, eq=False)
class DomainMap(Saved):
    """Transport between the local indices of the domains, optionally geodesics, and scaling.

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

    index: DomainIndex  # coordinates of unit mean square length, and the distances they show
    transport: Floats  # (drawn, drawn) between the clouds that the map was drawn from
    clouds: tuple[Floats, ...]  # (thinned) local indices, their levels drawn together
    method: Method  # how transport is measured
    neighbors: tuple[int, ...]  # numbers of them that geodesics pass through; may be none
    unit: float  # length in the space of local indices of one unit of the map
    # of a domain's mean that is kept: below 1, shapes count beside levels that differ much more
    level_share: float = 1.0
    n_added: int = 0  # domains, the last ones, that were added later: others do not depend on them
    # the ring that the domains lie on; None where the map is open, or was not looked at
    loop: Loop | None = field(default=None, metadata={"omitted": True})

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
        `most_drawn` domains the map is drawn from `landmarks`, chosen here where None.
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
        """The map with all `domains` on it, others than `landmarks` by distances to these."""
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
        return replace(self, index=index, clouds=clouds)._around(self.loop)

    def in_order(self, names: Sequence[Hashable]) -> DomainMap:
        """The same map, to which none was added, with its domains in this order."""
        order, drawn, _ = reordering(self.index.domains, names, self.index.landmarks)
        loop, among = self.loop, np.ix_(drawn, drawn)
        if loop is not None:
            loop = replace(loop, angles=loop.angles[drawn], distances=loop.distances[among])
        return replace(
            self,
            index=self.index.in_order(names),
            transport=self.transport[among],
            clouds=tuple(self.clouds[number] for number in order),
            loop=loop,
        )

    def of_landmarks(self) -> DomainMap:
        """The map as it was drawn, without those that were placed on it."""
        drawn, index = self.drawn, self.index
        if index.landmarks is None:
            return self
        names = tuple(index.domains[number] for number in drawn)
        shown = (index.coordinates[drawn], index.distances[drawn], index.eigenvalues)
        part = DomainIndex(names, *shown, None if self.loop is None else self.loop.angles)
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
        """The same map with more domains on it, each where `locate` puts it. Nothing else moves."""
        clouds = _map_clouds(local_indices, self.level_share)
        places, shown = self._locate_clouds(clouds, self._by_landmarks)
        old, spectrum, angles = self.index.distances, self.index.eigenvalues, self.index.angles
        if self.index.landmarks is None:  # between two added ones, distances of their places
            known = np.hstack([shown, cdist(places, self.coordinates[self.n_fitted :])])
            distances = np.block([[old, known.T], [known, cdist(places, places)]])
            spectrum = np.sort(np.append(spectrum, np.zeros(len(places))))[::-1].copy()
        else:
            distances = np.vstack([old, shown])
        index = replace(
            self.index,
            domains=(*self.index.domains, *names),
            coordinates=np.vstack([self.coordinates, places]),
            distances=distances,
            eigenvalues=spectrum,
            angles=None if angles is None else np.append(angles, self._angles_of_clouds(clouds)),
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
        clouds, places = self.clouds[: self.n_fitted], self.coordinates[: self.n_fitted]
        return LandmarkError.measure(clouds, places, self.index.landmarks)

    @cached_property
    def all_transport(self) -> Floats:
        """(domains, domains) between all clouds, added ones too; (domains, landmarks) of many."""
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
        widest = max(self.neighbors, default=None)
        reach = np.max([one.reach for one in self._paths], axis=0) if self.neighbors else None
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
        clouds = _map_clouds(local_indices, self.level_share)
        return None if self.loop is None else self._angles_of_clouds(clouds)

    def _angles_of_clouds(self, clouds: Sequence[Floats]) -> Floats:
        assert self.loop is not None
        if not clouds:
            return np.empty(0)
        known = self._drawn_clouds
        gaps = transport_to_known(clouds, known, self.method, at_once=self._by_landmarks)
        return np.array([self.loop.locate(gap) for gap in gaps])

    def state(self) -> dict[str, Any]:
        sizes = [len(cloud) for cloud in self.clouds]
        return super().state() | {"clouds": np.concatenate(self.clouds), "cloud_sizes": sizes}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        rest = dict(state)
        sizes, clouds = rest.pop("cloud_sizes"), state["clouds"]
        if not sizes or min(sizes) < 1 or sum(sizes) != len(clouds):
            raise ValueError("the clouds do not match the domains")
        if rest.get("loop") is not None:  # only maps that close have it
            rest["loop"] = {**rest["loop"], "distances": rest["transport"]}
        parts = np.split(clouds, np.cumsum(sizes)[:-1])
        return super().from_state(rest | {"clouds": dict(zip(map(str, range(len(parts))), parts))})

    def _check_state(self) -> None:
        n_domains, landmarks = len(self.index.domains), self.index.landmarks
        if len(self.clouds) != n_domains:
            raise ValueError("the clouds do not match the domains")
        if not 0 <= self.n_added < n_domains:
            raise ValueError(f"{self.n_added} of {n_domains} domains were added")
        if landmarks is not None and landmarks[-1] >= self.n_fitted:
            raise ValueError("a landmark was added to the map that was drawn from it")
        if self.transport.shape != (len(self.drawn), len(self.drawn)):
            raise ValueError("the transport distances do not match the domains")
        if not np.isfinite(self.transport).all() or not 0.0 < self.unit < np.inf:
            raise ValueError("the distances of the map are not usable numbers")
        if any(number < 1 for number in self.neighbors):
            raise ValueError(f"geodesics pass through {self.neighbors} neighbours")


def _map_clouds(local_indices: Sequence[Floats], level_share: float) -> tuple[Floats, ...]:
    """Thinned clouds (rows, local_dim) with only this share of their means."""
    if level_share != 1.0:
        local_indices = [one - (1.0 - level_share) * one.mean(axis=0) for one in local_indices]
    return tuple(thin(cloud) for cloud in local_indices)
