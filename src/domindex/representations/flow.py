"""Rows brought to one place along the flow: of features, or of a picture's or signal's grid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry, Subspace
from domindex.geometry.flow import AffineFlow
from domindex.geometry.grid_flow import GridFlow
from domindex.geometry.rings import RingCoordinate
from domindex.inputs import DomainData
from domindex.inputs.domain_data import InputLayout
from domindex.inputs.standardizing import InputScaler
from domindex.persistence.saved import Saved
from domindex.representations.base import (
    KnownDomainForm,
    PlacedRows,
    Representation,
    RepresentedRows,
)

if TYPE_CHECKING:
    from typing_extensions import Self


AROUND = {"key": "around", "omitted": True}  # only flows around a ring have one


@dataclass(frozen=True, eq=False)
class FlowAligned(Saved, Representation):
    """Every domain aligned along the map to β = 0 by the flow in closed form; or around its ring
    to the middle of the sources, where that describes the domains better."""

    name = "flow"
    label = "inputs aligned by the flow"
    change_rank = 9
    moves_domains = True
    scaler: InputScaler  # inputs to the scale on which the flow was solved
    subspace: Subspace  # the directions that move, and those that do not
    flow: AffineFlow  # how the first ones move along the map, or around its ring
    outputs: InputScaler  # aligned rows to zero mean and unit mean variance
    # What the flow follows; None for the map's own axes.
    ring: RingCoordinate | None = field(default=None, metadata=AROUND)

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        selected = geometry.selected
        return selected.flow.family != "none" or selected.around is not None

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        size = geometry.subspace.matrix.shape[1]
        selected, around = geometry.selected, geometry.selected.around
        flow, ring = (selected.flow, None) if around is None else (around.flow, around.ring)
        bare = cls(geometry.scaler, geometry.subspace, flow, InputScaler.plain(size), ring)
        aligned = bare.align(PlacedRows.of_map(data, geometry.domain_map))
        unit = np.sqrt(aligned.var(axis=0).mean()) or 1.0
        return replace(bare, outputs=InputScaler(aligned.mean(axis=0), np.full(size, unit)))

    def align(self, rows: PlacedRows) -> Floats:
        """(rows, outputs): the moving coordinates at β = 0, then the still ones."""
        result = self.scaler.apply_flat(rows.inputs) @ self.subspace.matrix
        if not rows.domains:
            return result
        n_moving = self.subspace.n_moving
        clouds = [result[domain.rows, :n_moving] for domain in rows.domains]
        aligned_clouds = self.flow.align_all(clouds, rows.places(self.ring))
        for domain, aligned in zip(rows.domains, aligned_clouds):
            result[domain.rows, :n_moving] = aligned
        return result

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        return RepresentedRows.plain(self.outputs.apply(self.align(rows)))

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        maps = self.flow.maps(places.places(self.ring))
        shifts = np.zeros((len(maps), self.subspace.matrix.shape[1]))
        shifts[:, : self.subspace.n_moving] = maps[:, :-1, -1]
        return KnownDomainForm(
            self.scaler,
            matrix=self.subspace.matrix,
            matrices=maps[:, :-1, :-1].transpose(0, 2, 1),
            shifts=shifts,
            outputs=self.outputs,
        )

    def _check_state(self) -> None:
        if self.subspace.matrix.shape != (len(self.scaler.offset), len(self.outputs.offset)):
            raise ValueError("the directions do not fit the scales")
        if self.flow.generators.shape[1] != self.subspace.n_moving:
            raise ValueError("the flow does not fit the directions that move")


@dataclass(frozen=True, eq=False)
class GridFlowAligned(Saved, Representation):
    """Every domain's pictures moved over their grid, and lit, as they would look at β = 0; or in
    the middle of the sources, where a motion around the ring is better."""

    name = "grid_flow"
    label = "inputs moved over their grid"
    change_rank = 6
    keeps_grid = True
    moves_domains = True
    layout: InputLayout  # how rows are read as pictures or signals
    flow: GridFlow
    scaler: InputScaler  # aligned rows to zero mean and unit deviation of their channel
    ring: RingCoordinate | None = field(default=None, metadata=AROUND)

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Where rows are pictures or signals, and something moves them along the map."""
        return data.layout.is_grid and not geometry.grid_flow(data).flow.is_still

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        layout = data.layout
        if not layout.is_grid:
            raise InputError(
                f"The representation {cls.name!r} is for pictures and signals, but rows of shape "
                f"{data.inputs.shape[1:]} are read as a table. Say what they are with inputs=, or "
                "choose another representation."
            )
        selected = geometry.grid_flow(data)
        bare = cls(
            layout, selected.flow, InputScaler.plain(int(np.prod(layout.shape))), selected.ring
        )
        aligned = bare.align(PlacedRows.of_map(data, geometry.domain_map))
        return replace(bare, scaler=InputScaler.of_channels(aligned, layout))

    def align(self, rows: PlacedRows) -> Floats:
        """(rows, features), in the order of the user's rows."""
        grid = self.layout.to_grid(rows.inputs)
        aligned = np.empty(grid.shape)
        for domain, place in zip(rows.domains, rows.places(self.ring)):
            aligned[domain.rows] = self.flow.carry(grid[domain.rows], place)
        return self.layout.from_grid(aligned)

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        return RepresentedRows.plain(self.scaler.apply_flat(self.align(rows)))

    def _check_state(self) -> None:
        layout, flow = self.layout, self.flow
        if not layout.is_grid or layout.grid_shape != (len(flow.level), *flow.sides):
            raise ValueError("the flow does not fit the shape of the rows")
        if len(self.scaler.offset) != np.prod(layout.shape):
            raise ValueError("the scale does not fit the shape of the rows")
        if (self.ring is not None) != flow.trend.is_around:
            raise ValueError("the flow does not fit the coordinate that it follows")
