"""The parts of a report as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Value = float | str | None
"""A number, a text, or nothing known."""


@dataclass(frozen=True)
class ForecastRecord:
    """What to expect in a target: accuracy, or root mean squared error, and an 80 % interval.

    `two_ways` is the agreement, 0 to 1, of predictions that reach it one way round a map that
    closes and the other; None where nothing runs around.
    """

    expected: float
    low: float
    high: float
    two_ways: float | None = None


@dataclass(frozen=True)
class ColumnRecord:
    """A column as all domains show it."""

    name: str
    bins: tuple[str, ...]  # in words: a range of numbers, or a text that occurs often
    ordered: bool  # whether bins are ranges, in order
    sources: tuple[float, ...]  # shares of the sources' known values, each source counting alike
    missing: float = 0.0  # share of the sources' values


@dataclass(frozen=True)
class DifferenceRecord:
    """How a domain differs from others in a column; distances are from 0, alike, to 1."""

    column: int  # its number in the report
    from_neighbours: float
    from_sources: float
    chance: float  # what as few rows would differ by without any reason
    shares: tuple[float, ...]  # (bins,) of its known values
    neighbours: tuple[float, ...]  # (bins,) of its neighbours' values


@dataclass(frozen=True)
class MissingRecord:
    """A column by its number in the report, and the share of its values that a domain lacks."""

    column: int
    share: float


@dataclass(frozen=True)
class DriverRecord:
    """A column of the inputs, and what is lost in held-out sources when it is shuffled."""

    column: str
    importance: float
    standard_error: float


@dataclass(frozen=True)
class DomainRecord:
    """A domain on the map."""

    name: str
    role: str  # "source" or "target"
    rows: int
    coordinates: tuple[float, ...]
    deviations: tuple[float, ...]  # how sure the coordinates are
    neighbours: tuple[str, ...]  # the nearest domains on the map, nearest first
    distance_to_source: float  # the nearest one, in median spacings of the map; 0 for sources
    held_out_score: float | None = None  # predicted without its own labels; None for targets
    forecast: ForecastRecord | None = None  # None for sources
    angle: float | None = None  # in radians around the ring; None where the map is open
    picture: str | None = None  # where rows are pictures, a typical one as the address of a PNG
    differences: tuple[DifferenceRecord, ...] = ()  # the largest first; none of too few rows
    missing: tuple[MissingRecord, ...] = ()  # the columns in which it lacks most values


@dataclass(frozen=True)
class HeldOutScore:
    """A source domain predicted by a model, and a plain one, that had not seen its labels."""

    name: str
    score: float
    baseline: float


@dataclass(frozen=True)
class HeldOutQuality:
    """Prediction quality on held-out source domains."""

    score_name: str  # such as "accuracy"
    higher_is_better: bool  # False for errors
    method: str  # what was done, in words
    baseline: str  # what it is compared with, in words
    scores: tuple[HeldOutScore, ...]
    # of classes accuracy, auc, brier, log_loss; of values rmse, mae, r2, bias
    figures: Mapping[str, float] = field(default_factory=dict)
    plain_figures: Mapping[str, float] = field(default_factory=dict)
    calibration: tuple[tuple[float, ...], ...] = ()  # predicted, found, share of rows
    confusion: tuple[tuple[float, ...], ...] = ()  # shares: true class by predicted class
    classes: tuple[str, ...] = ()  # names, in that order
    residuals: tuple[tuple[float, ...], ...] = ()  # from, to, share of rows
    coverage: tuple[tuple[float, ...], ...] = ()  # what intervals should hold, and what they held

    @property
    def mean(self) -> float:
        return math.fsum(one.score for one in self.scores) / len(self.scores)

    @property
    def baseline_mean(self) -> float:
        return math.fsum(one.baseline for one in self.scores) / len(self.scores)

    @property
    def clearly_worse(self) -> bool:
        """Whether the plain model is better on average, by 3 points of accuracy or % of error."""
        if self.higher_is_better:
            return self.baseline_mean - self.mean > 0.03
        return self.mean > self.baseline_mean * 1.03


@dataclass(frozen=True)
class ConditionRecord:
    """One of the three conditions of a domain index: its name, the verdict, and the evidence."""

    statement: str
    holds: bool
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class AuditRecord:
    """The audit of the index: a verdict, the conditions, all figures as `IndexAudit` has them."""

    holds: bool
    summary: str
    conditions: tuple[ConditionRecord, ...]
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """Training by epoch: the phase each belongs to, and every term, None where it had none."""

    phases: tuple[str, ...] = ()
    terms: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
