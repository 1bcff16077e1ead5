"""Pictures and signals brought to one place along a motion of their grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.grid_flow import GridFlow
from domindex.geometry.rings import RingCoordinate
from domindex.inputs import DomainData
from domindex.inputs.layout import InputLayout
from domindex.inputs.standardizing import InputScaler
from domindex.representations.base import PlacedRows, Representation, RepresentedRows

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class GridFlowAligned(Representation):
    """Every domain's pictures moved over their grid, and lit, as they would look at β = 0.

    Where the map closes, and a motion around its ring is better, as they would look in the middle
    of the sources.

    Attributes
    ----------
    layout : how rows are read as pictures or signals
    flow : how they move along the map, or around its ring
    scaler : carried rows to zero mean and unit deviation of their channel
    around : the coordinate along the ring that the flow follows; None for the map's own
    """

    name: ClassVar[str] = "grid_flow"
    label: ClassVar[str] = "inputs moved over their grid"
    change_rank: ClassVar[int | None] = 6
    keeps_grid: ClassVar[bool] = True
    moves_domains: ClassVar[bool] = True
    layout: InputLayout
    flow: GridFlow
    scaler: InputScaler
    around: RingCoordinate | None = None

    @property
    def ring(self) -> RingCoordinate | None:
        return self.around

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Where rows are pictures or signals, and something moves them along the map."""
        if not (data.layout.is_grid and geometry.has_flow):
            return False
        return not geometry.grid_flow(data).flow.is_still

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
        n_features = int(np.prod(layout.shape))
        unscaled = InputScaler(np.zeros(n_features), np.ones(n_features))
        plain = cls(layout, selected.flow, unscaled, selected.ring)
        carried = plain.carry(PlacedRows.of_map(data, geometry.domain_map))
        return replace(plain, scaler=InputScaler.of_channels(carried, layout))

    def carry(self, rows: PlacedRows) -> Floats:
        """(rows, features), in the order of the user's rows."""
        grid = self.layout.to_grid(rows.inputs)
        carried = np.empty(grid.shape)
        places = [domain.place for domain in rows.domains]
        if self.around is not None:
            places = list(rows.along(self.around)[:, None])
        for domain, place in zip(rows.domains, places):
            carried[domain.rows] = self.flow.carry(grid[domain.rows], place)
        return self.layout.from_grid(carried)

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        return RepresentedRows.plain(self.scaler.apply_flat(self.carry(rows)))

    def state(self) -> dict[str, Any]:
        state = {
            "layout": self.layout.state(),
            "flow": self.flow.state(),
            "scaler": self.scaler.state(),
        }
        return state if self.around is None else state | {"around": self.around.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        layout = InputLayout.from_state(state["layout"])
        flow, scaler = GridFlow.from_state(state["flow"]), InputScaler.from_state(state["scaler"])
        if not layout.is_grid or layout.grid_shape != (len(flow.level), *flow.sides):
            raise ValueError("the flow does not fit the shape of the rows")
        if len(scaler.offset) != np.prod(layout.shape):
            raise ValueError("the scale does not fit the shape of the rows")
        around = state.get("around")  # only flows around a ring have it
        if (around is not None) != flow.trend.is_around:
            raise ValueError("the flow does not fit the coordinate that it follows")
        ring = None if around is None else RingCoordinate.from_state(around)
        return cls(layout, flow, scaler, ring)
