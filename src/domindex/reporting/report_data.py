"""All that a report shows, as plain values: it can be written again without model or data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from domindex.errors import InputError
from domindex.reporting.records import (
    AuditRecord,
    ColumnRecord,
    DomainRecord,
    DriverRecord,
    HeldOutQuality,
    History,
    Value,
)

FORMAT = 1
"""Raised whenever an older reader would misread what is written."""


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
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
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
        """Plain values, ready for JSON."""
        return {"format": FORMAT} | _plain(asdict(self))

    @classmethod
    def from_dict(cls, content: Any) -> ReportData:
        """What `to_dict` gave, as it was; parts that older reports lack are empty."""
        _check_format(content)
        try:
            return _revived(cls, content)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"The content of this report is damaged: {type(error).__name__} {error}. "
                "Write it again from the model and its data."
            ) from None


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


@cache
def _kinds(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _revived(kind: Any, content: Any) -> Any:
    """A value of `kind`, as its type hints say, from what `_plain` made of it."""
    if content is None:
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        given = {}
        for one in fields(kind):
            optional = one.default is not MISSING or one.default_factory is not MISSING
            if one.name in content or not optional:
                given[one.name] = _revived(_kinds(kind)[one.name], content[one.name])
        return kind(**given)
    parts = [part for part in get_args(kind) if part is not type(None)]
    if get_origin(kind) is tuple:
        return tuple(_revived(parts[0], one) for one in content)
    if parts and is_dataclass(parts[0]):
        return _revived(parts[0], content)
    if _is_mapping(kind):
        return {name: _revived(parts[1], one) for name, one in content.items()}
    return content


def _is_mapping(kind: Any) -> bool:
    """Whether a hint is of a mapping."""
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Mapping)
