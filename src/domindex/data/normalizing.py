"""Rows told by a level, a spread and a shape, so that what is learned of shapes holds elsewhere.

x = level + spread · shape. Where outputs share the units of the inputs they are told the same way,
y = level + spread · shape of y, and a prediction is restored with the row's own two numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from domindex.data.domain_data import DomainData
from domindex.data.names import group_rows
from domindex.data.standardizing import SAME_UNITS
from domindex.errors import InputError

Floats = NDArray[np.float64]
Normalization = Literal["none", "row_means", "rows", "domains"]
NORMALIZATIONS: tuple[Normalization, ...] = get_args(Normalization)

LEAST_FEATURES = {"none": 1, "row_means": 2, "rows": 3, "domains": 1}
"""Features below which a normalisation leaves no shape to learn from."""

FLOOR = 1e-2
"""Smallest spread of a row, relative to the spread of all inputs: a flat row is no shape."""


@dataclass(frozen=True, eq=False)
class NormalizedRows:
    """Shapes (rows, features) with the level and spread, (rows, 1) each, that restore them."""

    shapes: Floats
    level: Floats
    spread: Floats

    def part(self, rows: NDArray) -> NormalizedRows:
        """Some of the rows, by number or by mask."""
        return NormalizedRows(self.shapes[rows], self.level[rows], self.spread[rows])

    def normalize(self, values: Floats) -> Floats:
        """Outputs (rows, outputs) in the units of the shapes."""
        return (values - self.level) / self.spread

    def restore(self, values: Floats) -> Floats:
        """Outputs (rows, outputs) in the units of the inputs."""
        return self.level + self.spread * values


@dataclass(frozen=True, eq=False)
class RowNormalizer:
    """Measures level and spread of rows of flattened inputs.

    Attributes
    ----------
    kind : "none" (0 and 1), "row_means" (a row's own mean, and 1), "rows" (its own mean and
        deviation) or "domains" (mean and deviation of all inputs of the row's domain)
    unit : deviation of all inputs that were seen, to which the floor of a spread is relative
    domains : level and spread of every domain that was seen; a new one is measured by its rows
    """

    kind: Normalization
    unit: float
    domains: Mapping[Hashable, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def fit(cls, kind: Normalization, data: DomainData) -> RowNormalizer:
        """Learn the unit, and what domains need; refuse a kind that would leave no shapes."""
        n_features = int(np.prod(data.inputs.shape[1:]))
        if kind not in NORMALIZATIONS:
            raise InputError(f"normalize is {kind!r}. Choose one of {', '.join(NORMALIZATIONS)}.")
        if n_features < LEAST_FEATURES[kind]:
            raise InputError(
                f"normalize={kind!r} needs {LEAST_FEATURES[kind]} features or more, but X has "
                f"{n_features}. Choose normalize='none'."
            )
        unit = float(data.inputs.std()) or 1.0
        if kind != "domains":
            return cls(kind, unit)
        clouds = data.inputs_by_domain()
        stats = {n: _level_and_spread(c, unit) for n, c in zip(data.domains, clouds, strict=True)}
        return cls(kind, unit, stats)

    def split(self, inputs: NDArray, names: Sequence[Hashable] | None = None) -> NormalizedRows:
        """Level, spread and shape of every row; rows without names are one new domain."""
        rows = inputs.reshape(len(inputs), -1).astype(np.float64)
        level, spread = np.zeros((len(rows), 1)), np.ones((len(rows), 1))
        if self.kind in ("row_means", "rows"):
            level = rows.mean(axis=1, keepdims=True)
        if self.kind == "rows":
            spread = np.maximum(rows.std(axis=1, keepdims=True), FLOOR * self.unit)
        if self.kind == "domains":
            for name, members in group_rows(names, len(rows)):
                known = self.domains.get(name) or _level_and_spread(rows[members], self.unit)
                level[members], spread[members] = known
        return NormalizedRows((rows - level) / spread, level, spread)


def _level_and_spread(cloud: NDArray, unit: float) -> tuple[float, float]:
    return float(cloud.mean()), max(float(cloud.std()), FLOOR * unit)


def share_units(data: DomainData) -> bool:
    """Whether inputs and outputs can be measured on one scale: same order, same place.

    Features whose deviations differ by more than a small factor do not share units. Outputs do
    with them if their values lie where the inputs lie, give or take.
    """
    inputs = data.inputs.reshape(data.n_rows, -1).astype(np.float64)
    values = data.labels[data.row_is_source]
    deviations = inputs.std(axis=0)
    centre, spread = inputs.mean(), inputs.std()
    gaps = np.abs(values.mean(axis=0) - centre)
    ratios = values.std(axis=0) / (spread or 1.0)
    return bool(
        deviations.min() > 0
        and deviations.max() <= SAME_UNITS * deviations.min()
        and (gaps <= SAME_UNITS * spread).all()
        and (ratios <= SAME_UNITS).all()
        and (ratios >= 1.0 / SAME_UNITS).any()
    )
