"""From a data frame to numbers, learned once and repeated on every later table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.inputs.columns import (
    PARTS,
    SETTINGS,
    CategoryColumn,
    DateColumn,
    InputChanges,
    NumberColumn,
    RowRoles,
    counted,
    kind_of,
    learn_categories,
    learn_dates,
    learn_numbers,
    least_count,
    numbers_of,
    require_roles,
    stands_for_none,
)
from domindex.inputs.messages import preview
from domindex.inputs.names import group_rows
from domindex.inputs.streams import ColumnFacts, is_blank, text_of

Mask = NDArray[np.bool_]
Missing = Literal["impute", "error"]
Column = NumberColumn | CategoryColumn | DateColumn

MIN_SHARED = 5
"""Rows from which on counts and means are shown to others, as statistical offices commonly do."""

BY_COMMAS = {"by_commas": True}
"""Metadata of a field that holds names, which the command line is given as one text."""


@dataclass(frozen=True)
class InputRequest:
    """Which columns are inputs, and what is done to them.

    Attributes
    ----------
    features : the inputs; all columns that are nothing else where None
    exclude : columns that are no inputs, and of which nothing is shown
    key : the column that names rows: no input, shown nowhere, and part of every prediction
    categorical : columns whose values are categories even if they look like numbers
    keep_columns : columns that are inputs although they look like names of rows or of domains
    dates : take parts of dates (year, month, weekday, hour) as inputs
    missing : "impute" or "error"
    share : what is learned is to be shown to others: categories below 5 rows are pooled

    Examples
    --------
    >>> InputRequest(exclude=["note"], dates=True).dates
    True
    """

    features: Sequence[str] | None = field(default=None, metadata=BY_COMMAS)
    exclude: Sequence[str] = field(default=(), metadata=BY_COMMAS)
    key: str | None = None
    categorical: Sequence[str] = field(default=(), metadata=BY_COMMAS)
    keep_columns: Sequence[str] = field(default=(), metadata=BY_COMMAS)
    dates: bool = False
    missing: Missing = "impute"
    share: bool = False

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            raise InputError(f"missing is {self.missing!r}. Choose 'impute' or 'error'.")

    @property
    def hidden(self) -> list[str]:
        """What is no input and shown nowhere."""
        return [*self.exclude, *([] if self.key is None else [self.key])]

    @property
    def least_shown(self) -> int:
        """Counts below this are not said."""
        return MIN_SHARED if self.share else 1


def input_names(
    columns: Sequence[str], reserved: Sequence[str], request: InputRequest
) -> list[str]:
    """The columns that are inputs: those asked for, or all but `reserved`, domain and targets.

    Examples
    --------
    >>> input_names(["site", "age", "note", "y"], ["site", "y"], InputRequest(exclude=["note"]))
    ['age']
    """
    taken = {*reserved, *request.hidden}
    if request.features is None:
        return [name for name in columns if name not in taken]
    require_roles(columns, {"inputs": request.features})
    wrong = [name for name in request.features if name in reserved]
    if wrong:
        raise InputError(
            f"{preview(wrong)} cannot be an input: it is the domain or a target. "
            "Leave it out of --features."
        )
    return [name for name in dict.fromkeys(request.features) if name not in taken]


@dataclass(frozen=True, eq=False)
class PreparedInputs:
    """Inputs (rows, features), and what was done to them that a user should know."""

    values: Floats
    changes: InputChanges

    @property
    def notes(self) -> tuple[str, ...]:
        return self.changes.notes()


@dataclass(frozen=True)
class TablePreparation:
    """Which columns are inputs, and how they become numbers.

    Attributes
    ----------
    columns : the inputs, in the order of the features they become
    missing : "impute" fills gaps with the sources' median or commonest text, "error" refuses them
    imputations : of columns whose gaps would place a domain
    notes : sentences on what was done to the table that it was learned from

    Examples
    --------
    >>> table = pd.DataFrame({"age": [1.0, 2, 3, 4, 5, 6], "sex": list("fmfmfm")})
    >>> sites, is_source = list("aabbcc"), [True] * 4 + [False] * 2
    >>> preparation, notes = TablePreparation.fit(table, domains=sites, is_source=is_source)
    >>> preparation.features
    ['age', 'sex=f', 'sex=m']
    >>> preparation.apply(table).values[0].tolist()
    [1.0, 1.0, 0.0]
    """

    columns: tuple[Column, ...]
    missing: Missing = "impute"
    imputations: tuple[Imputation, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns of a table that are inputs."""
        return [column.name for column in self.columns]

    @property
    def features(self) -> list[str]:
        """Names of the features, one per column of the prepared inputs."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def is_numeric(self) -> bool:
        """Whether rows without gaps are inputs as they are: all columns hold numbers."""
        return all(isinstance(one, NumberColumn) and not one.marks_gaps for one in self.columns)

    @classmethod
    def fit(
        cls,
        table: pd.DataFrame,
        *,
        domains: Sequence[str],
        is_source: Any,
        request: InputRequest | None = None,
        facts: Mapping[str, ColumnFacts] | None = None,
        in_python: bool = False,
    ) -> tuple[TablePreparation, tuple[str, ...]]:
        """Learn from a table whose source rows are marked; also returns notes for the user.

        Parameters
        ----------
        table : all rows, of the columns that may be inputs: see `input_names`
        domains : the domain of every row
        is_source : (rows,)
        request : what is done to the columns
        facts : what all rows hold, where the table is a sample of a larger one
        in_python : notes do not name options of the command line
        """
        rows = RowRoles(domains, np.asarray(is_source, dtype=bool))
        request = request or InputRequest()
        columns, left_out, pooled = _learn_all(table, rows, request, facts or {})
        notes = _notes(columns, left_out, pooled, request.least_shown, in_python and bool(columns))
        if not len(table.columns):
            raise InputError(
                "No column is left to be an input: all are the domain, a target or left out. Name "
                "some (--features), or leave fewer out (--exclude)."
            )
        if not columns:
            raise InputError(
                f"No input is left of {preview(table.columns)}: {' '.join(notes)} Name columns "
                "that differ between rows (--features), or keep some of these (--keep-column)."
            )
        plain = cls(tuple(columns), request.missing)
        said = _constant_notes(plain.columns, table, domains)
        if plain.missing == "error":
            return plain, (*notes, *said)
        lacking = _lacking(plain, table, domains)
        plain = replace(plain, columns=_marked(plain, table, rows, set(lacking)))
        imputations = _learn_imputations(plain, table, domains, lacking)
        return replace(plain, imputations=imputations), (*notes, *said, *_gap_notes(plain, lacking))

    def apply(self, table: pd.DataFrame) -> PreparedInputs:
        """The inputs of a table, prepared as the first was; the table is not changed."""
        simple, missing, changes = self._encode(table)
        filled = changes.filled
        if filled and self.missing == "error":
            name, count = filled.most_common(1)[0]
            raise InputError(
                f"{sum(filled.values())} inputs are missing in {count_columns(filled)}, most in "
                f"{name!r} ({count}). Fill them in, or let them be imputed (--missing impute)."
            )
        features = simple.copy()
        for name, imputation in self.drawn_columns.items():
            imputation.fill(simple, missing[name], features)
            changes.drawn[name] = filled.pop(name, 0)
        return PreparedInputs(features, changes)

    def _encode(self, table: pd.DataFrame) -> tuple[Floats, dict[str, Mask], InputChanges]:
        """Features with simple fills, where each column was missing, and what was done."""
        require_roles(table.columns, {"inputs": self.names})
        encoded = {column.name: column.encode(table[column.name]) for column in self.columns}
        missing = {name: one.missing for name, one in encoded.items()}
        own = {c.name for c in self.columns if isinstance(c, CategoryColumn) and c.marks_gaps}
        filled = {name: int(gone.sum()) for name, gone in missing.items() if name not in own}
        changes = InputChanges(
            +Counter(filled),
            Counter({name: one.n_bounded for name, one in encoded.items() if one.n_bounded}),
            {name: one.unknown for name, one in encoded.items() if one.unknown},
            categories=self.category_columns,
        )
        return np.hstack([one.values for one in encoded.values()]), missing, changes

    def _slices(self) -> dict[str, slice]:
        """Which features each column becomes."""
        ends = np.cumsum([0, *(len(column.features) for column in self.columns)]).tolist()
        return dict(zip(self.names, map(slice, ends, ends[1:])))

    @property
    def category_columns(self) -> frozenset[str]:
        """Columns of categories: what is missing there is filled in by the commonest."""
        return frozenset(one.name for one in self.columns if isinstance(one, CategoryColumn))

    @property
    def drawn_columns(self) -> dict[str, Imputation]:
        """Columns whose gaps are filled by draws."""
        owners = {features.start: name for name, features in self._slices().items()}
        return {owners[one.feature]: one for one in self.imputations}

    def to_dict(self) -> dict[str, Any]:
        """In terms of JSON, which has no infinity: bounds that are none are left out."""
        parts = [asdict(column).items() for column in self.columns]
        columns = [{k: v for k, v in part if v not in (np.inf, -np.inf)} for part in parts]
        imputations = [asdict(one) for one in self.imputations]
        learned = {"missing": self.missing, "columns": columns, "imputations": imputations}
        return learned | {"notes": list(self.notes)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TablePreparation:
        """What `to_dict` gave; ValueError, KeyError or TypeError for anything else."""
        columns = tuple(_column_from(column) for column in content["columns"])
        if not columns:
            raise ValueError("there are no columns")
        if content["missing"] not in get_args(Missing):
            raise ValueError(f"missing is {content['missing']!r}")
        imputations = tuple(Imputation.from_dict(one) for one in content.get("imputations", ()))
        notes = tuple(str(note) for note in content.get("notes", ()))
        found = cls(columns, content["missing"], imputations, notes)
        starts = {one.start for one in found._slices().values()}
        sizes = (0, len(found.features) + 1)
        if any(one.feature not in starts or len(one.weights) not in sizes for one in imputations):
            raise ValueError("an imputation does not fit the columns")
        return found


def _column_from(content: Mapping[str, Any]) -> Column:
    name = content["name"]
    if not isinstance(name, str):
        raise ValueError("a column's name is no text")
    if "levels" in content:
        levels = tuple(str(level) for level in content["levels"])
        shares = tuple(float(one) for one in content.get("shares", ()))
        if len(shares) not in (0, len(levels)):
            raise ValueError("a category has no share")
        marks = [bool(content.get(key, False)) for key in ("has_others", "marks_gaps")]
        return CategoryColumn(name, levels, str(content["fill"]), shares, *marks)
    if "parts" in content:
        fills = tuple(float(one) for one in content["fills"])
        parts = tuple(str(part) for part in content["parts"])
        if len(fills) != len(parts) or not set(parts) <= set(PARTS):
            raise ValueError("the parts of a date are unknown")
        return DateColumn(name, parts, fills, bool(content["month_first"]))
    bounds = {key: float(content[key]) for key in ("low", "high", "reach") if key in content}
    marks_gaps = bool(content.get("marks_gaps", False))
    return NumberColumn(name, float(content["fill"]), **bounds, marks_gaps=marks_gaps)


def _learn_all(
    table: pd.DataFrame, rows: RowRoles, request: InputRequest, facts: Mapping[str, ColumnFacts]
) -> tuple[list[Column], dict[str, list[str]], Counter[str]]:
    """The inputs; columns that are none, by the reason; how many texts of each were pooled."""
    columns: list[Column] = []
    left_out: dict[str, list[str]] = {}
    pooled, errors = Counter[str](), list[InputError]()
    for name in table.columns:
        try:
            found = _learn(table[name], rows, request, facts.get(name))
        except InputError as error:
            errors.append(error)
            continue
        learned, reason, n_pooled = found
        if learned is None:
            left_out.setdefault(reason, []).append(name)
        else:
            columns.append(learned)
            pooled[name] = n_pooled
    if len(errors) == 1:
        raise errors[0]
    if errors:
        listed = " ".join(f"({number}) {error}" for number, error in enumerate(errors, start=1))
        raise InputError(f"{len(errors)} columns cannot be used as they are. {listed}")
    return columns, left_out, +pooled


def _learn(
    column: pd.Series, rows: RowRoles, request: InputRequest, facts: ColumnFacts | None
) -> tuple[Column | None, str, int]:
    """The column, or the reason why it is none; and how many of its texts were pooled."""
    name, kind = str(column.name), "texts"
    if name not in request.categorical and facts is not None and facts.texts:
        texts = pd.Series(sorted(facts.texts), name=name, dtype=object)  # of all rows
        kind = kind_of(texts, in_rows=False)
    elif name not in request.categorical:
        kind = kind_of(column)
    if kind == "dates":
        return (learn_dates(column, rows) if request.dates else None), "dates", 0
    if name not in request.keep_columns and request.features is None:
        if kind == "numbers":  # where ? and NA are no values
            column = column.mask([stands_for_none(value) for value in column.tolist()])
        n_known = sum(not is_blank(value) for value in column.tolist())
        too_many = facts is not None and facts.texts is None and kind == "texts"
        if too_many or names_rows(column, kind == "texts"):
            return None, "names rows", 0
        home = home_of(column, rows.domains)
        if home is not None:
            return None, f"missing nearly everywhere but in {home!r}", 0
        if names_domain(column, rows.domains):
            return None, "names domain", 0
        if 0 < n_known < SETTINGS.min_known * len(column):
            return None, "mostly missing", 0
    floor = max(2, request.least_shown)
    if kind == "numbers":
        least = least_count(len(column), floor) if name not in request.keep_columns else 1
        return learn_numbers(column, rows, facts, least), "never change", 0
    learned, n_pooled = learn_categories(column, rows, facts, floor)
    return learned, "never change" if n_pooled < 2 else "names domain", n_pooled


def names_rows(column: pd.Series, is_text: bool) -> bool:
    """Whether the values are those of a record number, a key or a free text."""
    values = [value for value in column.tolist() if not is_blank(value)]
    if len(values) < SETTINGS.min_rows:
        return False
    n_distinct = len(set(values))
    if is_text:
        return n_distinct > SETTINGS.unique_texts * len(values)
    if n_distinct < len(values):
        return False
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    if (np.mod(numbers, 1) != 0).any():
        return False
    width = float(numbers.max() - numbers.min()) + 1.0
    words = r"(^|[_\W])(id|ids|uuid|guid|mrn|key|record|nr|no|number|code|case)([_\W]|$)"
    called_so = re.search(words, str(column.name), re.IGNORECASE) is not None
    return called_so or len(values) ** 2 / (2.0 * width) > SETTINGS.collisions


def home_of(column: pd.Series, domains: Sequence[str]) -> str | None:
    """The one domain in which a column has values, where hardly any row of the others has one."""
    known = Counter(d for value, d in zip(column.tolist(), domains) if not is_blank(value))
    sizes = Counter(domains)
    if len(sizes) < 2 or sum(known.values()) < SETTINGS.min_rows:
        return None
    home, count = known.most_common(1)[0]
    elsewhere = len(domains) - sizes[home]
    if elsewhere < SETTINGS.min_rows or count < sizes[home] / 2:
        return None
    return home if sum(known.values()) - count <= SETTINGS.max_elsewhere * elsewhere else None


def names_domain(column: pd.Series, domains: Sequence[str]) -> bool:
    """Whether the domain of nearly every row follows from its value, over and over again."""
    pairs = [(text_of(v), d) for v, d in zip(column.tolist(), domains) if not is_blank(v)]
    present = {domain for _, domain in pairs}
    if len(pairs) < SETTINGS.min_rows or len(present) < SETTINGS.min_domains:
        return False
    best: dict[str, int] = {}
    for (value, _), count in Counter(pairs).items():
        best[value] = max(best.get(value, 0), count)
    if len(best) < len(present) or len(pairs) < SETTINGS.repeats * len(best):
        return False
    return sum(best.values()) >= SETTINGS.purity * len(pairs)


def _notes(
    columns: Sequence[Column],
    left_out: Mapping[str, Sequence[str]],
    pooled: Counter[str],
    least_shown: int,
    in_python: bool,
) -> tuple[str, ...]:
    """What was done to the columns, and what to do about it; small counts are not said."""
    keep = "Pass --keep-column to use them."
    dates = "Pass --dates to use the year, month, weekday and hour."
    if in_python:
        keep = "To use them: fit(..., columns={'keep_columns': [...]})."
        dates = "To use year, month, weekday and hour: fit(..., columns={'dates': True})."
    words = {  # which columns, and what to do about it
        "never change": ("with one value, or nearly", ""),
        "names rows": ("whose values name rows, as numbers of records or free texts do", keep),
        "names domain": ("whose values name the domain, as codes and postcodes do", keep),
        "dates": ("of dates or times", dates),
        "mostly missing": ("missing in most rows", keep),
    }
    words |= {reason: (reason, keep) for reason in left_out if reason not in words}
    notes = []
    for reason, (why, advice) in words.items():
        if names := left_out.get(reason):
            done = "Left out" if advice else "Dropped"
            text = f"{done} {count_columns(names)} {why}: {preview(names, 10)}. {advice}"
            notes.append(text.rstrip())
    coded = [column.name for column in columns if isinstance(column, CategoryColumn)]
    if coded:
        notes.append(f"One-hot encoded {count_columns(coded)}: {preview(coded)}.")
    if pooled:
        listed = counted(pooled, least_shown)
        notes.append(f"Pooled categories that are rare or of one domain only: {listed}.")
    return tuple(notes)


def count_columns(names: Any) -> str:
    return "1 column" if len(names) == 1 else f"{len(names)} columns"


@dataclass(frozen=True)
class Imputation:
    """Missing values of a column as a draw given the other inputs, the same for the same row.

    A constant would place a domain that lacks the column at one point of it.
    """

    feature: int  # number of the (first) feature of the column
    # Of all features, as they are with simple fills, and an intercept at the end. Empty for
    # categories, which are drawn by their shares.
    weights: tuple[float, ...]
    residuals: tuple[float, ...]  # quantiles of what weights leave; or shares of categories, summed

    @classmethod
    def fit(
        cls, features: Floats, missing: Mask, columns: slice, usable: Mask, domains: Sequence[str]
    ) -> Imputation:
        """How a column, `columns` of the features, follows from the `usable` ones."""
        known, n_residuals, ridge = features[~missing], 33, 1e-3
        if columns.stop - columns.start > 1:
            shares = np.maximum(known[:, columns].mean(axis=0), 1e-9)
            return cls(columns.start, (), tuple((shares / shares.sum()).cumsum().tolist()))
        given, values = known[:, usable], known[:, columns.start]
        counts = pd.Series(np.asarray(domains, dtype=object)[~missing])
        weight = 1.0 / counts.map(counts.value_counts()).to_numpy(dtype=np.float64)
        weight /= weight.sum()
        middle, mean = weight @ given, weight @ values
        spread = np.sqrt(weight @ (given - middle) ** 2)
        unit = np.where(spread > 0, spread, 1.0)
        scaled = (given - middle) / unit
        gram = (scaled * weight[:, None]).T @ scaled + ridge * np.eye(scaled.shape[1])
        slopes = np.linalg.solve(gram, (scaled * weight[:, None]).T @ (values - mean)) / unit
        intercept = mean - middle @ slopes
        middles = (np.arange(n_residuals) + 0.5) / n_residuals
        residuals = np.quantile(values - given @ slopes - intercept, middles)
        weights = np.zeros(features.shape[1] + 1)
        weights[:-1][usable], weights[-1] = slopes, intercept
        return cls(columns.start, tuple(weights.tolist()), tuple(residuals.tolist()))

    def fill(self, simple: Floats, missing: Mask, features: Floats) -> None:
        """Draws given `simple`, filled simply, into `features`, where `missing` (rows,) says."""
        rows = simple[missing]
        if not len(rows):
            return
        chance = _row_chances(rows, self.feature)
        residuals = np.array(self.residuals)
        if self.weights:
            expected = rows @ np.array(self.weights[:-1]) + self.weights[-1]
            drawn = residuals[np.minimum((chance * len(residuals)).astype(int), len(residuals) - 1)]
            features[missing, self.feature] = expected + drawn
            return
        level = np.searchsorted(residuals[:-1], chance, side="right")
        columns = slice(self.feature, self.feature + len(residuals))
        features[missing, columns] = level[:, None] == np.arange(len(residuals))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Imputation:
        weights = tuple(float(one) for one in content["weights"])
        residuals = tuple(float(one) for one in content["residuals"])
        if not residuals or not np.isfinite([*weights, *residuals]).all():
            raise ValueError("an imputation is not of finite numbers")
        return cls(int(content["feature"]), weights, residuals)


def _row_chances(rows: Floats, salt: int) -> Floats:
    """(rows,) numbers in 0…1 that look random and follow from the bits of each row alone."""
    mixed = np.full(len(rows), 0x9E3779B97F4A7C15 ^ salt, dtype=np.uint64)
    for column in np.ascontiguousarray(rows.T):
        hashed = pd.util.hash_array(column + 0.0)
        mixed = (mixed ^ hashed) * np.uint64(0x100000001B3)
    return (pd.util.hash_array(mixed) >> np.uint64(11)) / float(2**53)


def _lacking(
    plain: TablePreparation, table: pd.DataFrame, domains: Sequence[str]
) -> dict[str, list[str]]:
    """Columns whose gaps are not spread evenly, and the domains that lack them."""
    _, missing, _ = plain._encode(table)
    groups = list(group_rows(list(domains), len(domains)))
    lacking: dict[str, list[str]] = {}
    for column in plain.columns:
        gaps = missing[column.name]
        if not gaps.any() or isinstance(column, DateColumn):
            continue
        shares = np.array([gaps[rows].mean() for _, rows in groups])
        overall = float(gaps.mean())
        chance = np.sqrt(overall * (1.0 - overall)) or 1.0
        errors = (shares - overall) * np.sqrt([len(rows) for _, rows in groups]) / chance
        uneven = (shares - shares.min() >= SETTINGS.uneven_gaps) & (errors > SETTINGS.gap_errors)
        if uneven.any():
            lacking[column.name] = [str(groups[k][0]) for k in np.flatnonzero(uneven)]
    return lacking


def _marked(
    plain: TablePreparation, table: pd.DataFrame, rows: RowRoles, lacking: set[str]
) -> tuple[Column, ...]:
    """The columns, those with enough gaps as ones that say where: no value is news of its own.

    Not where domains lack the column, which such a mark would tell apart by it.
    """
    _, missing, _ = plain._encode(table)
    found = list[Column]()
    for column in plain.columns:
        gaps = missing[column.name]
        homes = {domain for domain, gone in zip(rows.domains, gaps) if gone}
        is_number = isinstance(column, NumberColumn)
        share = SETTINGS.min_gaps if is_number else SETTINGS.min_share
        if (
            not isinstance(column, DateColumn)
            and column.name not in lacking
            and gaps.sum() >= max(SETTINGS.min_gap_rows, share * len(gaps))
            and (gaps & rows.is_source).any()
            and (len(homes) > 1 or len(set(rows.domains)) == 1)
        ):
            column = replace(column, marks_gaps=True)
        found.append(column)
    return tuple(found)


def _learn_imputations(
    plain: TablePreparation, table: pd.DataFrame, domains: Sequence[str], lacking: Iterable[str]
) -> tuple[Imputation, ...]:
    """Draws for columns that domains lack."""
    features, missing, _ = plain._encode(table)
    slices, usable = plain._slices(), np.ones(features.shape[1], dtype=bool)
    for name in lacking:
        usable[slices[name]] = False
    return tuple(
        Imputation.fit(features, missing[name], slices[name], usable, domains) for name in lacking
    )


def _gap_notes(plain: TablePreparation, lacking: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What becomes of gaps, in a sentence for all columns of which it is true."""
    notes = list[str]()
    together: dict[tuple[str, ...], list[str]] = {}
    for name, where in lacking.items():
        together.setdefault(tuple(where), []).append(name)
    ordered = sorted(together.items(), key=lambda one: -len(one[1]))
    for domains, names in ordered[:3]:
        notes.append(
            f"{_columns(names)} missing in much more of {preview(domains, 3)} than elsewhere: "
            "drawn there from what the other inputs say of it, so that the gap does not place a "
            "domain."
        )
    if rest := [name for _, names in ordered[3:] for name in names]:
        notes.append(f"{_columns(rest)} missing mostly in other domains, and drawn there likewise.")
    marked = [one for one in plain.columns if not isinstance(one, DateColumn) and one.marks_gaps]
    texts = [one.name for one in marked if isinstance(one, CategoryColumn)]
    if texts:
        what = "Missing values are a category of their own in"
        notes.append(f"{what} {count_columns(texts)}: {preview(texts)}.")
    numbers = [one.name for one in marked if isinstance(one, NumberColumn)]
    if numbers:
        what = "A column of its own says where a value is missing, for"
        notes.append(f"{what} {count_columns(numbers)}: {preview(numbers)}.")
    return tuple(notes)


def _columns(names: Sequence[str]) -> str:
    """Columns as the subject of a sentence."""
    if len(names) == 1:
        return f"Column {names[0]!r} is"
    return f"{len(names)} columns ({preview(names, 5)}) are"


def _constant_notes(
    columns: Sequence[Column], table: pd.DataFrame, domains: Sequence[str]
) -> tuple[str, ...]:
    """A word on numbers that never change in a domain and vary elsewhere, as 0 for "not measured"
    does."""
    names = [one.name for one in columns if isinstance(one, NumberColumn)]
    if not names:
        return ()
    numbers = {name: numbers_of(table[name]) for name in names}
    grouped = pd.DataFrame(numbers).groupby(np.asarray(domains, dtype=object))
    low, high, known = grouped.min(), grouped.max(), grouped.count()
    found = list[str]()
    for name in names:
        constant = (low[name] == high[name]) & (known[name] >= SETTINGS.constant_rows)
        if not constant.any() or constant.mean() > 0.5:
            continue
        where = constant.index[constant]
        elsewhere = numbers[name][~np.isin(domains, list(where))]
        if len(np.unique(elsewhere[~np.isnan(elsewhere)])) <= SETTINGS.min_varied:
            continue
        value = text_of(float(low.loc[where[0], name]))
        more = f" and in {len(where) - 1} more" if len(where) > 1 else ""
        found.append(f"{name!r} is {value} in all rows of {str(where[0])!r}{more}")
    if not found:
        return ()
    listed = "; ".join(found[:3]) + ("; …" if len(found) > 3 else "")
    return (
        f"{count_columns(found).capitalize()} with one number in a whole domain that varies "
        f"elsewhere: {listed}. Where that stands for a missing value, leave the field empty.",
    )
