"""Dates and times of day: told by how they are spelled, and taken in parts where asked for."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.arrow_columns import is_blank
from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.preparation.encoded import Encoded
from domindex.preparation.spelling import stands_for_none

PARTS = ("year", "month", "weekday", "hour")
"""What is taken of a date: numbers, Monday is 0."""

_CLOCK = r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})([:.]\d{2}([.,]\d+)?)?"
_YEAR_FIRST = re.compile(
    rf"(?P<year>\d{{4}})[-/.](?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})([T ]{_CLOCK}.*)?"
)
_YEAR_LAST = re.compile(
    rf"(?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})[-/.](?P<year>\d{{4}})([T ]{_CLOCK}.*)?"
)
_TIME = re.compile(rf"{_CLOCK}")


@dataclass(frozen=True)
class DateColumn:
    """A column of dates or times of day, one feature for each of `parts`.

    Attributes
    ----------
    name : of the column
    parts : those of `PARTS` that change
    fills : stand in for missing ones, one a part
    month_first : whether 3/4/2020 is in March
    """

    name: str
    parts: tuple[str, ...]
    fills: tuple[float, ...]
    month_first: bool = False

    @property
    def features(self) -> list[str]:
        return [f"{self.name}: {part}" for part in self.parts]

    def encode(self, column: pd.Series) -> Encoded:
        """(rows, parts), and where there was no date."""
        parts = date_parts(column, self.month_first)
        chosen = parts[:, [PARTS.index(part) for part in self.parts]]
        missing = np.isnan(chosen)
        return Encoded(
            np.where(missing, np.array(self.fills), chosen), np.asarray(missing.any(axis=1))
        )


def learn_dates(column: pd.Series, is_source: NDArray[np.bool_]) -> DateColumn | None:
    """The parts that change; None where none does."""
    month_first = is_month_first(column)
    parts = date_parts(column, month_first)
    known = [part[~np.isnan(part)] for part in parts.T]
    changing = [number for number, part in enumerate(known) if len(np.unique(part)) > 1]
    if not changing:
        return None
    fills = []
    for number in changing:
        labelled = parts[is_source, number]
        labelled = labelled[~np.isnan(labelled)]
        fills.append(float(np.median(labelled if len(labelled) else known[number])))
    names = tuple(PARTS[number] for number in changing)
    return DateColumn(str(column.name), names, tuple(fills), month_first)


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all of these texts are dates, or all are times of day."""
    if not texts:
        return False
    patterns = (_YEAR_FIRST, _YEAR_LAST)
    dates = all(any(one.fullmatch(text.strip()) for one in patterns) for text in texts)
    return dates or all(_is_time(text.strip()) for text in texts)


def is_month_first(column: pd.Series) -> bool:
    """By a day above 12 in the second place, and none in the first; else the day comes first."""
    if column.dtype.kind == "M":
        return False
    found = [_YEAR_LAST.fullmatch(str(value).strip()) for value in column if not is_blank(value)]
    pairs = [(int(one["first"]), int(one["second"])) for one in found if one]
    return any(second > 12 for _, second in pairs) and all(first <= 12 for first, _ in pairs)


def date_parts(column: pd.Series, month_first: bool) -> NDArray[np.float64]:
    """(rows, parts), NaN where there is no date, or no such part of one."""
    values = column.tolist()
    distinct = {value: _parts(value, month_first) for value in dict.fromkeys(values)}
    wrong = [value for value, parts in distinct.items() if parts is None]
    if wrong:
        raise InputError(
            f"Column {column.name!r} should hold dates, but holds {preview(wrong, 2)}. Correct "
            "these values, or leave them empty."
        )
    return np.array([distinct[value] for value in values], dtype=np.float64)


def calendar_names(column: pd.Series, by: str, month_first: bool) -> list[str | None]:
    """The year, or the month of a year, of every date, as names such as 2004 and 2004-03."""
    parts = date_parts(column, month_first)
    if by == "year":
        return [None if np.isnan(year) else f"{int(year)}" for year in parts[:, 0]]
    return [
        None if np.isnan(year + month) else f"{int(year)}-{int(month):02}"
        for year, month in parts[:, :2]
    ]


def _parts(value: object, month_first: bool) -> tuple[float, ...] | None:
    """In the order of `PARTS`; None for what is no date."""
    nothing = (np.nan,) * len(PARTS)
    if is_blank(value) or stands_for_none(value) or value is pd.NaT:
        return nothing
    if isinstance(value, datetime.datetime):
        return (value.year, value.month, value.weekday(), value.hour)
    if isinstance(value, datetime.date):
        return (value.year, value.month, value.weekday(), np.nan)
    if isinstance(value, datetime.time):
        return (np.nan, np.nan, np.nan, value.hour)
    text = str(value).strip()
    found = _YEAR_FIRST.fullmatch(text) or _YEAR_LAST.fullmatch(text)
    if found is None:
        return (*nothing[:3], float(_TIME.fullmatch(text)["hour"])) if _is_time(text) else None  # type: ignore[index]
    first, second = int(found["first"]), int(found["second"])
    swapped = _YEAR_FIRST.fullmatch(text) is None and not month_first
    month, day = (second, first) if swapped else (first, second)
    hour = np.nan if found["hour"] is None else float(found["hour"])
    try:
        return (
            float(found["year"]),
            float(month),
            float(datetime.date(int(found["year"]), month, day).weekday()),
            hour,
        )
    except ValueError:
        return None


def _is_time(text: str) -> bool:
    found = _TIME.fullmatch(text)
    return found is not None and (text.count(":") + text.count(".") > 1 or ":" in text)
