"""Rows as a level, a spread and a shape of their own, so that a rule on shapes carries over.

x = level + spread · shape. Where outputs share the units of the inputs they are split the same way,
y = level + spread · shape of y, and a prediction is restored with the row's own two numbers
(reversible instance normalisation).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData
from domindex.inputs.standardizing import SAME_UNITS, InputScaler
from domindex.representations.base import PlacedRows, Representation, RepresentedRows

if TYPE_CHECKING:
    from typing_extensions import Self


SPREAD_FLOOR = 1e-2
"""Smallest spread of a row or a domain, relative to that of all inputs: what is flat has no shape.
Set for numerical safety, on no dataset."""


@dataclass(frozen=True, eq=False)
class Shapes(Representation):
    """Rows minus a level, over a spread, then brought to one scale; outputs go the same way.

    Attributes
    ----------
    unit : deviation of all inputs that were seen, to which the floor of a spread is relative
    scaler : shapes to zero mean and unit mean variance
    """

    least_features: ClassVar[int] = 1
    unit: float
    scaler: InputScaler

    @property
    def spread_unit(self) -> float:
        return self.unit

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Where features share their units, and values to be predicted share them too.

        A class may depend on what of two features is lost with their level: three are the least.
        """
        n_features = int(np.prod(data.inputs.shape[1:]))
        if data.task == "classification":
            return n_features >= 3 and inputs_share_units(data)
        return n_features >= cls.least_features and outputs_share_units(data)

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        return cls.of(data)

    @classmethod
    def of(cls, data: DomainData) -> Self:
        """Shapes keep their proportions: one unit for all features."""
        n_features = int(np.prod(data.inputs.shape[1:]))
        if n_features < cls.least_features:
            raise InputError(
                f"The representation {cls.name!r} needs {cls.least_features} features or more, "
                f"but X has {n_features}. Choose 'raw'."
            )
        flat = InputScaler(np.zeros(n_features), np.ones(n_features))
        measured = cls.measure(data)
        bare = cls(float(data.inputs.std()) or 1.0, flat, **measured)
        shapes = bare.apply(PlacedRows.of_data(data)).features
        offset, unit = shapes.mean(axis=0), np.sqrt(shapes.var(axis=0).mean()) or 1.0
        return cls(bare.unit, InputScaler(offset, np.full_like(offset, unit)), **measured)

    @classmethod
    def measure(cls, data: DomainData) -> dict[str, Any]:
        """What a subclass learns besides."""
        return {}

    @abstractmethod
    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        """(rows, 1) each."""

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        level, spread = self.level_and_spread(rows)
        shapes = self.scaler.apply_flat((rows.features - level) / spread)
        return RepresentedRows(shapes, level, spread)

    def state(self) -> dict[str, Any]:
        return {"unit": float(self.unit), "scaler": self.scaler.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        unit = float(state["unit"])
        if not 0.0 < unit < np.inf:
            raise ValueError(f"the unit of the inputs is {unit}")
        return cls(unit, InputScaler.from_state(state["scaler"]))


class RowCentred(Shapes):
    """Each row minus its own mean."""

    name: ClassVar[str] = "row_centred"
    label: ClassVar[str] = "rows minus their own mean"
    change_rank: ClassVar[int | None] = 1
    may_balance: ClassVar[bool] = True
    least_features: ClassVar[int] = 2

    @property
    def spread_unit(self) -> float:
        return 1.0

    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        level = rows.features.mean(axis=1, keepdims=True)
        return level, np.ones_like(level)


class RowStandardised(Shapes):
    """Each row minus its own mean, over its own deviation."""

    name: ClassVar[str] = "row_standardised"
    label: ClassVar[str] = "rows standardised one by one"
    change_rank: ClassVar[int | None] = 2
    may_balance: ClassVar[bool] = True
    least_features: ClassVar[int] = 3

    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        features = rows.features
        spread = np.maximum(features.std(axis=1, keepdims=True), SPREAD_FLOOR * self.unit)
        return features.mean(axis=1, keepdims=True), spread


def inputs_share_units(data: DomainData) -> bool:
    """Whether the features' deviations differ by no more than a small factor."""
    deviations = data.inputs.reshape(data.n_rows, -1).astype(np.float64).std(axis=0)
    return bool(deviations.min() > 0 and deviations.max() <= SAME_UNITS * deviations.min())


def outputs_share_units(data: DomainData) -> bool:
    """Whether inputs and outputs can be measured on one scale: same order, same place.

    Outputs share the inputs' units if these share theirs and the outputs' values lie where the
    inputs lie, give or take.
    """
    values = data.labels[data.row_is_source]
    centre, spread = float(data.inputs.mean()), float(data.inputs.std())
    gaps = np.abs(values.mean(axis=0) - centre)
    ratios = values.std(axis=0) / (spread or 1.0)
    return bool(
        inputs_share_units(data)
        and (gaps <= SAME_UNITS * spread).all()
        and (ratios <= SAME_UNITS).all()
        and (ratios >= 1.0 / SAME_UNITS).any()
    )
