"""A column of a table as numbers or as categories, or refused with what to do about it."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.arrow_columns import is_blank, text_of
from domindex.data.messages import preview
from domindex.data.names import is_missing
from domindex.errors import InputError

Kind = Literal["numbers", "texts"]

MISSING_WORDS = frozenset(["na", "n/a", "nan", "null", "none", "-", "?", "missing", "#n/a", "."])
"""What stands for a missing value in a column of numbers. Among texts they are texts."""

_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}( .*)?")


def kind_of(column: pd.Series, *, in_rows: bool = True) -> Kind:
    """Whether a column holds numbers or texts; dates, mixtures and anything else are refused.

    `in_rows` says that the values stand as in the table, so that an error may name a row.
    """
    if column.dtype.kind in "biuf":
        return "numbers"
    if column.dtype.kind in "mM":
        raise _a_date(column, column.dropna().iloc[:1].astype(str).tolist())
    values = [value for value in column.tolist() if not is_missing(value)]
    if all(isinstance(value, str) for value in values):
        return _kind_of_texts(column, values, in_rows)
    if all(isinstance(v, bool | int | float | np.number | decimal.Decimal) for v in values):
        return "numbers"
    if any(isinstance(value, datetime.date | datetime.timedelta) for value in values):
        raise _a_date(column, [str(values[0])])
    kinds = sorted({type(value).__name__ for value in values})
    raise InputError(
        f"Column {column.name!r} holds {' and '.join(kinds)} values, such as {values[0]!r}. "
        f"Turn it into numbers or texts, or leave it out (--exclude {column.name})."
    )


def numbers_of(column: pd.Series) -> NDArray[np.float64]:
    """The column as floats, NaN where a value is missing; refused where one is no number."""
    if column.dtype.kind in "biuf":
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = column.tolist()
        numbers = np.array([_number(value) for value in values])
        unread = np.flatnonzero(np.isnan(numbers)).tolist()
        wrong = [row for row in unread if not _stands_for_none(values[row])]
        if wrong:
            raise InputError(
                f"Column {column.name!r} should hold numbers, but {len(wrong)} of its "
                f"{len(values)} values are none, the first {values[wrong[0]]!r} in row "
                f"{wrong[0] + 1}. Correct them, or leave them empty."
            )
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise InputError(
            f"Column {column.name!r} is infinite in {len(infinite)} rows, the first is row "
            f"{infinite[0] + 1}. Correct these values, or leave them empty."
        )
    return numbers


def texts_of(column: pd.Series) -> list[str | None]:
    """The column as texts, None where a value is missing; whole numbers without a point."""
    return [None if is_blank(value) else text_of(value) for value in column.tolist()]


def check_domain_column(column: pd.Series) -> list[str]:
    """Names of domains, one per row, none blank."""
    names = texts_of(column)
    blank = [row for row, name in enumerate(names, start=1) if name is None]
    if blank:
        raise InputError(
            f"The domain column {column.name!r} is blank in {len(blank)} of {len(names)} rows, the "
            f"first is row {preview(blank, 3)}. Name the domain of these rows, or leave them out."
        )
    return [name for name in names if name is not None]


def _kind_of_texts(column: pd.Series, values: Sequence[str], in_rows: bool) -> Kind:
    distinct = list(dict.fromkeys(values))
    given = [value for value in distinct if not _stands_for_none(value)]
    numeric = [value for value in given if not np.isnan(_number(value))]
    if given and len(numeric) == len(given):
        return "numbers"
    if given and all(_DATE.fullmatch(value.strip()) for value in given):
        raise _a_date(column, given)
    if numeric:
        others = [value for value in given if value not in set(numeric)]
        where = f" (first in row {column.tolist().index(others[0]) + 1})" if in_rows else ""
        raise InputError(
            f"Column {column.name!r} mixes numbers and texts: {preview(numeric, 3)}, but also "
            f"{preview(others, 3)}{where}. Correct it, pass "
            f"--categorical {column.name} to take all values for categories, or leave it out "
            f"(--exclude {column.name})."
        )
    return "texts"


def _number(value: object) -> float:
    """NaN for anything that is not a number."""
    if isinstance(value, str) and ("_" in value or _stands_for_none(value)):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan


def _stands_for_none(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip() or value.strip().lower() in MISSING_WORDS
    return is_missing(value)


def _a_date(column: pd.Series, values: Sequence[str]) -> InputError:
    return InputError(
        f"Column {column.name!r} holds dates or times ({preview(values, 2)}), which are not taken "
        "as they are. Turn them into numbers that mean something, such as the month or the days "
        f"since a start, or leave the column out (--exclude {column.name})."
    )
