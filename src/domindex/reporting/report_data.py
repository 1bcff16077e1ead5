"""All that a report shows, as plain values: it can be written again without model or data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from domindex.errors import InputError

FORMAT = 1
"""Raised whenever an older reader would misread what is written."""

CLEAR_SHARE = 0.03
"""Difference of accuracies, or share of an error, from which one model is called better."""

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
    """

    score_name: str
    higher_is_better: bool
    method: str
    baseline: str
    scores: tuple[HeldOutScore, ...]

    @property
    def mean(self) -> float:
        return math.fsum(one.score for one in self.scores) / len(self.scores)

    @property
    def baseline_mean(self) -> float:
        return math.fsum(one.baseline for one in self.scores) / len(self.scores)

    @property
    def clearly_worse(self) -> bool:
        """Whether the plain model is better on average, by more than short refits may cost."""
        if self.higher_is_better:
            return self.baseline_mean - self.mean > CLEAR_SHARE
        return self.mean > self.baseline_mean * (1.0 + CLEAR_SHARE)


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


@dataclass(frozen=True)
class ReportData:
    """A report as a value; `to_dict` and `from_dict` take it to JSON and back.

    Attributes
    ----------
    title : the report's heading
    task : "classification" or "regression"
    estimator : name of the model's class
    facts : name to value: rows, features, domains, sources, targets, seconds, seed
    domains : one record for each, in the order of the map
    columns : name to one value per domain: means of numbers, the commonest text
    held_out : None where it was not measured
    audit : None where it could not be made
    history : terms by epoch
    trials : the candidates that predict, a row for each: weight, near and far loss
    warnings : sentences about what may mislead
    notes : sentences about what was left out
    configuration : parameter to value
    versions : library to version
    summary : sentences on what was chosen and why, and what to expect in the targets
    """

    title: str
    task: str
    estimator: str
    facts: Mapping[str, Value]
    domains: tuple[DomainRecord, ...]
    columns: Mapping[str, tuple[Value, ...]]
    held_out: HeldOutQuality | None
    audit: AuditRecord | None
    history: History
    trials: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    configuration: Mapping[str, str]
    versions: Mapping[str, str]
    summary: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"format": FORMAT} | _plain(asdict(self))

    @classmethod
    def from_dict(cls, content: Any) -> ReportData:
        """What `to_dict` gave, as it was."""
        _check_format(content)
        try:
            return cls(
                **_only(content, cls, except_for=_NESTED),
                domains=tuple(_domain(record) for record in content["domains"]),
                columns={name: tuple(values) for name, values in content["columns"].items()},
                held_out=_held_out(content["held_out"]),
                audit=_audit(content["audit"]),
                history=_history(content["history"]),
                trials=tuple(content["trials"]),
                warnings=tuple(content["warnings"]),
                notes=tuple(content["notes"]),
                summary=tuple(content.get("summary", ())),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"The content of this report is damaged: {type(error).__name__} {error}. "
                "Write it again from the model and its data."
            ) from None


_NESTED = (
    "domains",
    "columns",
    "held_out",
    "audit",
    "history",
    "trials",
    "warnings",
    "notes",
    "summary",
)


def _check_format(content: Any) -> None:
    if not isinstance(content, Mapping) or "format" not in content:
        raise InputError(
            "This is not the content of a report: it names no format. "
            "Pass what ReportData.to_dict gave."
        )
    if content["format"] != FORMAT:
        raise InputError(
            f"The report has format {content['format']!r}, and this domindex reads {FORMAT}. "
            "Use the version of domindex that wrote it, or a newer one."
        )


def _plain(value: Any) -> Any:
    """Lists for tuples, and None for what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _only(
    content: Mapping[str, Any], kind: Any, except_for: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The fields of `kind` that need no building."""
    return {one.name: content[one.name] for one in fields(kind) if one.name not in except_for}


def _domain(content: Mapping[str, Any]) -> DomainRecord:
    built = ("coordinates", "deviations", "neighbours", "forecast", "angle", "picture")
    forecast = content.get("forecast")
    if forecast is not None:
        forecast = {"two_ways": None, **forecast}
    return DomainRecord(
        **_only(content, DomainRecord, except_for=built),
        coordinates=tuple(content["coordinates"]),
        deviations=tuple(content["deviations"]),
        neighbours=tuple(content["neighbours"]),
        forecast=None if forecast is None else ForecastRecord(**_only(forecast, ForecastRecord)),
        angle=content.get("angle"),
        picture=content.get("picture"),
    )


def _held_out(content: Mapping[str, Any] | None) -> HeldOutQuality | None:
    if content is None:
        return None
    return HeldOutQuality(
        **_only(content, HeldOutQuality, except_for=("scores",)),
        scores=tuple(HeldOutScore(**_only(one, HeldOutScore)) for one in content["scores"]),
    )


def _audit(content: Mapping[str, Any] | None) -> AuditRecord | None:
    if content is None:
        return None
    conditions = tuple(
        ConditionRecord(one["statement"], one["holds"], tuple(one["sentences"]))
        for one in content["conditions"]
    )
    return AuditRecord(content["holds"], content["summary"], conditions, content["figures"])


def _history(content: Mapping[str, Any]) -> History:
    terms = {name: tuple(values) for name, values in content["terms"].items()}
    return History(phases=tuple(content["phases"]), terms=terms)
