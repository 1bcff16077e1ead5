"""Columns of a table as features: numbers, categories and dates, each learned and then repeated."""

from __future__ import annotations

import datetime
import decimal
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.inputs.bounds import column_bounds
from domindex.inputs.messages import nearest_name, preview
from domindex.inputs.names import is_missing, number_names
from domindex.inputs.streams import ColumnFacts, is_blank, text_of

MISSING_WORDS = frozenset(["na", "n/a", "nan", "null", "none", "-", "?", "missing", "#n/a", "."])
"""What stands for a missing value in a column of numbers. Among texts they are texts."""


@dataclass(frozen=True)
class ColumnSettings:
    """Thresholds of the preparation; none was tuned on a dataset."""

    min_share: float = 0.005  # of rows that a category needs: of rarer ones a few rows lie far out
    max_with_unit: int = 20  # different numbers with a unit, such as doses, that may be categories
    min_rows: int = 50  # below it, values that are all different say nothing
    unique_texts: float = 0.5  # share of different texts from which on they name rows
    collisions: float = 10.0  # pairs of equal whole numbers by chance, which records do not have
    # A column names domains if the domain of this share of rows follows from its value, a value
    # occurs so often on average, and there are so many domains: of two, many columns differ.
    purity: float = 0.95
    repeats: float = 5.0
    min_domains: int = 3
    min_known: float = 0.2  # share of rows with a value below which a column is left out
    # Rows without a value, and their share, from which on that is an input of its own: a category
    # beside the others, or a column of 0 and 1 beside numbers, where a mark costs a feature.
    min_gap_rows: int = 10
    min_gaps: float = 0.05
    max_elsewhere: float = 0.05  # share of rows with a value outside the one domain that has them
    constant_rows: int = 20  # of a domain, all with one number, from which on that is said
    min_varied: int = (
        10  # different numbers elsewhere, of which a constant is no answer like others
    )
    uneven_gaps: float = 0.3  # difference between shares of gaps that would separate two domains
    gap_errors: float = 3.0  # standard errors of a domain's share of gaps beyond that of all rows


SETTINGS = ColumnSettings()


def number_of(value: object) -> float:
    """NaN for anything that is not a number."""
    if isinstance(value, str) and ("_" in value or stands_for_none(value)):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond floats
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def stands_for_none(value: object) -> bool:
    """Whether a value in a column of numbers or dates means that there is none."""
    return is_blank(value) or (isinstance(value, str) and value.strip().lower() in MISSING_WORDS)


Kind = Literal["numbers", "texts", "dates"]


def kind_of(column: pd.Series, *, in_rows: bool = True) -> Kind:
    """Whether a column holds numbers, texts or dates; an error may name a row if `in_rows`."""
    if column.dtype.kind in "biuf":
        return "numbers"
    if column.dtype.kind == "m":
        raise a_date(column)
    if column.dtype.kind == "M":
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


def _kind_of_texts(column: pd.Series, values: Sequence[str], in_rows: bool) -> Kind:
    given = [value for value in dict.fromkeys(values) if not stands_for_none(value)]
    numeric = {value: None for value in given if not np.isnan(number_of(value))}
    if given and len(numeric) == len(given):
        return "numbers"
    if are_dates(given):
        return "dates"
    name = column.name
    otherwise = f"pass --categorical {name} to take all values for categories, or leave it out "
    otherwise += f"(--exclude {name})."
    with_unit = re.compile(r"[+-]?\d+(?:[.,]\d+)?(?P<unit> ?%| [^\W\d]\S*)")
    found = [with_unit.fullmatch(value.strip()) for value in given]
    units = {one["unit"] for one in found if one is not None}
    if len(given) > SETTINGS.max_with_unit and all(found) and len(units) == 1:
        raise InputError(
            f"Column {name!r} holds numbers with a unit: {preview(given, 3)}. Write the numbers "
            f"alone, and {units.pop()!r} into the column's name; or {otherwise}"
        )
    if numeric:
        others = [value for value in given if value not in numeric]
        where = f" (first in row {column.tolist().index(others[0]) + 1})" if in_rows else ""
        raise InputError(
            f"Column {name!r} mixes numbers and texts: {preview(numeric, 3)}, but also "
            f"{preview(others, 3)}{where}. Correct it, {otherwise}"
        )
    return "texts"


def a_date(column: pd.Series, *, is_target: bool = False) -> InputError:
    """For dates where there can be none."""
    values = [str(value) for value in column.tolist() if not is_missing(value)][:2]
    otherwise = "name another target" if is_target else f"leave it out (--exclude {column.name})"
    return InputError(
        f"Column {column.name!r} holds dates or times ({preview(values, 2)}), which are not taken "
        "as they are. Turn them into numbers that mean something, such as the month or the days "
        f"since a start, or {otherwise}."
    )


def numbers_of(column: pd.Series) -> Floats:
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


def require_roles(columns: Iterable[str], roles: Mapping[str, Sequence[str]]) -> None:
    """All names of all roles are columns; those that are not are reported at once."""
    known = list(columns)
    absent = {
        role: missing
        for role, names in roles.items()
        if (missing := [name for name in dict.fromkeys(names) if name not in known])
    }
    if not absent:
        return
    listed = " and ".join(f"{preview(names)} for the {role}" for role, names in absent.items())
    near = dict.fromkeys(nearest_name(name, known) for names in absent.values() for name in names)
    meant = " and ".join(repr(name) for name in near if name is not None)
    hint = f"Did you mean {meant}?" if meant else "Spell them as in the header."
    if not meant and len(known) == 1:
        hint = "The file was read as one column: say what stands between columns (--sep)."
    raise InputError(f"There is no column {listed}; there are {preview(known, 12)}. {hint}")


class Encoded(NamedTuple):
    """A column of a table as features."""

    values: Floats  # (rows, features)
    missing: NDArray[np.bool_]  # (rows,)
    n_bounded: int = 0  # values that were drawn in
    unknown: frozenset[str] = frozenset()  # texts that are no category


@dataclass(frozen=True)
class InputChanges:
    """What was done to columns."""

    filled: Counter[str] = field(default_factory=Counter)  # missing values, filled in simply
    bounded: Counter[str] = field(default_factory=Counter)  # values that were drawn in
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)  # texts of no category
    drawn: Counter[str] = field(default_factory=Counter)  # missing values, drawn given the others
    categories: frozenset[str] = frozenset()  # columns filled by the commonest, not the median

    def __add__(self, other: InputChanges) -> InputChanges:
        unknown = dict(self.unknown)
        for name, texts in other.unknown.items():
            unknown[name] = unknown.get(name, frozenset()) | texts
        filled, bounded = self.filled + other.filled, self.bounded + other.bounded
        categories = self.categories | other.categories
        return InputChanges(filled, bounded, unknown, self.drawn + other.drawn, categories)

    def notes(self, least_shown: int = 1, *, with_texts: bool = True) -> tuple[str, ...]:
        """Sentences; counts below `least_shown` are not said, and texts only where asked for."""
        by = filled_by(self.filled, self.categories).items()
        done = {f"Filled in missing inputs by the sources' {what}": part for what, part in by}
        done["Drew missing inputs from what the others say of them"] = +self.drawn
        done["Drew in values far beyond those of all domains"] = self.bounded
        notes = [f"{what}: {counted(part, least_shown)}." for what, part in done.items() if part]
        for name, texts in self.unknown.items() if with_texts else ():
            notes.append(
                f"Column {name!r} holds {preview(sorted(texts), 3)}, which fit never saw or saw "
                f"rarely; {'it counts' if len(texts) == 1 else 'they count'} as none of its "
                "categories."
            )
        return tuple(notes)


def filled_by(filled: Mapping[str, int], categories: Set[str]) -> dict[str, Counter[str]]:
    """How often each column was filled in, by what with; nothing where nothing was."""
    found: dict[str, Counter[str]] = {"median": Counter(), "commonest category": Counter()}
    for name, count in filled.items():
        found["commonest category" if name in categories else "median"][name] = count
    return {what: counts for what, counts in found.items() if counts}


def counted(counts: Counter[str], least: int) -> str:
    """Columns with their counts, most first; those below `least` are not said."""
    said = ((name, n if n >= least else f"below {least}") for name, n in counts.most_common())
    return preview((f"{name} ({count})" for name, count in said), 5)


class RowRoles(NamedTuple):
    """The domain of every row that columns are learned from, and whether it is a source's."""

    domains: Sequence[str]
    is_source: NDArray[np.bool_]


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers."""

    name: str
    fill: float  # stands in for missing ones
    low: float = -np.inf  # what lies beyond low and high is too far out; what it counts as, an
    high: float = np.inf  # estimator knows: that depends on the domain
    reach: float = 0.0  # values are cut so far beyond, lest one decides on what gaps are filled by
    marks_gaps: bool = False  # whether a second feature says where a value is missing

    @property
    def features(self) -> list[str]:
        return [self.name, *[f"{self.name} (missing)"] * self.marks_gaps]

    def encode(self, column: pd.Series) -> Encoded:
        numbers = numbers_of(column)
        missing = np.isnan(numbers)
        bounded = np.clip(numbers, self.low - self.reach, self.high + self.reach)
        n_bounded = int(((numbers < self.low) | (numbers > self.high)).sum())
        filled = [np.where(missing, self.fill, bounded), *[missing.astype(float)] * self.marks_gaps]
        return Encoded(np.column_stack(filled), missing, n_bounded)


def learn_numbers(
    column: pd.Series, rows: RowRoles, facts: ColumnFacts | None, least: int
) -> NumberColumn | None:
    """None for a column that never changes, or in fewer than `least` rows."""
    name, numbers = str(column.name), numbers_of(column)
    known = numbers[~np.isnan(numbers)]
    ends = [float(known.min()), float(known.max())] if len(known) else []
    if facts is not None:
        if facts.infinite:
            raise InputError(
                f"Column {name!r} is infinite in {facts.infinite} rows. Correct these values, or "
                "leave them empty."
            )
        ends += [end for end in (facts.low, facts.high) if not np.isnan(end)]
    if not ends or min(ends) == max(ends):
        return None
    if facts is None and len(known) - np.unique(known, return_counts=True)[1].max() < least:
        return None
    row_domains = number_names(rows.domains, list(dict.fromkeys(rows.domains)))
    low, high, reach = (float(one[0]) for one in column_bounds(numbers[:, None], row_domains))
    labelled = numbers[~np.isnan(numbers) & rows.is_source]
    middle = labelled if len(labelled) else known if len(known) else np.array(ends)
    with np.errstate(over="ignore"):
        halfway = float(np.median(middle))
    if not np.isfinite(halfway):
        halfway = float(middle[0])
    if np.sum(numbers == halfway) == 1:
        halfway = _rounded(halfway, known)
    fill = float(np.clip(halfway, low, high))
    return NumberColumn(name, fill, *((low, high, reach) if np.isfinite(low) else ()))


def _rounded(value: float, values: Floats) -> float:
    """To a hundredth of what lies between the quartiles: the value of a single row is not kept."""
    with np.errstate(over="ignore"):
        width = float(np.subtract(*np.quantile(values, [0.75, 0.25])))
    if not 0.0 < width < np.inf:
        return value
    unit = 10.0 ** np.floor(np.log10(width) - 2)
    return float(np.round(value / unit) * unit) if unit > 0 else value


@dataclass(frozen=True)
class CategoryColumn:
    """A column of texts, one feature for each category; those of a row add up to 1."""

    name: str
    levels: tuple[str, ...]  # the categories
    fill: str  # the one that stands in for missing ones
    shares: tuple[float, ...] = ()  # of rows in each, for a text that is none; empty for all 0
    has_others: bool = False  # whether, instead, a last feature is for all texts that are none
    marks_gaps: bool = False  # whether missing ones are a category of their own

    @property
    def features(self) -> list[str]:
        named = [f"{self.name}={level}" for level in self.levels]
        gaps, others = f"{self.name}=(missing)", f"{self.name} (others)"
        return [*named, *[gaps] * self.marks_gaps, *[others] * self.has_others]

    def encode(self, column: pd.Series) -> Encoded:
        places, distinct = np.arange(len(column)), column
        plain = column.dtype.kind in "biuf"
        if plain or pd.api.types.infer_dtype(column, skipna=True) == "string":  # no mixture
            places, values = pd.factorize(column, use_na_sentinel=False)
            distinct = pd.Series(values)
        texts = texts_of(distinct)
        missing = np.array([text is None for text in texts], dtype=bool)
        position = {level: number for number, level in enumerate(self.levels)}
        filled = [self.fill if text is None else text for text in texts]
        codes = np.array([position.get(text, -1) for text in filled], dtype=np.int64)
        n_levels, identity = len(self.levels), np.eye(len(self.features))
        others = identity[-1] * self.has_others
        if not self.has_others:
            others[:n_levels] = self.shares or 0.0
        one_hot = np.vstack([identity, others])
        unknown = frozenset(text for text, code in zip(filled, codes) if code < 0)
        if self.marks_gaps:
            codes[missing] = n_levels
        return Encoded(one_hot[codes[places]], missing[places], unknown=unknown)


def least_count(n_rows: int, floor: int) -> int:
    """Rows that a category, or a change in a column of numbers, takes to count."""
    return max(floor, ceil(SETTINGS.min_share * n_rows))


def learn_categories(
    column: pd.Series, rows: RowRoles, facts: ColumnFacts | None, floor: int
) -> tuple[CategoryColumn | None, int]:
    """The column, None where fewer than two categories are left, and how many were pooled."""
    name, texts, several = str(column.name), texts_of(column), len(set(rows.domains)) > 1
    pairs = {(text, domain) for text, domain in zip(texts, rows.domains) if text is not None}
    homes = Counter(text for text, _ in pairs)
    counts = Counter(text for text in texts if text is not None)
    if facts is not None and facts.texts:
        counts = facts.texts
    least = least_count(sum(counts.values()), floor)
    common = (text for text, count in counts.items() if count >= least)
    # one that occurs in a single domain can only stand for its domain
    levels = sorted(text for text in common if homes[text] > 1 or not several)
    n_pooled = len(counts) - len(levels)
    n_in_levels = sum(counts[level] for level in levels)
    enough_others = sum(counts.values()) - n_in_levels >= least
    if not levels or len(counts) < 2 or (len(levels) < 2 and not enough_others):
        return None, n_pooled
    labelled = Counter(t for t, source in zip(texts, rows.is_source) if source and t in set(levels))
    shown = labelled or Counter({level: counts[level] for level in levels})
    fill = min(shown, key=lambda text: (-shown[text], text))
    homes_of_others = {domain for text, domain in pairs if text not in set(levels)}
    if enough_others and (len(homes_of_others) > 1 or not several):
        return CategoryColumn(name, tuple(levels), fill, (), True), n_pooled
    if len(levels) < 2:
        return None, n_pooled
    shares = tuple(counts[level] / n_in_levels for level in levels)
    return CategoryColumn(name, tuple(levels), fill, shares), n_pooled


PARTS = ("year", "month", "weekday", "hour")
"""What is taken of a date: numbers, Monday is 0."""

_CLOCK = r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})([:.]\d{2}([.,]\d+)?)?"
_YEAR_FIRST = re.compile(
    rf"(?P<year>\d{{4}})[-/.](?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})([T ]{_CLOCK}.*)?"
)
_YEAR_LAST = re.compile(
    rf"(?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})[-/.](?P<year>\d{{4}})([T ]{_CLOCK}.*)?"
)
_TIME = re.compile(r"(?P<hour>\d{1,2})(:\d{2}([:.]\d{2}([.,]\d+)?)?|\.\d{2}[:.]\d{2}([.,]\d+)?)")


@dataclass(frozen=True)
class DateColumn:
    """A column of dates or times of day, one feature for each part."""

    name: str
    parts: tuple[str, ...]  # those of `PARTS` that change
    fills: tuple[float, ...]  # stand in for missing ones, one a part
    month_first: bool = False  # whether 3/4/2020 is in March

    @property
    def features(self) -> list[str]:
        return [f"{self.name}: {part}" for part in self.parts]

    def encode(self, column: pd.Series) -> Encoded:
        parts = date_parts(column, self.month_first)
        chosen = parts[:, [PARTS.index(part) for part in self.parts]]
        missing = np.isnan(chosen)
        filled = np.where(missing, np.array(self.fills), chosen)
        return Encoded(filled, np.asarray(missing.any(axis=1)))


def learn_dates(column: pd.Series, rows: RowRoles) -> DateColumn | None:
    """The parts that change; None where none does."""
    month_first = is_month_first(column)
    fills = {}
    for name, part in zip(PARTS, date_parts(column, month_first).T):
        known = ~np.isnan(part)
        if len(np.unique(part[known])) > 1:
            labelled = part[known & rows.is_source]
            fills[name] = float(np.median(labelled if len(labelled) else part[known]))
    if not fills:
        return None
    return DateColumn(str(column.name), tuple(fills), tuple(fills.values()), month_first)


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all of these texts are dates, or all are times of day."""
    stripped = [text.strip() for text in texts]
    dates = all(_YEAR_FIRST.fullmatch(text) or _YEAR_LAST.fullmatch(text) for text in stripped)
    return bool(texts) and (dates or all(map(_TIME.fullmatch, stripped)))


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


def _parts(value: object, month_first: bool) -> tuple[float, ...] | None:
    """In the order of `PARTS`; None for what is no date."""
    if stands_for_none(value):
        return (np.nan,) * len(PARTS)
    if isinstance(value, datetime.date):
        hour = value.hour if isinstance(value, datetime.datetime) else np.nan
        return (value.year, value.month, value.weekday(), hour)
    if isinstance(value, datetime.time):
        return (np.nan, np.nan, np.nan, value.hour)
    text = str(value).strip()
    time = _TIME.fullmatch(text)
    if time is not None:
        return (np.nan, np.nan, np.nan, float(time["hour"]))
    year_first = _YEAR_FIRST.fullmatch(text)
    found = year_first or _YEAR_LAST.fullmatch(text)
    if found is None:
        return None
    month, day = int(found["first"]), int(found["second"])
    if year_first is None and not month_first:
        month, day = day, month
    try:
        weekday = datetime.date(int(found["year"]), month, day).weekday()
    except ValueError:
        return None
    hour = np.nan if found["hour"] is None else float(found["hour"])
    return (float(found["year"]), float(month), float(weekday), hour)
