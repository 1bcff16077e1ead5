"""Rows as they are, on one scale: alone, or beside the place of their domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData
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


@dataclass(frozen=True, eq=False)
class Raw(Saved, Representation):
    """A rule on the inputs themselves: right where only their mix differs between domains."""

    name = "raw"
    label = "raw inputs"
    is_plain = True
    change_rank: ClassVar[int | None] = 0
    may_balance = True
    keeps_grid = True
    scaler: InputScaler

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        if data.layout.is_grid:
            return cls(InputScaler.of_channels(data.inputs, data.layout))
        return cls(geometry.scaler)

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        return RepresentedRows.plain(self.scaler.apply_flat(rows.inputs))

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        return KnownDomainForm(self.scaler)


@dataclass(frozen=True, eq=False)
class WithIndex(Raw):
    """The inputs and β side by side: a rule may follow the domains along the map.

    Where the map closes, cos and sin of the angle stand beside β (`closes`).
    """

    name = "with_index"
    label = "features + domain index"
    is_plain = False
    separability_of = "raw"
    change_rank = None
    may_balance = False
    keeps_grid = False
    closes: bool = field(default=False, metadata={"omitted": True})

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        return cls(geometry.scaler, geometry.domain_map.loop is not None)

    @classmethod
    def n_places(cls, geometry: DomainGeometry) -> int:
        domain_map = geometry.domain_map
        return domain_map.coordinates.shape[1] + (2 if domain_map.loop is not None else 0)

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        return RepresentedRows.plain(np.hstack([scaled, *self._places(rows)]))

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        return KnownDomainForm(self.scaler, beside=np.hstack(self._places(places)))

    def _places(self, rows: PlacedRows) -> list[np.ndarray]:
        return [rows.index, rows.directions] if self.closes else [rows.index]
