"""Rows relative to their domain: its level, and its spread, taken out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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
from domindex.representations.row_normalised import (
    SPREAD_FLOOR,
    RowCentred,
    RowStandardised,
    Shapes,
)

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class DomainScaled(Shapes):
    """Rows minus the mean of all inputs of their domain, over the deviation of all of them.

    One level and one spread a domain, for features that share their units, and outputs with them.
    A new domain is measured by its rows.
    """

    name: ClassVar[str] = "domain_scaled"
    label: ClassVar[str] = "inputs scaled by domain"
    change_rank: ClassVar[int | None] = 4
    may_balance: ClassVar[bool] = True
    moves_domains: ClassVar[bool] = True
    domains: Mapping[Hashable, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def measure(cls, data: DomainData) -> dict[str, Any]:
        unit = float(data.inputs.std()) or 1.0
        clouds = data.inputs_by_domain()
        return {"domains": {n: _one_level(c, unit) for n, c in zip(data.domains, clouds)}}

    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        features = rows.features
        known = [
            self.domains.get(domain.name) or _one_level(features[domain.rows], self.unit)
            for domain in rows.domains
        ]
        both = rows.spread([np.array(pair) for pair in known])
        return both[:, :1], both[:, 1:]

    def with_domains(self, rows: PlacedRows) -> Self:
        features = rows.features
        new = {n: _one_level(features[members], self.unit) for n, members, _ in rows.domains}
        return replace(self, domains={**self.domains, **new})

    def state(self) -> dict[str, Any]:
        table = np.array(list(self.domains.values()), dtype=np.float64)
        return {**super().state(), "names": tuple(self.domains), "levels": table}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        pairs = [(float(level), float(spread)) for level, spread in state["levels"]]
        domains = dict(zip(require_distinct(state["names"]), pairs, strict=True))
        if not all(np.isfinite(level) and 0 < spread < np.inf for level, spread in pairs):
            raise ValueError("the levels of the domains are not usable numbers")
        return replace(super().from_state(state), domains=domains)


def level_of(cloud: Floats) -> Floats:
    """(features,) means of rows (n, features), exact where all rows have the same value.

    A mean that is off by rounding would leave crumbs of 1e-17 where nothing varies, and a learner
    that brings features to one scale would take them for a feature, which in the next domain is a
    real one and 1e17 times as large.
    """
    constant = (cloud == cloud[:1]).all(axis=0)
    return np.where(constant, cloud[0], cloud.mean(axis=0))


SHAPES: tuple[type[Shapes], ...] = (RowCentred, RowStandardised, DomainScaled)
"""Representations by shape, for outputs that share the units of the inputs."""


@dataclass(frozen=True, eq=False)
class DomainCentred(Representation):
    """Every feature minus its mean in the row's domain; outputs stay as they are.

    Attributes
    ----------
    scaler : inputs to one scale, before domains are taken out
    offsets, scales : of each domain that was seen, (features,) each; a new one has its own rows'
    """

    name: ClassVar[str] = "domain_centred"
    label: ClassVar[str] = "domain-centred inputs"
    change_rank: ClassVar[int | None] = 3
    moves_domains: ClassVar[bool] = True
    scaler: InputScaler
    offsets: Mapping[Hashable, Floats]
    scales: Mapping[Hashable, Floats]

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        return cls.of(data, geometry.scaler)

    @classmethod
    def of(cls, data: DomainData, scaler: InputScaler) -> Self:
        """From inputs on one scale."""
        scaled = scaler.apply_flat(data.inputs)
        clouds = dict(zip(data.domains, (scaled[rows] for rows in data.rows_by_domain())))
        return cls(
            scaler,
            {name: level_of(cloud) for name, cloud in clouds.items()},
            {name: cls.scale_of(cloud) for name, cloud in clouds.items()},
        )

    @staticmethod
    def scale_of(cloud: Floats) -> Floats:
        return np.ones(cloud.shape[1])

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        result = np.empty_like(scaled)
        for name, members, _ in rows.domains:
            cloud = scaled[members]
            offset = self.offsets[name] if name in self.offsets else level_of(cloud)
            scale = self.scales[name] if name in self.scales else self.scale_of(cloud)
            result[members] = (cloud - offset) / scale
        return RepresentedRows.plain(result)

    def with_domains(self, rows: PlacedRows) -> Self:
        scaled = self.scaler.apply_flat(rows.inputs)
        clouds = {name: scaled[members] for name, members, _ in rows.domains}
        return replace(
            self,
            offsets={**self.offsets, **{n: level_of(c) for n, c in clouds.items()}},
            scales={**self.scales, **{n: self.scale_of(c) for n, c in clouds.items()}},
        )

    def state(self) -> dict[str, Any]:
        return {
            "scaler": self.scaler.state(),
            "names": tuple(self.offsets),
            "offsets": np.stack(list(self.offsets.values())),
            "scales": np.stack(list(self.scales.values())),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        scaler, names = InputScaler.from_state(state["scaler"]), require_distinct(state["names"])
        if state["offsets"].shape != (len(names), len(scaler.offset)):
            raise ValueError("the offsets do not fit the domains")
        if state["scales"].shape != state["offsets"].shape or not (state["scales"] > 0).all():
            raise ValueError("the scales do not fit the domains")
        return cls(scaler, dict(zip(names, state["offsets"])), dict(zip(names, state["scales"])))


class DomainStandardised(DomainCentred):
    """Every feature minus its mean in the row's domain, over its deviation there."""

    name: ClassVar[str] = "domain_standardised"
    label: ClassVar[str] = "domain-standardised inputs"
    change_rank: ClassVar[int | None] = 5
    may_balance: ClassVar[bool] = True

    @staticmethod
    def scale_of(cloud: Floats) -> Floats:
        deviation = cloud.std(axis=0)
        return np.where(deviation > SPREAD_FLOOR, deviation, 1.0)


class WithMeans(DomainCentred):
    """The inputs beside their means in the row's domain: a rule may follow each domain's level."""

    name: ClassVar[str] = "with_means"
    label: ClassVar[str] = "features + means of the domain"
    separability_of: ClassVar[str | None] = "raw"
    change_rank: ClassVar[int | None] = None
    mixes_cells: ClassVar[bool] = True
    moves_domains: ClassVar[bool] = False

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        means = rows.spread(
            [
                self.offsets[name] if name in self.offsets else level_of(scaled[members])
                for name, members, _ in rows.domains
            ]
        )
        return RepresentedRows.plain(np.hstack([scaled, means]))


def _one_level(cloud: NDArray, unit: float) -> tuple[float, float]:
    return float(cloud.mean()), max(float(cloud.std()), SPREAD_FLOOR * unit)
