"""A column of a table as numbers or as categories, or refused with what to do about it."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.arrow_columns import is_blank, text_of
from domindex.data.messages import nearest_name, preview
from domindex.data.names import is_missing
from domindex.errors import InputError
from domindex.preparation.date_column import are_dates
from domindex.preparation.spelling import number_of, stands_for_none

Kind = Literal["numbers", "texts", "dates"]

_WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)?(?P<unit> ?%| [^\W\d]\S*)")
MOST_WITH_UNIT = 20
"""Different numbers with a unit, such as doses, that may be categories."""


def kind_of(column: pd.Series, *, in_rows: bool = True) -> Kind:
    """Whether a column holds numbers, texts or dates; mixtures and anything else are refused.

    `in_rows` says that the values stand as in the table, so that an error may name a row.
    """
    if column.dtype.kind in "biuf":
        return "numbers"
    if column.dtype.kind in "mM":
        if column.dtype.kind == "m":
            raise a_date(column)
        return "dates"
    values = [value for value in column.tolist() if not is_missing(value)]
    if all(isinstance(value, str) for value in values):
        return _kind_of_texts(column, values, in_rows)
    if all(isinstance(v, bool | int | float | np.number | decimal.Decimal) for v in values):
        return "numbers"
    if all(isinstance(value, datetime.date | datetime.time) for value in values):
        return "dates"
    if any(isinstance(value, datetime.date | datetime.timedelta) for value in values):
        raise a_date(column)
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
        numbers = np.array([number_of(value) for value in values])
        unread = np.flatnonzero(np.isnan(numbers)).tolist()
        wrong = [row for row in unread if not stands_for_none(values[row])]
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
            f"first is row {blank[0]}. Name the domain of these rows, or leave them out."
        )
    return [name for name in names if name is not None]


def _kind_of_texts(column: pd.Series, values: Sequence[str], in_rows: bool) -> Kind:
    distinct = list(dict.fromkeys(values))
    given = [value for value in distinct if not stands_for_none(value)]
    numeric = [value for value in given if not np.isnan(number_of(value))]
    if given and len(numeric) == len(given):
        return "numbers"
    if are_dates(given):
        return "dates"
    _refuse_units(column.name, given)
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


def _refuse_units(name: object, values: Sequence[str]) -> None:
    """Numbers with a unit behind them, too many of them to be categories, would be as many."""
    if len(values) <= MOST_WITH_UNIT:
        return
    found = [_WITH_UNIT.fullmatch(value.strip()) for value in values]
    units = {one["unit"] for one in found if one is not None}
    if all(found) and len(units) == 1:
        raise InputError(
            f"Column {name!r} holds numbers with a unit: {preview(values, 3)}. Write the numbers "
            f"alone, and {units.pop()!r} into the column's name; or pass --categorical {name} to "
            f"take all values for categories, or leave it out (--exclude {name})."
        )


def a_date(column: pd.Series, *, is_target: bool = False) -> InputError:
    """For dates where there can be none."""
    values = [str(value) for value in column.tolist() if not is_missing(value)][:2]
    otherwise = "name another target" if is_target else f"leave it out (--exclude {column.name})"
    return InputError(
        f"Column {column.name!r} holds dates or times ({preview(values, 2)}), which are not taken "
        "as they are. Turn them into numbers that mean something, such as the month or the days "
        f"since a start, or {otherwise}."
    )


def require_columns(columns: Iterable[str], names: Sequence[str], role: str) -> None:
    """All of `names` are columns; those that are not are reported together."""
    require_roles(columns, {role: names})


def require_roles(columns: Iterable[str], roles: Mapping[str, Sequence[str]]) -> None:
    """All names of all roles are columns; those that are not are reported at once.

    One error a run would cost a user as many runs as there are slips.
    """
    known = list(columns)
    absent = {
        role: [name for name in dict.fromkeys(names) if name not in known]
        for role, names in roles.items()
    }
    absent = {role: names for role, names in absent.items() if names}
    if not absent:
        return
    wrong = [name for names in absent.values() for name in names]
    listed = " and ".join(f"{preview(names)} for the {role}" for role, names in absent.items())
    near = dict.fromkeys(nearest_name(name, known) for name in wrong)
    meant = " and ".join(repr(name) for name in near if name is not None)
    hint = f"Did you mean {meant}?" if meant else "Spell them as in the header."
    if not meant and len(known) == 1:
        hint = "The file was read as one column: say what stands between columns (--sep)."
    raise InputError(f"There is no column {listed}; there are {preview(known, 12)}. {hint}")
