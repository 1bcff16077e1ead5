"""What inputs alone say of the domains, in closed form: where they differ, the map, the flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from domindex.arrays import Floats, Ints
from domindex.geometry.domain_map import DomainMap, choose_landmarks
from domindex.geometry.flow import (
    Moments,
    SelectedFlow,
    description_length,
    maps_along_neighborhoods,
    select_flow,
    still_flow,
)
from domindex.geometry.grid_selection import SelectedGridFlow, select_grid_flow
from domindex.geometry.rings import RingCoordinate
from domindex.geometry.settings import MAP
from domindex.geometry.subspace import (
    LocalProjection,
    Subspace,
    local_projections,
    moving_directions,
    principal_components,
)
from domindex.geometry.transport import Method
from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler


@dataclass(frozen=True, eq=False)
class DomainGeometry:
    """The closed form of many domains.

    Attributes
    ----------
    scaler : inputs to the scale on which everything below is measured
    map_rows : for each domain, which of its rows the map is drawn from
    subspace : the directions along which domains move, and the others
    projection : where local indices start
    selected : the map of the domains, with the flow along it
    has_flow : whether a flow was looked for; the paper's model has none
    cache : the motion of pictures over their grid, found when it is first asked for
    """

    scaler: InputScaler
    map_rows: tuple[Ints, ...]
    subspace: Subspace
    projection: LocalProjection
    selected: SelectedFlow
    has_flow: bool = True
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

        Of more than `most_drawn` domains all of this is solved on landmarks, and the others are
        placed on the map. `map_rows` numbers the rows within each domain that the map shall rest
        on, all where None. Where u may start along several projections, the one counts whose map,
        measured by slices, describes the principal components of these rows in fewest nats.
        """
        scaler = InputScaler.fit(data)
        clouds = scaled_clouds(data, scaler)
        if map_rows is None:
            map_rows = [np.arange(len(cloud)) for cloud in clouds]
        shown = [cloud[rows] for cloud, rows in zip(clouds, map_rows)]
        drawn = _drawn_domains(data, shown, most_drawn)
        names = [data.domains[number] for number in drawn]
        drawn_clouds = [clouds[number] for number in drawn]
        drawn_shown = [shown[number] for number in drawn]

        def map_of(projection: LocalProjection, method: Method | None) -> DomainMap:
            """The map of projected clouds, without geodesics."""
            local = [cloud @ projection.matrix for cloud in drawn_shown]
            return DomainMap.fit(
                names,
                local,
                index_dim,
                level_share=projection.level_share,
                method=method,
                n_jobs=n_jobs,
                most_drawn=len(names),
            )

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

    @classmethod
    def without_flow(
        cls, data: DomainData, scaler: InputScaler, directions: Floats, domain_map: DomainMap
    ) -> DomainGeometry:
        """Domains on a map that was drawn otherwise, among which nothing moves.

        `directions` (features, local_dim) are those of the local indices.
        """
        clouds = scaled_clouds(data, scaler)
        rows = tuple(np.arange(len(cloud)) for cloud in clouds)
        still = still_flow(Moments.of([cloud @ directions for cloud in clouds]))
        selected = SelectedFlow(still, domain_map, still, float("nan"), {})
        subspace = Subspace(directions, directions.shape[1])
        return cls(scaler, rows, subspace, LocalProjection(directions), selected, has_flow=False)

    def on_map(self, domain_map: DomainMap, data: DomainData) -> DomainGeometry:
        """The same domains on another map, with a flow along that."""
        clouds = scaled_clouds(data, self.scaler)
        shown = [cloud[rows] for cloud, rows in zip(clouds, self.map_rows)]
        domain_map = domain_map.closed(shown)
        moving = [clouds[number] @ self.subspace.moving for number in domain_map.drawn]
        is_source = data.is_source[domain_map.drawn]
        maps = [domain_map.of_landmarks()]
        selected = select_flow(moving, maps, self.moving_origin, is_source)
        selected = replace(selected, domain_map=domain_map)
        return replace(self, selected=selected, has_flow=True, cache={})

    def grid_flow(self, data: DomainData) -> SelectedGridFlow:
        """How pictures or signals move over their grid along the map; found once."""
        if "grid flow" not in self.cache:
            drawn, loop = self.domain_map.drawn, self.domain_map.loop
            around = None
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

    def moving_clouds(self, data: DomainData) -> list[Floats]:
        """The moving coordinates of each domain, (rows, n_moving)."""
        return [cloud @ self.subspace.moving for cloud in scaled_clouds(data, self.scaler)]

    @property
    def moving_origin(self) -> Floats:
        """Where the user's zero lies among the moving coordinates, (n_moving,)."""
        return self.scaler.origin @ self.subspace.moving

    @property
    def domain_map(self) -> DomainMap:
        return self.selected.domain_map


def _drawn_domains(data: DomainData, shown: Sequence[Floats], most: int) -> Ints:
    """Numbers of the domains that the geometry is solved on."""
    if data.n_domains <= most:
        return np.arange(data.n_domains)
    widest = principal_components(np.concatenate(shown), MAP.max_features)
    return choose_landmarks([cloud @ widest for cloud in shown], data.is_source, most)


def scaled_clouds(data: DomainData, scaler: InputScaler) -> list[Floats]:
    """The scaled inputs of each domain, (rows, features)."""
    scaled = scaler.apply_flat(data.inputs)
    return [scaled[rows] for rows in data.rows_by_domain()]
