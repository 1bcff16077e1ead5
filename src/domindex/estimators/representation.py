"""Rows as the encoder of z is given them: normalised, then brought to one scale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.data import DomainData
from domindex.data.normalizing import Normalization, NormalizedRows, RowNormalizer
from domindex.data.standardizing import InputScaler

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowRepresentation:
    """Shapes of rows on one scale.

    Attributes
    ----------
    normalizer : tells level, spread and shape
    scaler : shapes to zero mean and unit mean variance
    """

    normalizer: RowNormalizer
    scaler: InputScaler

    @classmethod
    def fit(
        cls, kind: Normalization, data: DomainData, scaler: InputScaler
    ) -> tuple[RowRepresentation, NormalizedRows]:
        """Shapes keep their proportions; rows that stay as they are keep the scale they have."""
        normalizer = RowNormalizer.fit(kind, data)
        rows = normalizer.split(data.inputs, data.row_names)
        if kind == "none":
            return cls(normalizer, scaler), rows
        offset = rows.shapes.mean(axis=0)
        unit = np.sqrt(rows.shapes.var(axis=0).mean()) or 1.0
        return cls(normalizer, InputScaler(offset, np.full_like(offset, unit))), rows

    def apply(self, inputs: NDArray, names: Sequence[Hashable] | None) -> Floats:
        return self.scaler.apply(self.normalizer.split(inputs, names).shapes)
