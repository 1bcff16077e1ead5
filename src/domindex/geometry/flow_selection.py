"""Which neighbours the map goes through and which flow runs along it: the shortest description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from domindex.geometry.domain_map import DomainMap
from domindex.geometry.flow import AffineFlow, Moments, solve_flow, still_flow
from domindex.geometry.flow_families import FAMILIES, family_basis
from domindex.geometry.misfit import misfit
from domindex.geometry.neighbors import bridge_components, nearest_links
from domindex.geometry.ring_coordinate import RingCoordinate

Floats = NDArray[np.float64]

FEW_NEIGHBORS = (2, 3, 4, 5)
MOST_NEIGHBORS = 8
DOMAINS_PER_NEIGHBOR = 6
"""Geodesics may pass through one of a few numbers of neighbours, or be averaged over 3 up to a
sixth of the domains, at most 8: one number can make a shortcut that closes a curve, and few of
several do. These were found with the paper's true indices in view; which of them a dataset gets is
decided by its own inputs."""

MAX_FLOW_COMPONENTS = 2
"""Axes of the map along which a flow may run: a third would take seconds; not tuned."""


AROUND = (0,)
"""Stands for "around the ring" where the candidates name the neighbours of a map."""


@dataclass(frozen=True, eq=False)
class RingFlow:
    """A flow along the ring that the domains lie on.

    Attributes
    ----------
    flow : along a single component, the coordinate of `ring`
    ring : from angles to that coordinate
    misfit : of the aligned clouds, as in `SelectedFlow`
    """

    flow: AffineFlow
    ring: RingCoordinate
    misfit: float


@dataclass(frozen=True, eq=False)
class SelectedFlow:
    """The flow of the shortest description, along the map that its neighbours make.

    Attributes
    ----------
    flow : the chosen flow
    domain_map : the map along whose coordinates it runs
    freest : the affine flow along the first component, for inputs that need straightening first
    misfit : of the aligned clouds; about 1 or less where the flow explains all that differs
    candidates : nats to describe the clouds with every (family, neighbours, components) tried
    around : the flow along the ring, where the map closes and that describes the clouds in fewer
        nats than `flow` does; None elsewhere
    """

    flow: AffineFlow
    domain_map: DomainMap
    freest: AffineFlow
    misfit: float
    candidates: dict[tuple[str, tuple[int, ...], int], float]
    around: RingFlow | None = None


def maps_along_neighborhoods(domain_map: DomainMap) -> list[DomainMap]:
    """The same distances along geodesics through few and through more neighbours.

    Of a map that closes, only those that show the ring, if any does.
    """
    n_domains = len(domain_map.coordinates)
    single = [(number,) for number in FEW_NEIGHBORS if number < n_domains - 1] or [(1,)]
    several = tuple(range(3, min(MOST_NEIGHBORS, n_domains // DOMAINS_PER_NEIGHBOR) + 1))
    maps = [domain_map.along(n) for n in (*single, *([several] if len(several) > 1 else []))]
    return [one for one in maps if shows_ring(one)] or maps


def shows_ring(domain_map: DomainMap) -> bool:
    """Whether neighbours around the ring of a closed map are neighbours on it; True if it is open.

    Geodesics through few neighbours may break a ring at any place, and show a line.
    """
    if domain_map.loop is None:
        return True
    order, shown = domain_map.loop.order, domain_map.index.distances
    return bool(shown[order, np.roll(order, -1)].max() <= shown.max() / 2)


def select_flow(
    clouds: Sequence[Floats],
    maps: Sequence[DomainMap],
    origin: Floats | None = None,
    is_source: NDArray[np.bool_] | None = None,
) -> SelectedFlow:
    """Try maps, dimensions and families; keep what describes the clouds in fewest nats.

    `clouds` (rows, p) of each domain are what moves. The description length is the likelihood of
    one cloud carried to all domains, plus ½ log(rows) for each parameter and a nat for each
    domain's place on each axis: a freer flow must earn its freedom. First the map is settled with
    the freest family, then the family and the number of components. `origin` (p,) is where the
    user's zero lies among the clouds: it may well be the centre of a rotation. Where the map
    closes, every family may also run around the ring, cut opposite to the domains that `is_source`
    (domains,) marks.
    """
    with threadpool_limits(limits=1):  # thousands of tiny products, which threads only slow down
        search = _Search(clouds, maps[0].coordinates.shape[1], origin)
        selected = search.run(maps)
        if selected.domain_map.loop is None or is_source is None:
            return selected
        return replace(selected, around=search.run_around(selected, is_source))


def description_length(
    clouds: Sequence[Floats], maps: Sequence[DomainMap], origin: Floats | None = None
) -> float:
    """Nats that the freest flow along the best of the maps needs to describe the clouds."""
    with threadpool_limits(limits=1):
        search = _Search(clouds, maps[0].coordinates.shape[1], origin)
        flows = [search.solve("affine", seen, q) for seen in maps for q in search.components]
    return min(flow.description_length for flow in flows)


class _Search:
    """The flows tried so far, with what each costs."""

    def __init__(self, clouds: Sequence[Floats], index_dim: int, origin: Floats | None) -> None:
        self._clouds, self._origin = clouds, origin
        self._moments = Moments.of(clouds)
        self._candidates: dict[tuple[str, tuple[int, ...], int], float] = {}
        self.components = range(1, min(index_dim, MAX_FLOW_COMPONENTS) + 1)

    def run(self, maps: Sequence[DomainMap]) -> SelectedFlow:
        freest = {
            (number, q): self.solve("affine", seen, q)
            for number, seen in enumerate(maps)
            for q in self.components
        }
        number = min(freest, key=lambda key: freest[key].description_length)[0]
        chosen, n_features = maps[number], self._moments.means.shape[1]
        still = still_flow(self._moments)
        self._candidates["none", chosen.neighbors, 0] = still.description_length
        others = [
            self.solve(family, chosen, q)
            for family in FAMILIES
            for q in self.components
            if family != "affine" and family_basis(family, n_features).size
        ]
        flows = [still, *(freest[number, q] for q in self.components), *others]
        best = min(flows, key=lambda flow: flow.description_length)
        aligned = best.align_all(self._clouds, chosen.coordinates)
        return SelectedFlow(best, chosen, freest[number, 1], misfit(aligned), self._candidates)

    def run_around(self, selected: SelectedFlow, is_source: NDArray[np.bool_]) -> RingFlow | None:
        """The best flow along the ring, if it describes the clouds better than any other."""
        domain_map, n_features = selected.domain_map, self._moments.means.shape[1]
        assert domain_map.loop is not None
        ring = RingCoordinate.opposite(domain_map.loop.angles, is_source)
        along = ring.of(domain_map.loop.angles)[:, None]
        # Neighbours on both sides of the cut are a full turn apart along it.
        links = _links(domain_map) & (np.abs(along - along.T) < np.pi)
        families = [name for name in FAMILIES if family_basis(name, n_features).size]
        flows = [self._solve(name, along, links, AROUND) for name in families]
        best = min(flows, key=lambda flow: flow.description_length)
        if best.description_length >= selected.flow.description_length:
            return None
        return RingFlow(best, ring, misfit(best.align_all(self._clouds, along)))

    def solve(self, family: str, domain_map: DomainMap, n_components: int) -> AffineFlow:
        index = domain_map.coordinates[:, :n_components]
        return self._solve(family, index, _links(domain_map), domain_map.neighbors)

    def _solve(
        self, family: str, index: Floats, links: NDArray[np.bool_], neighbors: tuple[int, ...]
    ) -> AffineFlow:
        flow = solve_flow(index, links, self._moments, family, self._origin)
        length = flow.description_length + index.size
        self._candidates[family, neighbors, index.shape[1]] = length
        return replace(flow, description_length=length)


def _links(domain_map: DomainMap) -> NDArray[np.bool_]:
    """Which domains are neighbours where a flow starts."""
    transport = domain_map.transport
    nearest = nearest_links(transport, min(domain_map.neighbors, default=3))
    return bridge_components(nearest, transport)
