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
    """A column as all domains show it.

    Attributes
    ----------
    name : of the column
    bins : what each bin holds, in words: a range of numbers, or a text that occurs often
    ordered : whether bins are ranges, in order
    sources : (bins,) share of the known values of the sources, each source counting alike
    missing : share of the sources' values that are missing
    """

    name: str
    bins: tuple[str, ...]
    ordered: bool
    sources: tuple[float, ...]
    missing: float = 0.0


@dataclass(frozen=True)
class DifferenceRecord:
    """How a domain differs from others in a column; distances are from 0, alike, to 1.

    Attributes
    ----------
    column : number of the column in the report
    from_neighbours, from_sources : distance to what its neighbours, and the sources, look like
    chance : what as few rows as there are would differ by without any reason
    shares, neighbours : (bins,) share of its known values, and of its neighbours'
    """

    column: int
    from_neighbours: float
    from_sources: float
    chance: float
    shares: tuple[float, ...]
    neighbours: tuple[float, ...]


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
    """A domain on the map.

    Attributes
    ----------
    role : "source" or "target"
    coordinates, deviations : (components,), where it lies and how sure that is
    neighbours : names of the nearest domains on the map, nearest first
    distance_to_source : to the nearest source, in median spacings of the map; 0 for sources
    held_out_score : how it was predicted without its own labels; None for targets
    forecast : what to expect of predictions there; None for sources
    angle : in radians, around the ring where the map closes; None where it is open
    picture : where rows are pictures, the one nearest to the domain's mean, as the address of a PNG
        that holds it; else None
    differences : the columns in which it differs most from its neighbours and from the sources,
        the largest difference first; none where it has too few rows, or rows are no table
    missing : the columns in which it lacks most values
    """

    name: str
    role: str
    rows: int
    coordinates: tuple[float, ...]
    deviations: tuple[float, ...]
    neighbours: tuple[str, ...]
    distance_to_source: float
    held_out_score: float | None = None
    forecast: ForecastRecord | None = None
    angle: float | None = None
    picture: str | None = None
    differences: tuple[DifferenceRecord, ...] = ()
    missing: tuple[MissingRecord, ...] = ()


@dataclass(frozen=True)
class HeldOutScore:
    """A source domain predicted by a model, and a plain one, that had not seen its labels."""

    name: str
    score: float
    baseline: float


@dataclass(frozen=True)
class HeldOutQuality:
    """Prediction quality on held-out source domains.

    Attributes
    ----------
    score_name : what is measured, such as "accuracy"
    higher_is_better : False for errors
    method, baseline : what was done and what it is compared with, in words
    scores : by held-out domain
    figures, plain_figures : name to number: of classes accuracy, auc, brier, log_loss; of values
        rmse, mae, r2, bias
    calibration : triples, what was predicted, what was found, the share of rows
    confusion : rows by true class, columns by predicted class, shares of the true class
    classes : names of the classes, in that order
    residuals : triples, from, to, share of rows
    coverage : pairs, what intervals should hold and what they held
    """

    score_name: str
    higher_is_better: bool
    method: str
    baseline: str
    scores: tuple[HeldOutScore, ...]
    figures: Mapping[str, float] = field(default_factory=dict)
    plain_figures: Mapping[str, float] = field(default_factory=dict)
    calibration: tuple[tuple[float, ...], ...] = ()
    confusion: tuple[tuple[float, ...], ...] = ()
    classes: tuple[str, ...] = ()
    residuals: tuple[tuple[float, ...], ...] = ()
    coverage: tuple[tuple[float, ...], ...] = ()

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
