"""Which index and which flow: chosen without any label, by the shortest description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from domindex.geometry.flow import AffineFlow, Moments, solve_flow, still_flow
from domindex.geometry.flow_families import FAMILIES, family_basis
from domindex.geometry.geodesics import geodesic_distances
from domindex.geometry.neighbors import bridge_components, nearest_links
from domindex.geometry.scaling import classical_scaling, unit_scale
from domindex.geometry.transport import thin, transport_distances

NEIGHBORS = (2, 3, 4, 5)
MAX_FLOW_COMPONENTS = 2
N_SHUFFLES = 3

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FlowChoice:
    """The flow of the shortest description, along the map that its neighbours make.

    Attributes
    ----------
    flow : the chosen flow
    n_neighbors : how many neighbours the geodesic distances pass through
    freest : the affine flow along the first component, for inputs that need straightening first
    misfit : `alignment` of the carried clouds over what shuffled rows would give; about 1 or less
        where the flow explains all that differs
    candidates : description length in nats of every (family, n_neighbors, components) tried
    """

    flow: AffineFlow
    n_neighbors: int
    freest: AffineFlow
    misfit: float
    candidates: dict[tuple[str, int, int], float]


def choose_flow(
    clouds: Sequence[Floats],
    distances: Floats,
    index_dim: int = 2,
    origin: Floats | None = None,
) -> FlowChoice:
    """Try neighbourhoods, dimensions and families; keep what describes the clouds in fewest nats.

    The description length is the likelihood of one cloud carried to all domains, plus
    ½ log(rows) for each parameter and a nat for each domain's place on each axis: a freer flow
    must earn its freedom. First the neighbourhood is
    settled with the freest family, then the family and the number of components. `origin` (p,) is
    where the user's zero lies in the clouds' coordinates: it may well be the centre of a rotation.
    """
    with threadpool_limits(limits=1):  # thousands of tiny products, which threads only slow down
        return _choose_flow(clouds, distances, index_dim, origin)


def _choose_flow(
    clouds: Sequence[Floats], distances: Floats, index_dim: int, origin: Floats | None
) -> FlowChoice:
    moments = Moments.of(clouds)
    candidates: dict[tuple[str, int, int], float] = {}
    components = range(1, min(index_dim, MAX_FLOW_COMPONENTS) + 1)

    neighbors = _possible_neighbors(len(clouds))
    maps = {k: _unrolled_index(distances, k, index_dim) for k in neighbors}

    def solve(family: str, n_neighbors: int, n_components: int) -> AffineFlow:
        index, links = maps[n_neighbors]
        flow = solve_flow(index[:, :n_components], links, moments, family, origin)
        places = n_components * len(clouds)
        flow = replace(flow, description_length=flow.description_length + places)
        candidates[family, n_neighbors, n_components] = flow.description_length
        return flow

    freest = {(k, q): solve("affine", k, q) for k in neighbors for q in components}
    n_neighbors = min(freest, key=lambda key: freest[key].description_length)[0]
    flows = [still_flow(moments)]
    candidates["none", n_neighbors, 0] = flows[0].description_length
    flows += [freest[n_neighbors, q] for q in components]
    flows += [
        solve(family, n_neighbors, q)
        for family in FAMILIES
        for q in components
        if family != "affine" and family_basis(family, moments.means.shape[1]).size
    ]
    best = min(flows, key=lambda flow: flow.description_length)
    carried = best.carry_all(clouds, maps[n_neighbors][0])
    return FlowChoice(best, n_neighbors, freest[n_neighbors, 1], misfit(carried), candidates)


def alignment(clouds: Sequence[Floats]) -> float:
    """Mean distance between domains relative to their spread: 0 where all clouds coincide.

    Sliced distances between the clouds, whitened by their pooled covariance, per dimension.
    """
    whiten = whitening(np.concatenate(clouds))
    distances = transport_distances([cloud @ whiten for cloud in clouds], method="sliced")
    return float(distances[np.triu_indices(len(clouds), k=1)].mean() / len(whiten) ** 0.5)


def misfit(clouds: Sequence[Floats]) -> float:
    """`alignment` of the clouds, relative to that of the same rows shuffled over the domains."""
    rng = np.random.default_rng(0)
    clouds = [thin(cloud) for cloud in clouds]
    pooled = np.concatenate(clouds)
    cuts = np.cumsum([len(cloud) for cloud in clouds])[:-1]
    shuffled = [np.split(rng.permutation(pooled), cuts) for _ in range(N_SHUFFLES)]
    floor = float(np.mean([alignment(parts) for parts in shuffled]))
    return alignment(clouds) / (floor or 1.0)


def whitening(points: Floats) -> Floats:
    """W (p, p) such that the rows of points @ W have unit covariance."""
    covariance = np.atleast_2d(np.cov(points.T, bias=True))
    covariance += 1e-9 * (np.trace(covariance) or 1.0) * np.eye(len(covariance))
    return np.linalg.inv(np.linalg.cholesky(covariance)).T


def _unrolled_index(
    distances: Floats, n_neighbors: int, index_dim: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """The index that the map with these neighbours will have, and the graph it passes through."""
    links = bridge_components(nearest_links(distances, n_neighbors), distances)
    geodesics = geodesic_distances(distances, n_neighbors)
    return unit_scale(classical_scaling(geodesics, index_dim))[0], links


def _possible_neighbors(n_domains: int) -> list[int]:
    return [k for k in NEIGHBORS if k < n_domains - 1] or [1]
