"""The content of a report as its page holds it: by columns and rounded, so that it stays small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from domindex.reporting.records import DifferenceRecord, DomainRecord
from domindex.reporting.report_data import ReportData

DIGITS = 4
"""Figures of a number on a page: more than a screen shows."""

MOST_VALUES = 120_000
"""Values of all columns to colour by together: a page of very many domains has fewer columns."""

LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
"""Shares from 0 to 1 in 63 steps, a letter each."""

PLAIN = ("name", "role", "rows", "distance_to_source", "held_out_score", "angle", "picture")


def most_columns(n_domains: int) -> int:
    """How many columns to colour by a page of so many domains has room for."""
    return max(4, MOST_VALUES // max(1, n_domains))


def pack(data: ReportData) -> dict[str, Any]:
    """Plain values for JSON; `domains` holds a list for each attribute, not a record each."""
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
    packed: dict[str, Any] = {
        name: [_short(getattr(one, name)) for one in domains] for name in PLAIN
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
    most = len(LETTERS) - 1
    return "".join(LETTERS[round(most * min(max(share, 0.0), 1.0))] for share in shares)


def _shorts(values: Iterable[Any]) -> list[Any]:
    return [_short(value) for value in values]


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if value != value or value in (float("inf"), float("-inf")):
        return None
    return float(f"{value:.{DIGITS}g}")
