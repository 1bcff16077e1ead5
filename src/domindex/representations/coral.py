"""The sources as a whole made to look like the targets as a whole, to second moments."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.covariance import ledoit_wolf

from domindex.arrays import Floats
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler
from domindex.representations.base import (
    PlacedRows,
    Representation,
    RepresentedRows,
    require_distinct,
)
from domindex.representations.domain_whitened import matrix_power, with_ridge

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class Coral(Representation):
    """Correlation alignment: source rows whitened together and coloured like all target rows.

    Targets, and domains never seen, stay as they are. Covariances are shrunk as Ledoit and Wolf
    have it.

    Attributes
    ----------
    scaler : inputs to one scale
    sources : names of the domains whose rows are moved
    source_mean, target_mean : (p,) each
    matrix : (p, p), what takes centred source rows to centred target rows
    """

    name: ClassVar[str] = "coral"
    label: ClassVar[str] = "inputs aligned by CORAL"
    change_rank: ClassVar[int | None] = 7
    mixes_cells: ClassVar[bool] = True
    moves_domains: ClassVar[bool] = True
    uses_roles: ClassVar[bool] = True
    scaler: InputScaler
    sources: frozenset[Hashable]
    source_mean: Floats
    target_mean: Floats
    matrix: Floats

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        return bool((~data.is_source).any())

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        scaled = geometry.scaler.apply_flat(data.inputs)
        sources, targets = scaled[data.row_is_source], scaled[~data.row_is_source]
        if not len(targets):
            targets = sources
        whitening = matrix_power(_covariance(sources), -0.5)
        return cls(
            geometry.scaler,
            frozenset(data.source_domains),
            sources.mean(axis=0),
            targets.mean(axis=0),
            whitening @ matrix_power(_covariance(targets), 0.5),
        )

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        for name, members, _ in rows.domains:
            if name in self.sources:
                centred = scaled[members] - self.source_mean
                scaled[members] = centred @ self.matrix + self.target_mean
        return RepresentedRows.plain(scaled)

    def state(self) -> dict[str, Any]:
        return {
            "scaler": self.scaler.state(),
            "names": tuple(sorted(self.sources, key=repr)),
            "source_mean": self.source_mean,
            "target_mean": self.target_mean,
            "matrix": self.matrix,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        scaler, names = InputScaler.from_state(state["scaler"]), require_distinct(state["names"])
        size = scaler.offset.shape
        if state["source_mean"].shape != size or state["target_mean"].shape != size:
            raise ValueError("the means do not fit the scale")
        if state["matrix"].shape != size * 2:
            raise ValueError("the matrix does not fit the scale")
        return cls(
            scaler, frozenset(names), state["source_mean"], state["target_mean"], state["matrix"]
        )


def _covariance(rows: Floats) -> Floats:
    if len(rows) < 2:
        return np.eye(rows.shape[1])
    return with_ridge(ledoit_wolf(rows)[0])
