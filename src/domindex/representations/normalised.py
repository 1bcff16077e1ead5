"""Rows relative to themselves or to their domain: level, spread or covariance taken out.

Outputs in the units of the inputs go the same way, and back (reversible instance normalisation).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData
from domindex.inputs.standardizing import SAME_UNITS, InputScaler
from domindex.persistence.saved import Saved, require_distinct
from domindex.representations.base import (
    KnownDomainForm,
    PlacedRows,
    Representation,
    RepresentedRows,
)

if TYPE_CHECKING:
    from typing_extensions import Self

SPREAD_FLOOR = 1e-2
"""Smallest spread of a row or a domain, relative to that of all inputs. For numerical safety."""


@dataclass(frozen=True, eq=False)
class Shapes(Saved, Representation):
    """Rows minus a level, over a spread, then brought to one scale; outputs go the same way."""

    min_features = 1
    unit: float  # deviation of all inputs, to which the floor of a spread is relative
    scaler: InputScaler  # shapes to zero mean and unit mean variance

    @property
    def spread_unit(self) -> float:
        return self.unit

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Where features share their units, and values to be predicted share them too."""
        n_features = int(np.prod(data.inputs.shape[1:]))
        if data.task == "classification":  # it may depend on what two features lose with a level
            return n_features >= 3 and inputs_share_units(data)
        return n_features >= cls.min_features and outputs_share_units(data)

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        return cls.of(data)

    @classmethod
    def of(cls, data: DomainData) -> Self:
        """Shapes keep their proportions: one unit for all features."""
        n_features = int(np.prod(data.inputs.shape[1:]))
        if n_features < cls.min_features:
            raise InputError(
                f"The representation {cls.name!r} needs {cls.min_features} features or more, "
                f"but X has {n_features}. Choose 'raw'."
            )
        flat, rows = InputScaler.plain(n_features), PlacedRows.of_data(data)
        bare = cls(float(data.inputs.std()) or 1.0, flat).with_domains(rows)
        shapes = bare.apply(rows).features
        offset, unit = shapes.mean(axis=0), np.sqrt(shapes.var(axis=0).mean()) or 1.0
        return replace(bare, scaler=InputScaler(offset, np.full_like(offset, unit)))

    @abstractmethod
    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        """(rows, 1) each."""

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        level, spread = self.level_and_spread(rows)
        shapes = self.scaler.apply_flat((rows.features - level) / spread)
        return RepresentedRows(shapes, level, spread)

    def _check_state(self) -> None:
        if not 0.0 < self.unit < np.inf:
            raise ValueError(f"the unit of the inputs is {self.unit}")


class RowCentred(Shapes):
    """Each row minus its own mean."""

    name = "row_centred"
    label = "rows minus their own mean"
    change_rank = 1
    may_balance = True
    min_features = 2

    @property
    def spread_unit(self) -> float:
        return 1.0

    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        level = rows.features.mean(axis=1, keepdims=True)
        return level, np.ones_like(level)

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        return KnownDomainForm(self.scaler, row_level=True)


class RowStandardised(Shapes):
    """Each row minus its own mean, over its own deviation."""

    name = "row_standardised"
    label = "rows standardised one by one"
    change_rank = 2
    may_balance = True
    min_features = 3

    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        features = rows.features
        spread = np.maximum(features.std(axis=1, keepdims=True), SPREAD_FLOOR * self.unit)
        return features.mean(axis=1, keepdims=True), spread

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        least = SPREAD_FLOOR * self.unit
        return KnownDomainForm(self.scaler, row_level=True, min_row_spread=least)


@dataclass(frozen=True, eq=False)
class DomainScaled(Shapes):
    """Rows minus the mean of all inputs of their domain, over the deviation of all of them.

    For features that share their units, and outputs with them. A new domain is measured anew.
    """

    name = "domain_scaled"
    label = "inputs scaled by domain"
    change_rank = 4
    may_balance = True
    moves_domains = True
    names: tuple[Hashable, ...] = ()
    levels: Floats = field(default_factory=lambda: np.empty((0, 2)))  # level and spread of each

    @cached_property
    def known(self) -> dict[Hashable, Floats]:
        return dict(zip(self.names, self.levels))

    def _measure(self, cloud: Floats) -> Floats:
        return np.array([cloud.mean(), max(cloud.std(), SPREAD_FLOOR * self.unit)])

    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        features = rows.features
        found = [
            self.known[name] if name in self.known else self._measure(features[members])
            for name, members, _ in rows.domains
        ]
        both = rows.spread(found)
        return both[:, :1], both[:, 1:]

    def with_domains(self, rows: PlacedRows) -> Self:
        features, known = rows.features, dict(self.known)
        for name, members, _ in rows.domains:
            known[name] = self._measure(features[members])
        return replace(self, names=tuple(known), levels=np.stack(list(known.values())))

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        levels = np.stack([self.known[domain.name] for domain in places.domains])
        return KnownDomainForm(self.scaler, levels=levels)

    def _check_state(self) -> None:
        super()._check_state()
        if self.levels.shape != (len(require_distinct(self.names)), 2):
            raise ValueError("the levels do not fit the domains")
        if not np.isfinite(self.levels).all() or not (self.levels[:, 1] > 0).all():
            raise ValueError("the levels of the domains are not usable numbers")


SHAPES: tuple[type[Shapes], ...] = (RowCentred, RowStandardised, DomainScaled)
"""Representations by shape, for outputs that share the units of the inputs."""


def inputs_share_units(data: DomainData) -> bool:
    """Whether the features' deviations differ by no more than a small factor."""
    deviations = data.inputs.reshape(data.n_rows, -1).astype(np.float64).std(axis=0)
    return bool(deviations.min() > 0 and deviations.max() <= SAME_UNITS * deviations.min())


def outputs_share_units(data: DomainData) -> bool:
    """Whether inputs share their units, and outputs lie where the inputs lie, give or take."""
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


@dataclass(frozen=True, eq=False)
class DomainCentred(Saved, Representation):
    """Every feature minus its mean in the row's domain; outputs stay as they are."""

    name = "domain_centred"
    label = "domain-centred inputs"
    change_rank: ClassVar[int | None] = 3
    moves_domains = True
    scaler: InputScaler  # inputs to one scale, before domains are taken out
    names: tuple[Hashable, ...] = ()  # of known domains; a new one has the numbers of its own rows
    offsets: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (domains, features)
    scales: Floats = field(default_factory=lambda: np.empty((0, 0)))  # the same

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        return cls.of(data, geometry.scaler)

    @classmethod
    def of(cls, data: DomainData, scaler: InputScaler) -> Self:
        """From inputs on one scale."""
        return cls(scaler).with_domains(PlacedRows.of_data(data))

    @cached_property
    def known(self) -> dict[Hashable, tuple[Floats, Floats]]:
        """Offset and scale of known domains, by name."""
        return dict(zip(self.names, zip(self.offsets, self.scales)))

    def measure(self, cloud: Floats) -> tuple[Floats, Floats]:
        """Offset and scale of a domain by its scaled rows."""
        return level_of(cloud), np.ones(cloud.shape[1])

    def move(self, cloud: Floats, offset: Floats, scale: Floats) -> Floats:
        """The scaled rows of a domain as they are represented."""
        return (cloud - offset) / scale

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        result = self.scaler.apply_flat(rows.inputs)
        for name, members, _ in rows.domains:
            cloud = result[members]
            result[members] = self.move(cloud, *(self.known.get(name) or self.measure(cloud)))
        return RepresentedRows.plain(result)

    def with_domains(self, rows: PlacedRows) -> Self:
        scaled, known = self.scaler.apply_flat(rows.inputs), dict(self.known)
        for name, members, _ in rows.domains:
            known[name] = self.measure(scaled[members])
        offsets, scales = (np.stack(part) for part in zip(*known.values()))
        return replace(self, names=tuple(known), offsets=offsets, scales=scales)

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        parts = zip(*(self.known[domain.name] for domain in places.domains))
        offsets, scales = (np.stack(part) for part in parts)
        return KnownDomainForm(self.scaler, offsets=offsets, scales=scales)

    def _check_state(self) -> None:
        if self.offsets.shape != (len(require_distinct(self.names)), len(self.scaler.offset)):
            raise ValueError("the offsets do not fit the domains")
        if self.scales.shape != self.offsets.shape or not (self.scales > 0).all():
            raise ValueError("the scales do not fit the domains")


class DomainStandardised(DomainCentred):
    """Every feature minus its mean in the row's domain, over its deviation there."""

    name = "domain_standardised"
    label = "domain-standardised inputs"
    change_rank = 5
    may_balance = True
    known_form = DomainCentred.known_form

    def measure(self, cloud: Floats) -> tuple[Floats, Floats]:
        deviation = cloud.std(axis=0)
        return level_of(cloud), np.where(deviation > SPREAD_FLOOR, deviation, 1.0)


class WithMeans(DomainCentred):
    """The inputs beside their means in the row's domain: a rule may follow each domain's level."""

    name = "with_means"
    label = "features + means of the domain"
    separability_of = "raw"
    change_rank = None
    mixes_cells = True
    moves_domains = False

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Only where it is asked for: means of a few sources are followed too far, see the docs."""
        return False

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        means = [
            (self.known.get(name) or self.measure(scaled[members]))[0]
            for name, members, _ in rows.domains
        ]
        return RepresentedRows.plain(np.hstack([scaled, rows.spread(means)]))

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        return KnownDomainForm(self.scaler, beside=super().known_form(places).offsets)


def level_of(cloud: Floats) -> Floats:
    """(features,) means of rows (n, features), exact where all rows have the same value: else
    crumbs of 1e-17 would be left, and a learner that scales features take them for one."""
    constant = (cloud == cloud[:1]).all(axis=0)
    return np.where(constant, cloud[0], cloud.mean(axis=0))


@dataclass(frozen=True, eq=False)
class DomainWhitened(DomainCentred):
    """Every domain centred, whitened by its covariance, and coloured like the domains' average.

    A covariance of few rows is drawn towards the average within domains: n rows of p features count
    n / (n + p).
    """

    name = "domain_whitened"
    label = "domain-whitened inputs"
    change_rank = 8
    mixes_cells = True
    # (domains, p, p), what whitens and colours each
    scales: Floats = field(
        default_factory=lambda: np.empty((0, 0, 0)), metadata={"key": "matrices"}
    )
    # (p, p), the average covariance within domains
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

    def _check_state(self) -> None:
        n_domains, size = len(require_distinct(self.names)), len(self.scaler.offset)
        if self.offsets.shape != (n_domains, size) or self.within.shape != (size, size):
            raise ValueError("the offsets do not fit the domains")
        if self.scales.shape != (n_domains, size, size):
            raise ValueError("the matrices do not fit the domains")


@dataclass(frozen=True, eq=False)
class Coral(Saved, Representation):
    """Correlation alignment: source rows whitened together and coloured like all target rows.

    Targets, and domains never seen, stay as they are. Covariances are shrunk as Ledoit and Wolf do.
    """

    name = "coral"
    label = "inputs aligned by CORAL"
    change_rank = 7
    mixes_cells = True
    moves_domains = True
    uses_roles = True
    scaler: InputScaler
    sources: frozenset[Hashable] = field(metadata={"key": "names"})  # whose rows are moved
    source_mean: Floats  # (p,), as is target_mean
    target_mean: Floats
    matrix: Floats  # (p, p), from centred source rows to centred target rows

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        return bool((~data.is_source).any())

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        scaled = geometry.scaler.apply_flat(data.inputs)
        sources, targets = scaled[data.row_is_source], scaled[~data.row_is_source]
        if not len(targets):
            targets = sources
        own, goal = (
            with_ridge(ledoit_wolf(rows)[0]) if len(rows) > 1 else np.eye(rows.shape[1])
            for rows in (sources, targets)
        )
        means = sources.mean(axis=0), targets.mean(axis=0)
        matrix = matrix_power(own, -0.5) @ matrix_power(goal, 0.5)
        return cls(geometry.scaler, frozenset(data.source_domains), *means, matrix)

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

    def _check_state(self) -> None:
        size = self.scaler.offset.shape
        if self.source_mean.shape != size or self.target_mean.shape != size:
            raise ValueError("the means do not fit the scale")
        if self.matrix.shape != size * 2:
            raise ValueError("the matrix does not fit the scale")


def with_ridge(covariance: Floats) -> Floats:
    """A covariance (p, p) with a thousandth of its mean variance in every direction."""
    mean = np.trace(covariance) / len(covariance) or 1.0
    return covariance + 1e-3 * mean * np.eye(len(covariance))


def matrix_power(covariance: Floats, power: float) -> Floats:
    """Of a symmetric positive matrix (p, p)."""
    values, vectors = eigh(covariance)
    return (vectors * np.maximum(values, np.finfo(np.float64).tiny) ** power) @ vectors.T
