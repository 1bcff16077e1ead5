"""Second moments aligned: of every domain with the average one, or of sources with targets."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf

from domindex.arrays import Floats
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler
from domindex.representations.base import (
    KnownDomainForm,
    PlacedRows,
    Representation,
    RepresentedRows,
    require_distinct,
)
from domindex.representations.normalised import DomainCentred

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class DomainWhitened(DomainCentred):
    """Every domain centred, whitened by its covariance, and coloured like the domains' average.

    A covariance of few rows is drawn towards the average within domains: n rows of p features count
    n / (n + p). `scales` holds a matrix (p, p) for every domain.

    Attributes
    ----------
    within : (p, p), the average covariance within domains
    """

    name: ClassVar[str] = "domain_whitened"
    label: ClassVar[str] = "domain-whitened inputs"
    change_rank: ClassVar[int | None] = 8
    mixes_cells: ClassVar[bool] = True
    within: Floats = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Where all domains' matrices together fit into memory."""
        n_features = int(np.prod(data.inputs.shape[1:]))
        return n_features > 1 and data.n_domains * n_features**2 <= 20_000_000

    @classmethod
    def of(cls, data: DomainData, scaler: InputScaler) -> Self:
        scaled = scaler.apply_flat(data.inputs)
        clouds = [scaled[rows] for rows in data.rows_by_domain()]
        centred = np.concatenate([cloud - cloud.mean(axis=0) for cloud in clouds])
        within = with_ridge(centred.T @ centred / len(centred))
        return cls(scaler, within=within).with_domains(PlacedRows.of_data(data))

    def measure(self, cloud: Floats) -> tuple[Floats, Floats]:
        """The level (p,) of a domain's rows, and what whitens and colours them (p, p)."""
        n_rows, n_features = cloud.shape
        offset = cloud.mean(axis=0)
        own = (cloud - offset).T @ (cloud - offset) / n_rows
        share = n_rows / (n_rows + n_features)
        covariance = with_ridge(share * own + (1.0 - share) * self.within)
        return offset, matrix_power(covariance, -0.5) @ matrix_power(self.within, 0.5)

    def move(self, cloud: Floats, offset: Floats, scale: Floats) -> Floats:
        return (cloud - offset) @ scale

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        form = super().known_form(places)
        return KnownDomainForm(self.scaler, offsets=form.offsets, matrices=form.scales)

    def state(self) -> dict[str, Any]:
        state = super().state()
        matrices = state.pop("scales")
        return {**state, "within": self.within, "matrices": matrices}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        scaler, names = InputScaler.from_state(state["scaler"]), require_distinct(state["names"])
        size = len(scaler.offset)
        if state["offsets"].shape != (len(names), size) or state["within"].shape != (size, size):
            raise ValueError("the offsets do not fit the domains")
        if state["matrices"].shape != (len(names), size, size):
            raise ValueError("the matrices do not fit the domains")
        offsets, matrices = dict(zip(names, state["offsets"])), dict(zip(names, state["matrices"]))
        return cls(scaler, offsets, matrices, state["within"])


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

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        moved = np.array([domain.name in self.sources for domain in places.domains])
        return KnownDomainForm(
            self.scaler,
            offsets=np.where(moved[:, None], self.source_mean, 0.0),
            matrix=self.matrix,
            uses_matrix=moved,
            shifts=np.where(moved[:, None], self.target_mean, 0.0),
        )

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


def with_ridge(covariance: Floats) -> Floats:
    """A covariance (p, p) with a thousandth of its mean variance in every direction."""
    mean = np.trace(covariance) / len(covariance) or 1.0
    return covariance + 1e-3 * mean * np.eye(len(covariance))


def matrix_power(covariance: Floats, power: float) -> Floats:
    """Of a symmetric positive matrix (p, p)."""
    values, vectors = eigh(covariance)
    return (vectors * np.maximum(values, np.finfo(np.float64).tiny) ** power) @ vectors.T
