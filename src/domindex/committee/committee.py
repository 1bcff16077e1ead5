"""The fitted committee: members, what each one's word counts, and how far to believe the sum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.committee.conformal_scaling import conformal_factors
from domindex.committee.held_out_rows import HeldOutRows, temper
from domindex.committee.label_shift import LabelShift
from domindex.committee.members import EncodedMember, Member, NetworkMember, member_from_state
from domindex.committee.reach import Reach
from domindex.geometry.ring_coordinate import RingCoordinate
from domindex.model.fitted_indices import FittedIndices
from domindex.representations import PlacedRows

Floats = NDArray[np.float64]

LEAST_DEVIATION = 1e-12
"""Relative to the largest output that was seen: no interval is a point. Rounding, not tuned."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Probabilities (rows, classes), or values with their deviations, (rows, outputs) each.

    `disagreement` (rows,) is the variance of the members, for values in squared units of spread.
    """

    mean: Floats
    deviation: Floats | None = None
    disagreement: Floats | None = None


@dataclass(frozen=True, eq=False)
class Deviations:
    """How far values are off: further where members disagree.

    Attributes
    ----------
    unit : (outputs,) spread of the sources' values
    typical : (outputs,) root mean squared error on held-out domains, where the spread of rows is 1
    factors : (outputs,) so that intervals hold what they say there
    least : no deviation is smaller
    """

    unit: Floats
    typical: Floats
    factors: Floats
    least: float

    @classmethod
    def measure(
        cls, members: Floats, weights: Floats, spread: Floats, rows: HeldOutRows, coverage: float
    ) -> Deviations:
        """From members' predictions (members, n, outputs) of held-out rows.

        `spread` (n, 1) is that of the rows in the members' representations: errors grow with it.
        """
        mean = np.einsum("m,mno->no", weights, members)
        residuals = rows.labels - mean
        least = LEAST_DEVIATION * max(float(np.abs(rows.labels).max()), 1e-300)
        typical = np.sqrt(rows.row_weights @ (residuals / spread) ** 2)
        raw = np.sqrt((typical * spread) ** 2 + _variance(members, weights, mean))
        raw = np.maximum(raw, least)
        factors = conformal_factors(residuals, raw, rows.row_weights, coverage)
        assert rows.unit is not None
        return cls(rows.unit, typical, factors, least)

    def apply(self, members: Floats, weights: Floats, spread: Floats, mean: Floats) -> Floats:
        raw = np.sqrt((self.typical * spread) ** 2 + _variance(members, weights, mean))
        return np.maximum(raw * self.factors, self.least)

    def state(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "typical": self.typical,
            "factors": self.factors,
            "least": float(self.least),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Deviations:
        return cls(state["unit"], state["typical"], state["factors"], float(state["least"]))


@dataclass(frozen=True, eq=False)
class Committee:
    """The weighted mean of its members' calibrated predictions.

    Attributes
    ----------
    members : the heaviest first
    weights : (members,) summing to 1
    temperatures : (members,) by which their probabilities are softened; 1 for values
    smoothing : share of probabilities that is spread over all classes
    reach : beyond which no value is believed, of each member; None for classes
    deviations : of values; None for classes
    label_shift : shares of classes by domain, where following them helped; None elsewhere
    """

    members: tuple[Member, ...]
    weights: Floats
    temperatures: Floats
    smoothing: float
    reach: Reach | None = None
    deviations: Deviations | None = None
    label_shift: LabelShift | None = None

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Prediction:
        parts = np.stack([member.predict(rows, indices) for member in self.members])
        if self.reach is None:
            parts = np.stack(
                [temper(p, t, self.smoothing) for p, t in zip(parts, self.temperatures)]
            )
            mean = np.einsum("m,mnc->nc", self.weights, parts)
            mean /= mean.sum(axis=1, keepdims=True)
            if self.label_shift is not None:
                mean = self.label_shift.apply(mean, rows)
            return Prediction(mean, None, disagreement(parts, self.weights, mean, None))
        parts = self.reach.clip(parts)
        mean = np.einsum("m,mno->no", self.weights, parts)
        assert self.deviations is not None
        spreads = np.stack([member.spread(rows) for member in self.members])
        spread = np.einsum("m,mno->no", self.weights, spreads)
        deviation = self.deviations.apply(parts, self.weights, spread, mean)
        apart = disagreement(parts, self.weights, mean, self.deviations.unit)
        return Prediction(mean, deviation, apart)

    def with_domains(self, rows: PlacedRows, indices: FittedIndices) -> Committee:
        """The same committee, knowing the new domains of these rows as it knows the targets."""
        members = tuple(member.with_domains(rows) for member in self.members)
        grown = replace(self, members=members)
        if self.label_shift is None:
            return grown
        plain = replace(grown, label_shift=None).predict(rows, indices).mean
        return replace(grown, label_shift=self.label_shift.with_domains(plain, rows))

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        """What the heaviest member predicts from, (rows, size)."""
        return self.members[0].encode(rows, indices)

    @property
    def ring(self) -> RingCoordinate | None:
        """What members that follow the ring of a closed map run along; None where none does."""
        rings = [member.representation.ring for member in self.members]
        return next((ring for ring in rings if ring is not None), None)

    @property
    def network(self) -> NetworkMember | None:
        """The variational network, where it is a member or encodes for one."""
        for member in self.members:
            if isinstance(member, NetworkMember):
                return member
            if isinstance(member, EncodedMember):
                return member.network
        return None

    def state(self) -> dict[str, Any]:
        return {
            "members": {str(k): member.state() for k, member in enumerate(self.members)},
            "weights": self.weights,
            "temperatures": self.temperatures,
            "smoothing": float(self.smoothing),
            "reach": None if self.reach is None else self.reach.state(),
            "deviations": None if self.deviations is None else self.deviations.state(),
            "label_shift": None if self.label_shift is None else self.label_shift.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Committee:
        described = state["members"]
        members = tuple(member_from_state(described[str(k)]) for k in range(len(described)))
        weights, temperatures = state["weights"], state["temperatures"]
        if not members or weights.shape != (len(members),) or temperatures.shape != weights.shape:
            raise ValueError("the weights do not fit the members")
        if not ((weights >= 0).all() and (temperatures > 0).all()):
            raise ValueError("the weights are not usable numbers")
        reach = None if state["reach"] is None else Reach.from_state(state["reach"])
        if reach is not None and reach.least.ndim == 2 and len(reach.least) != len(members):
            raise ValueError("the reach does not fit the members")
        deviations, shift = state["deviations"], state["label_shift"]
        return cls(
            members,
            weights,
            temperatures,
            float(state["smoothing"]),
            reach,
            None if deviations is None else Deviations.from_state(deviations),
            None if shift is None else LabelShift.from_state(shift),
        )


def disagreement(members: Floats, weights: Floats, mean: Floats, unit: Floats | None) -> Floats:
    """(n,) weighted variance of the members, in squared units of spread, mean over columns."""
    return (_variance(members, weights, mean) / (1.0 if unit is None else unit**2)).mean(axis=1)


def _variance(members: Floats, weights: Floats, mean: Floats) -> Floats:
    """(n, outputs) weighted variance of the members about their mean."""
    return np.einsum("m,mno->no", weights, (members - mean) ** 2)
