"""All that a report shows, as plain values: it can be written again without model or data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from domindex.errors import InputError
from domindex.reporting.records import (
    AuditRecord,
    ColumnRecord,
    DifferenceRecord,
    DomainRecord,
    DriverRecord,
    HeldOutQuality,
    History,
    Value,
)


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
    profiles : the columns in which domains are compared
    drivers : what predictions rest on, the weightiest first
    preparation : sentences on what was done to the table: columns left out, gaps filled in
    no_audit : why there is no audit; empty where there is one

    Examples
    --------
    >>> from domindex.reporting import ReportData, report_data
    >>> content = report_data(model, title="Circle")
    >>> ReportData.from_dict(content.to_dict()).title
    'Circle'
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
    profiles: tuple[ColumnRecord, ...] = ()
    drivers: tuple[DriverRecord, ...] = ()
    preparation: tuple[str, ...] = ()
    no_audit: str = ""

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
    """The content as a page holds it: rounded, and by columns instead of records, so that it stays
    small."""
    content = data.to_dict()
    numbers = {one.name: number for number, one in enumerate(data.domains)}
    content["domains"] = _packed_domains(data.domains, numbers)
    most = most_columns(len(data.domains))
    content["columns"] = {
        name: [_short(value) for value in values]
        for name, values in list(content["columns"].items())[:most]
    }
    return content


def _packed_domains(domains: Sequence[DomainRecord], numbers: dict[str, int]) -> dict[str, Any]:
    names = ("name", "rows", "distance_to_source", "held_out_score", "angle", "picture")
    packed: dict[str, Any] = {
        name: [_short(getattr(one, name)) for one in domains] for name in names
    }
    packed["role"] = "".join("s" if one.role == "source" else "t" for one in domains)
    for name in ("held_out_score", "angle", "picture"):
        if all(value is None for value in packed[name]):
            packed[name] = None
    for name in ("coordinates", "deviations"):
        packed[name] = [_shorts(getattr(one, name)) for one in domains]
    packed["neighbours"] = [[numbers[near] for near in one.neighbours] for one in domains]
    packed["forecast"] = [
        one.forecast
        and _shorts((one.forecast.expected, one.forecast.low, one.forecast.high))
        + [_short(one.forecast.two_ways)]
        for one in domains
    ]
    packed["differences"] = [[_difference(part) for part in one.differences] for one in domains]
    packed["missing"] = [
        [[part.column, _short(part.share)] for part in one.missing] for one in domains
    ]
    return packed


def _difference(one: DifferenceRecord) -> list[Any]:
    figures = [round(100 * v) for v in (one.from_neighbours, one.from_sources, one.chance)]
    return [one.column, *figures, _letters(one.shares) + _letters(one.neighbours)]


def _letters(shares: Iterable[float]) -> str:
    """Shares from 0 to 1 in 63 steps, a letter each."""
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
    return "".join(letters[round(63 * min(max(share, 0.0), 1.0))] for share in shares)


def _shorts(values: Iterable[Any]) -> list[Any]:
    return [_short(value) for value in values]


def _short(value: Any) -> Any:
    """Four figures of a number, more than a screen shows."""
    if not isinstance(value, float):
        return value
    return None if not math.isfinite(value) else float(f"{value:.4g}")
