"""Rows relative to their domain: its level, its spread and its correlations taken out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.linalg import eigh

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

if TYPE_CHECKING:
    from typing_extensions import Self


MOST_NUMBERS = 20_000_000
"""Of all domains' matrices together: for memory, not tuned."""

RIDGE = 1e-3
"""Share of the mean variance added to every direction: what is flat stays flat. Numerical safety,
not tuned."""


@dataclass(frozen=True, eq=False)
class DomainWhitened(Representation):
    """Every domain centred, whitened by its covariance, and coloured like the domains' average.

    A covariance of few rows is drawn towards the average within domains: n rows of p features count
    n / (n + p).

    Attributes
    ----------
    scaler : inputs to one scale, before domains are taken out
    within : (p, p), the average covariance within domains
    offsets, matrices : of each domain that was seen, (p,) and (p, p); a new one has its own rows'
    """

    name: ClassVar[str] = "domain_whitened"
    label: ClassVar[str] = "domain-whitened inputs"
    change_rank: ClassVar[int | None] = 8
    mixes_cells: ClassVar[bool] = True
    moves_domains: ClassVar[bool] = True
    scaler: InputScaler
    within: Floats
    offsets: Mapping[Hashable, Floats]
    matrices: Mapping[Hashable, Floats]

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        n_features = int(np.prod(data.inputs.shape[1:]))
        return n_features > 1 and data.n_domains * n_features**2 <= MOST_NUMBERS

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        scaled = geometry.scaler.apply_flat(data.inputs)
        clouds = dict(zip(data.domains, (scaled[rows] for rows in data.rows_by_domain())))
        centred = np.concatenate([cloud - cloud.mean(axis=0) for cloud in clouds.values()])
        within = with_ridge(centred.T @ centred / len(centred))
        bare = cls(geometry.scaler, within, {}, {})
        measured = {name: bare.measure(cloud) for name, cloud in clouds.items()}
        offsets = {name: offset for name, (offset, _) in measured.items()}
        return cls(geometry.scaler, within, offsets, {n: m for n, (_, m) in measured.items()})

    def measure(self, cloud: Floats) -> tuple[Floats, Floats]:
        """The level (p,) of a domain's rows, and what whitens and colours them (p, p)."""
        n_rows, n_features = cloud.shape
        offset = cloud.mean(axis=0)
        own = (cloud - offset).T @ (cloud - offset) / n_rows
        share = n_rows / (n_rows + n_features)
        covariance = with_ridge(share * own + (1.0 - share) * self.within)
        return offset, matrix_power(covariance, -0.5) @ matrix_power(self.within, 0.5)

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        result = np.empty_like(scaled)
        for name, members, _ in rows.domains:
            cloud = scaled[members]
            known = name in self.offsets
            offset, matrix = (
                (self.offsets[name], self.matrices[name]) if known else self.measure(cloud)
            )
            result[members] = (cloud - offset) @ matrix
        return RepresentedRows.plain(result)

    def with_domains(self, rows: PlacedRows) -> Self:
        scaled = self.scaler.apply_flat(rows.inputs)
        measured = {name: self.measure(scaled[members]) for name, members, _ in rows.domains}
        return replace(
            self,
            offsets={**self.offsets, **{name: offset for name, (offset, _) in measured.items()}},
            matrices={**self.matrices, **{name: matrix for name, (_, matrix) in measured.items()}},
        )

    def state(self) -> dict[str, Any]:
        return {
            "scaler": self.scaler.state(),
            "within": self.within,
            "names": tuple(self.offsets),
            "offsets": np.stack(list(self.offsets.values())),
            "matrices": np.stack(list(self.matrices.values())),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        scaler, names = InputScaler.from_state(state["scaler"]), require_distinct(state["names"])
        size = len(scaler.offset)
        if state["offsets"].shape != (len(names), size) or state["within"].shape != (size, size):
            raise ValueError("the offsets do not fit the domains")
        if state["matrices"].shape != (len(names), size, size):
            raise ValueError("the matrices do not fit the domains")
        offsets, matrices = dict(zip(names, state["offsets"])), dict(zip(names, state["matrices"]))
        return cls(scaler, state["within"], offsets, matrices)


def with_ridge(covariance: Floats) -> Floats:
    """A covariance (p, p) with a little of its mean variance in every direction."""
    mean = np.trace(covariance) / len(covariance) or 1.0
    return covariance + RIDGE * mean * np.eye(len(covariance))


def matrix_power(covariance: Floats, power: float) -> Floats:
    """Of a symmetric positive matrix (p, p)."""
    values, vectors = eigh(covariance)
    return (vectors * np.maximum(values, np.finfo(np.float64).tiny) ** power) @ vectors.T
