"""Rows brought to one place along the flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from domindex.arrays import Floats
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.flow import AffineFlow
from domindex.geometry.rings import RingCoordinate
from domindex.geometry.subspace import Subspace
from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler
from domindex.representations.base import PlacedRows, Representation, RepresentedRows

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class FlowAligned(Representation):
    """Every domain carried along the map to β = 0 by the flow in closed form.

    Where the map closes, and a flow around the ring describes the domains better, they are carried
    around the ring to the middle of the sources.

    Attributes
    ----------
    scaler : inputs to the scale on which the flow was solved
    subspace : the directions that move, and those that do not
    flow : how the first ones move along the map, or around its ring
    outputs : the aligned rows to zero mean and unit mean variance
    around : the coordinate along the ring that the flow follows; None for the map's own
    """

    name: ClassVar[str] = "flow"
    label: ClassVar[str] = "inputs aligned by the flow"
    change_rank: ClassVar[int | None] = 9
    moves_domains: ClassVar[bool] = True
    scaler: InputScaler
    subspace: Subspace
    flow: AffineFlow
    outputs: InputScaler
    around: RingCoordinate | None = None

    @property
    def ring(self) -> RingCoordinate | None:
        return self.around

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        selected = geometry.selected
        moves = selected.flow.family != "none" or selected.around is not None
        return geometry.has_flow and moves

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        size = geometry.subspace.matrix.shape[1]
        plain = InputScaler(np.zeros(size), np.ones(size))
        flow, around = geometry.selected.flow, geometry.selected.around
        ring = None if around is None else around.ring
        flow = flow if around is None else around.flow
        bare = cls(geometry.scaler, geometry.subspace, flow, plain, ring)
        aligned = bare.align(PlacedRows.of_map(data, geometry.domain_map))
        unit = np.sqrt(aligned.var(axis=0).mean()) or 1.0
        outputs = InputScaler(aligned.mean(axis=0), np.full(size, unit))
        return cls(geometry.scaler, geometry.subspace, flow, outputs, ring)

    def align(self, rows: PlacedRows) -> Floats:
        """(rows, outputs): the moving coordinates at β = 0, then the still ones."""
        scaled = self.scaler.apply_flat(rows.inputs)
        result = scaled @ self.subspace.matrix
        n_moving = self.subspace.n_moving
        if not rows.domains:
            return result
        places = np.stack([domain.place for domain in rows.domains])
        if self.around is not None:
            places = rows.along(self.around)[:, None]
        clouds = [result[domain.rows, :n_moving] for domain in rows.domains]
        for domain, aligned in zip(rows.domains, self.flow.align_all(clouds, places)):
            result[domain.rows, :n_moving] = aligned
        return result

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        return RepresentedRows.plain(self.outputs.apply(self.align(rows)))

    def state(self) -> dict[str, Any]:
        state = {
            "scaler": self.scaler.state(),
            "subspace": self.subspace.state(),
            "flow": self.flow.state(),
            "outputs": self.outputs.state(),
        }
        return state if self.around is None else state | {"around": self.around.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        scaler = InputScaler.from_state(state["scaler"])
        subspace = Subspace.from_state(state["subspace"])
        flow = AffineFlow.from_state(state["flow"])
        outputs = InputScaler.from_state(state["outputs"])
        if subspace.matrix.shape != (len(scaler.offset), len(outputs.offset)):
            raise ValueError("the directions do not fit the scales")
        if flow.generators.shape[1] != subspace.n_moving:
            raise ValueError("the flow does not fit the directions that move")
        around = state.get("around")  # only flows around a ring have it
        ring = None if around is None else RingCoordinate.from_state(around)
        return cls(scaler, subspace, flow, outputs, ring)
