"""What inputs alone say of the domains, in closed form: where they differ, the map, the flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, null_space
from scipy.optimize import minimize

from domindex.arrays import Floats, Ints
from domindex.geometry.domain_map import DomainMap, choose_landmarks
from domindex.geometry.flow import (
    SelectedFlow,
    description_length,
    maps_along_neighborhoods,
    select_flow,
)
from domindex.geometry.grid_flow import SelectedGridFlow, select_grid_flow
from domindex.geometry.rings import RingCoordinate
from domindex.geometry.settings import MAP
from domindex.geometry.transport import Method, moments_of, transport_distances, whitening
from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler
from domindex.persistence.saved import Saved


@dataclass(frozen=True, eq=False)
class Subspace(Saved):
    """Features to coordinates: first those along which domains differ, then the others."""

    matrix: Floats  # (features, outputs)
    n_moving: int  # how many of the outputs the flow may move, the first ones

    def _check_state(self) -> None:
        if self.matrix.ndim != 2 or not 0 <= self.n_moving <= self.matrix.shape[1]:
            raise ValueError(f"{self.n_moving} of {self.matrix.shape} directions move")

    @property
    def moving(self) -> Floats:
        """(features, n_moving)"""
        return self.matrix[:, : self.n_moving]

    @property
    def still(self) -> Floats:
        """(features, outputs - n_moving)"""
        return self.matrix[:, self.n_moving :]


def moving_directions(clouds: Sequence[Floats]) -> Subspace:
    """Split the features into what differs between domains and what does not.

    The directions W maximise ½ (log|Wᵀ S W| − Σₖ wₖ log|Wᵀ Sₖ W|), with S the total and Sₖ the
    domains' covariances; their number has the shortest description. One or two features stay.
    """
    n_features = clouds[0].shape[1]
    if n_features <= MAP.fallback_directions:
        return Subspace(np.eye(n_features), n_features)
    reduce = principal_components(np.concatenate(clouds), MAP.max_features)
    reduced = [cloud @ reduce for cloud in clouds]
    spread = _Spread.of(reduced)
    directions = spread.search(min(MAP.max_directions, reduce.shape[1] - 1))
    if directions is None:
        directions = principal_components(np.concatenate(reduced), MAP.fallback_directions)
    # With a complement, all of unit variance and uncorrelated within domains.
    values, vectors = eigh(spread.within)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse_root = (vectors / np.sqrt(values)) @ vectors.T
    own = np.linalg.qr(root @ directions)[0]
    complete = inverse_root @ np.hstack([own, null_space(own.T)])
    return Subspace(reduce @ complete, directions.shape[1])


@dataclass(frozen=True, eq=False)
class _Spread:
    """Covariances (domains, p, p), shrunk to their mean where rows are few, and their weights."""

    covariances: Floats
    within: Floats
    total: Floats
    weights: Floats
    n_rows: float

    @classmethod
    def of(cls, clouds: Sequence[Floats]) -> _Spread:
        sizes, means, own = moments_of(clouds)
        weights = sizes / sizes.sum()
        within = np.einsum("n,nij->ij", weights, own)
        within += 1e-6 * (np.trace(within) / len(within) or 1.0) * np.eye(len(within))
        lean = (len(within) / (sizes + len(within)))[:, None, None]
        residual = means - weights @ means
        between = (residual * weights[:, None]).T @ residual
        return cls((1 - lean) * own + lean * within, within, within + between, weights, sizes.sum())

    def search(self, most: int) -> Floats | None:
        """The directions (p, d) of the shortest description; None where d would exceed `most`."""
        # From those along which means and covariances vary most, relative to the spread within.
        change = self.covariances - np.einsum("n,nij->ij", self.weights, self.covariances)
        inverse = np.linalg.inv(self.within)
        varying = np.einsum("n,nij,jk,nkl->il", self.weights, change, inverse, change)
        start = eigh(self.total - self.within + varying, self.within)[1][:, ::-1]
        lengths, found = [0.0], [np.zeros((len(self.within), 0))]
        for n_directions in range(1, most + 1):
            result = minimize(
                self._negative_gain,
                start[:, :n_directions].ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 200},
            )
            found.append(result.x.reshape(-1, n_directions))
            # ½ log n for each number that describes the directions, and each domain along them
            n_features, n_domains = len(self.within), len(self.weights)
            shared = n_directions * (n_features - n_directions)
            per_domain = n_directions + n_directions * (n_directions + 1) / 2
            of_domains = np.log(self.n_rows / n_domains) * (n_domains - 1) * per_domain
            cost = 0.5 * float(np.log(self.n_rows) * shared + of_domains)
            lengths.append(self.n_rows * result.fun + cost)
        best = int(np.argmin(lengths))
        return None if best == 0 or best == most else found[best]

    def _negative_gain(self, flat: Floats) -> tuple[float, Floats]:
        directions = flat.reshape(len(self.within), -1)
        total, own = self.total @ directions, self.covariances @ directions
        total_inside, own_inside = directions.T @ total, directions.T @ own
        gain = np.linalg.slogdet(total_inside)[1]
        gain -= self.weights @ np.linalg.slogdet(own_inside)[1]
        gradient = total @ np.linalg.inv(total_inside) - np.einsum(
            "n,nij,njk->ik", self.weights, own, np.linalg.inv(own_inside)
        )
        return -0.5 * float(gain), -gradient.ravel()


def principal_components(rows: Floats, most: int) -> Floats:
    """(features, ≤ most): all features as they are, or the widest directions of more.

    Of very many features eigenvectors v = Xᵀu / √λ of XᵀX come from those u of XXᵀ, for memory,
    with X at most 1024 centred rows, spread evenly.
    """
    n_features = rows.shape[1]
    if n_features <= most:
        return np.eye(n_features)
    if n_features <= 2048:
        return eigh(np.cov(rows.T, bias=True))[1][:, ::-1][:, :most]
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), 1024)).round().astype(int)
    centred = rows[chosen] - rows[chosen].mean(axis=0)
    values, vectors = eigh(centred @ centred.T)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    varying = values > len(rows) * np.finfo(np.float64).eps * max(values[0], 0.0)
    if not varying.any():
        return np.eye(n_features, most)
    return centred.T @ (vectors[:, varying] / np.sqrt(values[varying]))


@dataclass(frozen=True, eq=False)
class LocalProjection:
    """u = x · matrix, and how much of a domain's mean counts on the map drawn from it."""

    matrix: Floats  # (features, local_dim)
    level_share: float = 1.0  # see `DomainMap`


def local_projections(
    clouds: Sequence[Floats], subspace: Subspace, local_dim: int | None = None
) -> list[LocalProjection]:
    """Directions in which the domains, clouds (rows, features), may differ: the subspace that
    holds the differences; and, where domains differ reliably in shape, every feature, with levels
    and shapes in balance."""
    moving = subspace.n_moving if local_dim is None else local_dim
    found, balanced = [LocalProjection(subspace.matrix[:, :moving])], _balanced(clouds)
    if balanced is not None:  # all directions where `local_dim` is None
        found.append(replace(balanced, matrix=balanced.matrix[:, :local_dim]))
    return found


def _balanced(clouds: Sequence[Floats]) -> LocalProjection | None:
    """Levels and shapes in balance; None where one of them is all there is."""
    rng = np.random.default_rng(0)
    clouds = [rng.permutation(cloud)[: MAP.shape_rows] for cloud in clouds]
    means = [cloud.mean(axis=0, keepdims=True) for cloud in clouds]
    centred = [cloud - mean for cloud, mean in zip(clouds, means)]
    if _mean_square(means, "sliced") <= _mean_square(centred, "sliced"):
        return None
    matrix = whitening(np.concatenate([cloud / len(cloud) ** 0.5 for cloud in centred]))
    matrix *= (len(clouds) / sum(len(cloud) for cloud in clouds)) ** 0.5
    white = [cloud @ matrix for cloud in centred]
    method: Method = "exact" if len(clouds) <= MAP.shape_domains else "sliced"
    if _reliability(white, method, rng) <= MAP.reliable_shapes:
        return None
    levels = np.concatenate([mean @ matrix for mean in means])
    share = np.sqrt(min(1.0, _mean_square(white, method) / _mean_square(levels[:, None], method)))
    widest_first = np.linalg.svd(levels - levels.mean(axis=0))[2].T
    return LocalProjection(matrix @ widest_first, float(share))


def _mean_square(clouds: Sequence[Floats] | Floats, method: Method) -> float:
    return float((transport_distances(list(clouds), method=method) ** 2).mean())


def _reliability(clouds: Sequence[Floats], method: Method, rng: np.random.Generator) -> float:
    """Correlation of the distances between random halves of every domain, averaged."""
    if len(clouds) < 4 or min(len(cloud) for cloud in clouds) < 4:
        return 0.0
    pairs = np.triu_indices(len(clouds), 1)
    correlations = []
    for _ in range(MAP.halvings):
        halves = [np.array_split(rng.permutation(cloud), 2) for cloud in clouds]
        sides = [[half - half.mean(axis=0) for half in side] for side in zip(*halves)]
        first, second = (transport_distances(side, method)[pairs] for side in sides)
        if first.std() > 0 and second.std() > 0:
            correlations.append(float(np.corrcoef(first, second)[0, 1]))
    return float(np.mean(correlations)) if correlations else 0.0


@dataclass(frozen=True, eq=False)
class DomainGeometry:
    """The closed form of many domains."""

    scaler: InputScaler  # inputs to the scale on which everything below is measured
    map_rows: tuple[Ints, ...]  # for each domain, which of its rows the map is drawn from
    subspace: Subspace
    projection: LocalProjection  # where local indices start
    selected: SelectedFlow  # the map of the domains, with the flow along it
    # the motion of pictures over their grid, found when it is first asked for
    cache: dict[str, SelectedGridFlow] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        data: DomainData,
        index_dim: int = 2,
        *,
        map_rows: Sequence[Ints] | None = None,
        local_dim: int | None = None,
        n_jobs: int | None = None,
        most_drawn: int = MAP.max_drawn,
    ) -> DomainGeometry:
        """Find where the domains differ, map them along geodesics, and solve for the flow.

        Of more than `most_drawn` domains all of this is solved on landmarks. `map_rows` numbers the
        rows within each domain that the map shall rest on, all where None. Of several projections
        that u may start along, the map of one describes these rows in fewest nats.
        """
        scaler = InputScaler.fit(data)
        clouds = scaled_clouds(data, scaler)
        if map_rows is None:
            map_rows = [np.arange(len(cloud)) for cloud in clouds]
        shown = [cloud[rows] for cloud, rows in zip(clouds, map_rows)]
        drawn = np.arange(data.n_domains)
        if data.n_domains > most_drawn:
            widest = principal_components(np.concatenate(shown), MAP.max_features)
            reduced = [cloud @ widest for cloud in shown]
            drawn = choose_landmarks(reduced, data.is_source, most_drawn)
        names = [data.domains[number] for number in drawn]
        drawn_clouds = [clouds[number] for number in drawn]
        drawn_shown = [shown[number] for number in drawn]

        def map_of(projection: LocalProjection, method: Method | None) -> DomainMap:
            """The map of projected clouds, without geodesics."""
            local = [cloud @ projection.matrix for cloud in drawn_shown]
            how: dict[str, Any] = {"method": method, "n_jobs": n_jobs, "most_drawn": len(names)}
            share = projection.level_share
            return DomainMap.fit(names, local, index_dim, level_share=share, **how)

        subspace = moving_directions(drawn_clouds)
        projections = local_projections(drawn_shown, subspace, local_dim)
        projection = projections[0]
        if len(projections) > 1:
            widest = principal_components(np.concatenate(drawn_shown), MAP.described_components)
            described = [cloud @ widest for cloud in drawn_shown]
            maps = [maps_along_neighborhoods(map_of(one, "sliced")) for one in projections]
            lengths = [description_length(described, one, scaler.origin @ widest) for one in maps]
            projection = projections[int(np.argmin(lengths))]
        chosen = maps_along_neighborhoods(map_of(projection, None).closed(drawn_shown))
        moving = [cloud @ subspace.moving for cloud in drawn_clouds]
        origin, is_source = scaler.origin @ subspace.moving, data.is_source[drawn]
        selected = select_flow(moving, chosen, origin, is_source)
        if len(drawn) < data.n_domains:
            local = [cloud @ projection.matrix for cloud in shown]
            grown = selected.domain_map.among(data.domains, local, drawn)
            selected = replace(selected, domain_map=grown)
        return cls(scaler, tuple(map_rows), subspace, projection, selected)

    def on_map(self, domain_map: DomainMap, data: DomainData) -> DomainGeometry:
        """The same domains on another map, with a flow along that."""
        clouds = scaled_clouds(data, self.scaler)
        shown = [cloud[rows] for cloud, rows in zip(clouds, self.map_rows)]
        domain_map = domain_map.closed(shown)
        drawn, maps = domain_map.drawn, [domain_map.of_landmarks()]
        moving = [clouds[number] @ self.subspace.moving for number in drawn]
        selected = select_flow(moving, maps, self.moving_origin, data.is_source[drawn])
        selected = replace(selected, domain_map=domain_map)
        return replace(self, selected=selected, cache={})

    def grid_flow(self, data: DomainData) -> SelectedGridFlow:
        """How pictures or signals move over their grid along the map; found once."""
        if "grid flow" not in self.cache:
            drawn, loop, around = self.domain_map.drawn, self.domain_map.loop, None
            if loop is not None:
                ring = RingCoordinate.opposite(loop.angles, data.is_source[drawn])
                around = (ring, loop.angles)
            rows = np.flatnonzero(np.isin(data.row_domains, drawn))
            self.cache["grid flow"] = select_grid_flow(
                data.layout.to_grid(data.inputs[rows]),
                np.searchsorted(drawn, data.row_domains[rows]),
                self.domain_map.coordinates[drawn],
                self.domain_map.transport,
                around=around,
            )
        return self.cache["grid flow"]

    @property
    def moving_origin(self) -> Floats:
        """Where the user's zero lies among the moving coordinates, (n_moving,)."""
        return self.scaler.origin @ self.subspace.moving

    @property
    def domain_map(self) -> DomainMap:
        return self.selected.domain_map


def scaled_clouds(data: DomainData, scaler: InputScaler) -> list[Floats]:
    """The scaled inputs of each domain, (rows, features)."""
    scaled = scaler.apply_flat(data.inputs)
    return [scaled[rows] for rows in data.rows_by_domain()]
