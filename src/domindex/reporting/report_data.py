"""All that a report shows, as plain values: it can be written again without model or data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from domindex.errors import InputError

Value = float | str | None


@dataclass(frozen=True)
class ForecastRecord:
    """What to expect in a target: accuracy, or root mean squared error, and an 80 % interval."""

    expected: float
    low: float
    high: float
    two_ways: float | None = None  # 0 to 1, agreement of both ways round a map that closes
    reason: str = ""  # why it is beyond what held-out sources showed; empty where it is not


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
    def means(self) -> tuple[float, float]:
        """Of the scores, and of the plain model's."""
        scores, plain = zip(*((one.score, one.baseline) for one in self.scores))
        return math.fsum(scores) / len(scores), math.fsum(plain) / len(plain)

    @property
    def clearly_worse(self) -> bool:
        """Whether the plain model is better on average, by 3 points of accuracy or % of error."""
        mean, plain = self.means
        return plain - mean > 0.03 if self.higher_is_better else mean > plain * 1.03


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

    Examples
    --------
    >>> from domindex.reporting import report_data
    >>> content = report_data(model, title="Circle")
    >>> ReportData.from_dict(content.to_dict()).title
    'Circle'
    """

    title: str
    task: str  # "classification" or "regression"
    estimator: str  # name of the model's class
    facts: Mapping[str, Value]  # rows, features, domains, sources, targets, seconds, seed
    domains: tuple[DomainRecord, ...]  # in the order of the map
    columns: Mapping[str, tuple[Value, ...]]  # a value per domain: mean, or commonest text
    held_out: HeldOutQuality | None  # None where it was not measured
    audit: AuditRecord | None  # None where it could not be made
    history: History
    trials: tuple[Mapping[str, Any], ...]  # the candidates that predict: weight, near and far loss
    warnings: tuple[str, ...]  # sentences about what may mislead
    notes: tuple[str, ...]  # sentences about what was left out
    configuration: Mapping[str, str]  # parameter to value
    versions: Mapping[str, str]  # library to version
    summary: tuple[str, ...] = ()  # what was chosen and why, and what to expect in the targets
    profiles: tuple[ColumnRecord, ...] = ()  # the columns in which domains are compared
    drivers: tuple[DriverRecord, ...] = ()  # what predictions rest on, the weightiest first
    preparation: tuple[str, ...] = ()  # what was done to the table: columns left out, gaps filled
    no_audit: str = ""  # why there is no audit

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `format` rises where an older reader would misread them."""
        return {"format": 1} | _plain(asdict(self))

    @classmethod
    def from_dict(cls, content: Any) -> ReportData:
        """What `to_dict` gave, as it was; parts that older reports lack are empty."""
        if not isinstance(content, Mapping) or "format" not in content:
            raise InputError(
                "This is not the content of a report: it names no format. "
                "Pass what ReportData.to_dict gave."
            )
        if content["format"] != 1:
            raise InputError(
                f"The report has format {content['format']!r}, and this domindex reads 1. "
                "Use the version of domindex that wrote it, or a newer one."
            )
        try:
            return _revived(cls, content)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"The content of this report is damaged: {type(error).__name__} {error}. "
                "Write it again from the model and its data."
            ) from None


def _plain(value: Any) -> Any:
    """Lists for tuples, and None for what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


_hints = cache(get_type_hints)


def _revived(kind: Any, content: Any) -> Any:
    """A value of `kind`, as its type hints say, from what `_plain` made of it."""
    if content is None:
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        given = {}
        for one in fields(kind):
            optional = one.default is not MISSING or one.default_factory is not MISSING
            if one.name in content or not optional:
                given[one.name] = _revived(_hints(kind)[one.name], content[one.name])
        return kind(**given)
    parts = [part for part in get_args(kind) if part is not type(None)]
    origin = get_origin(kind)
    if origin is tuple:
        return tuple(_revived(parts[0], one) for one in content)
    if parts and is_dataclass(parts[0]):
        return _revived(parts[0], content)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: _revived(parts[1], one) for name, one in content.items()}
    return content


def most_columns(n_domains: int, values: int = 120_000) -> int:
    """How many columns to colour by a page of so many domains has room for: so many values."""
    return max(4, values // max(1, n_domains))


def pack(data: ReportData) -> dict[str, Any]:
    """The content as a page holds it, small: rounded, and by columns instead of records."""
    content, domains = data.to_dict(), data.domains
    numbers = {one.name: number for number, one in enumerate(domains)}
    names = ("name", "rows", "distance_to_source", "held_out_score", "angle", "picture")
    packed: dict[str, Any] = {
        name: _shorts(getattr(one, name) for one in domains) for name in names
    }
    packed["role"] = "".join("s" if one.role == "source" else "t" for one in domains)
    for name in ("held_out_score", "angle", "picture"):
        if all(value is None for value in packed[name]):
            packed[name] = None
    for name in ("coordinates", "deviations"):
        packed[name] = [_shorts(getattr(one, name)) for one in domains]
    packed["neighbours"] = [[numbers[near] for near in one.neighbours] for one in domains]
    packed["forecast"] = [
        one.forecast and _shorts(getattr(one.forecast, part.name) for part in fields(one.forecast))
        for one in domains
    ]
    packed["differences"] = [[_difference(part) for part in one.differences] for one in domains]
    packed["missing"] = [[_shorts((p.column, p.share)) for p in one.missing] for one in domains]
    shown = list(content["columns"].items())[: most_columns(len(domains))]
    columns = {name: _shorts(values) for name, values in shown}
    return content | {"domains": packed, "columns": columns}


def _difference(one: DifferenceRecord) -> list[Any]:
    figures = [round(100 * v) for v in (one.from_neighbours, one.from_sources, one.chance)]
    return [one.column, *figures, _letters(one.shares) + _letters(one.neighbours)]


def _letters(shares: Iterable[float]) -> str:
    """Shares from 0 to 1 in 63 steps, a letter each."""
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
    return "".join(letters[round(63 * min(max(share, 0.0), 1.0))] for share in shares)


def _shorts(values: Iterable[Any]) -> list[Any]:
    """Four figures of each number, more than a screen shows; None for what is no finite number."""
    found = _plain(list(values))
    return [float(f"{value:.4g}") if isinstance(value, float) else value for value in found]
