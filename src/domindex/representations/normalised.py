"""Rows relative to themselves or to their domain: level, spread or covariance taken out.

x = level + spread · shape. Where outputs share the units of the inputs they are split the same way,
y = level + spread · shape of y, and a prediction is restored with the row's own two numbers
(reversible instance normalisation).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
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
"""Smallest spread of a row or a domain, relative to that of all inputs: what is flat has no shape.
Set for numerical safety, on no dataset."""


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
        """Where features share their units, and values to be predicted share them too.

        A class may depend on what of two features is lost with their level: three are the least.
        """
        n_features = int(np.prod(data.inputs.shape[1:]))
        if data.task == "classification":
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
        flat, rows = (
            InputScaler(np.zeros(n_features), np.ones(n_features)),
            PlacedRows.of_data(data),
        )
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

    One level and one spread a domain (`domains`), for features that share their units, and outputs
    with them. A new domain is measured by its rows.
    """

    name = "domain_scaled"
    label = "inputs scaled by domain"
    change_rank = 4
    may_balance = True
    moves_domains = True
    domains: Mapping[Hashable, tuple[float, float]] = field(default_factory=dict)

    def _measure(self, cloud: NDArray) -> tuple[float, float]:
        return float(cloud.mean()), max(float(cloud.std()), SPREAD_FLOOR * self.unit)

    def level_and_spread(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        features = rows.features
        known = [
            self.domains.get(domain.name) or self._measure(features[domain.rows])
            for domain in rows.domains
        ]
        both = rows.spread([np.array(pair) for pair in known])
        return both[:, :1], both[:, 1:]

    def with_domains(self, rows: PlacedRows) -> Self:
        features = rows.features
        new = {name: self._measure(features[members]) for name, members, _ in rows.domains}
        return replace(self, domains={**self.domains, **new})

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        levels = np.array([self.domains[domain.name] for domain in places.domains])
        return KnownDomainForm(self.scaler, levels=levels)

    def state(self) -> dict[str, Any]:
        table = np.array(list(self.domains.values()), dtype=np.float64)
        state = super().state()
        del state["domains"]
        return {**state, "names": tuple(self.domains), "levels": table}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        pairs = [(float(level), float(spread)) for level, spread in state["levels"]]
        domains = dict(zip(require_distinct(state["names"]), pairs, strict=True))
        if not all(np.isfinite(level) and 0 < spread < np.inf for level, spread in pairs):
            raise ValueError("the levels of the domains are not usable numbers")
        made = cls(float(state["unit"]), InputScaler.from_state(state["scaler"]), domains)
        made._check_state()
        return made


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
class DomainCentred(Representation):
    """Every feature minus its mean in the row's domain; outputs stay as they are."""

    name = "domain_centred"
    label = "domain-centred inputs"
    change_rank: ClassVar[int | None] = 3
    moves_domains = True
    scaler: InputScaler  # inputs to one scale, before domains are taken out
    # (features,) of each known domain; a new one has its own rows'
    offsets: Mapping[Hashable, Floats] = field(default_factory=dict)
    scales: Mapping[Hashable, Floats] = field(default_factory=dict)  # the same

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        return cls.of(data, geometry.scaler)

    @classmethod
    def of(cls, data: DomainData, scaler: InputScaler) -> Self:
        """From inputs on one scale."""
        return cls(scaler).with_domains(PlacedRows.of_data(data))

    def measure(self, cloud: Floats) -> tuple[Floats, Floats]:
        """Offset and scale of a domain by its scaled rows."""
        return level_of(cloud), np.ones(cloud.shape[1])

    def move(self, cloud: Floats, offset: Floats, scale: Floats) -> Floats:
        """The scaled rows of a domain as they are represented."""
        return (cloud - offset) / scale

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        result = np.empty_like(scaled)
        for name, members, _ in rows.domains:
            cloud = scaled[members]
            known = (self.offsets[name], self.scales[name]) if name in self.offsets else None
            result[members] = self.move(cloud, *(known or self.measure(cloud)))
        return RepresentedRows.plain(result)

    def with_domains(self, rows: PlacedRows) -> Self:
        scaled = self.scaler.apply_flat(rows.inputs)
        offsets, scales = dict(self.offsets), dict(self.scales)
        for name, members, _ in rows.domains:
            offsets[name], scales[name] = self.measure(scaled[members])
        return replace(self, offsets=offsets, scales=scales)

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        offsets = np.stack([self.offsets[domain.name] for domain in places.domains])
        scales = np.stack([self.scales[domain.name] for domain in places.domains])
        return KnownDomainForm(self.scaler, offsets=offsets, scales=scales)

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

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        means = [
            self.offsets[name] if name in self.offsets else level_of(scaled[members])
            for name, members, _ in rows.domains
        ]
        return RepresentedRows.plain(np.hstack([scaled, rows.spread(means)]))

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        means = np.stack([self.offsets[domain.name] for domain in places.domains])
        return KnownDomainForm(self.scaler, beside=means)


def level_of(cloud: Floats) -> Floats:
    """(features,) means of rows (n, features), exact where all rows have the same value.

    Else rounding would leave crumbs of 1e-17 where nothing varies, and a learner that brings
    features to one scale would take them for a feature, which in the next domain is 1e17 times as
    large.
    """
    constant = (cloud == cloud[:1]).all(axis=0)
    return np.where(constant, cloud[0], cloud.mean(axis=0))


@dataclass(frozen=True, eq=False)
class DomainWhitened(DomainCentred):
    """Every domain centred, whitened by its covariance, and coloured like the domains' average.

    A covariance of few rows is drawn towards the average within domains: n rows of p features count
    n / (n + p). `scales` holds a matrix (p, p) for every domain.
    """

    name = "domain_whitened"
    label = "domain-whitened inputs"
    change_rank = 8
    mixes_cells = True
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
        means = sources.mean(axis=0), targets.mean(axis=0)
        whitening = matrix_power(_covariance(sources), -0.5)
        matrix = whitening @ matrix_power(_covariance(targets), 0.5)
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
