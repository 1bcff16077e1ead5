"""From a data frame to numbers, learned once and repeated on every later table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.inputs.columns import (
    PARTS,
    CategoryColumn,
    DateColumn,
    InputChanges,
    Kind,
    NumberColumn,
    kind_of,
    learn_categories,
    learn_dates,
    learn_numbers,
    least_count,
    require_columns,
)
from domindex.inputs.messages import preview
from domindex.inputs.stream_summary import ColumnFacts
from domindex.inputs.streams import is_blank
from domindex.inputs.suspect_columns import (
    FEW_KNOWN,
    Imputation,
    learn_imputation,
    names_domain,
    names_rows,
    uneven_domains,
)

__all__ = ["InputRequest", "Missing", "PreparedInputs", "TablePreparation", "input_names"]

Missing = Literal["impute", "error"]

LEAST_SHARED = 5
"""Rows, and occurrences of a category, from which on counts and means are shown in what is shared
with others; the bound that statistical offices commonly use for cells of a table."""


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
    >>> from domindex.inputs.preparation import InputRequest
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
        """Columns that are no inputs, and of which nothing is shown."""
        return [*self.exclude, *([] if self.key is None else [self.key])]

    @property
    def least_shown(self) -> int:
        """Counts below this are not said."""
        return LEAST_SHARED if self.share else 1


Column = NumberColumn | CategoryColumn | DateColumn

LEFT_OUT = {
    "never change": "Dropped {columns} with one value, or nearly: {names}.",
    "names rows": "Left out {columns} whose values name rows, as numbers of records or free texts "
    "do: {names}. {keep}",
    "names domain": "Left out {columns} whose values name the domain, as codes and postcodes do: "
    "{names}. {keep}",
    "dates": "Left out {columns} of dates or times: {names}. {dates}",
    "mostly missing": "Left out {columns} missing in most rows: {names}. {keep}",
}
"""Why a column is no input, and what is said of it."""

ON_THE_SHELL = {
    "keep": "Pass --keep-column to use them.",
    "dates": "Pass --dates to use the year, month, weekday and hour.",
}
IN_PYTHON = {
    "keep": "To use them, make numbers without gaps of all columns before fit.",
    "dates": "To use them, turn them into numbers before fit, such as the month.",
}
"""What to do about it."""


@dataclass(frozen=True)
class LearnedColumns:
    """The inputs; columns that are none, by the reason; and how many texts of each were pooled."""

    columns: tuple[Column, ...]
    left_out: Mapping[str, tuple[str, ...]]
    pooled: Counter[str] = field(default_factory=Counter)

    def notes(self, least_shown: int = 1, *, in_python: bool = False) -> tuple[str, ...]:
        return tuple(self._notes(least_shown, IN_PYTHON if in_python else ON_THE_SHELL))

    def _notes(self, least_shown: int, advice: Mapping[str, str]) -> Iterator[str]:
        for reason, words in LEFT_OUT.items():
            names = self.left_out.get(reason, ())
            if names:
                listed = preview(names, 10)
                yield words.format(columns=count_columns(names), names=listed, **advice)
        coded = [column.name for column in self.columns if isinstance(column, CategoryColumn)]
        if coded:
            yield f"One-hot encoded {count_columns(coded)}: {preview(coded)}."
        if self.pooled:
            said = (
                f"{name} ({count if count >= least_shown else f'below {least_shown}'})"
                for name, count in self.pooled.most_common()
            )
            yield f"Pooled categories that are rare or of one domain only: {preview(said)}."


def learn_columns(
    table: pd.DataFrame,
    names: Sequence[str],
    is_source: NDArray[np.bool_],
    domains: Sequence[str],
    request: InputRequest,
    facts: Mapping[str, ColumnFacts],
) -> LearnedColumns:
    """All columns in turn; those that cannot be used are reported together."""
    columns: list[Column] = []
    left_out: dict[str, list[str]] = {}
    pooled, errors = Counter[str](), list[InputError]()
    for name in names:
        rows = (table[name], is_source, domains)
        try:
            learned, reason, n_pooled = _learn(*rows, request, facts.get(name))
        except InputError as error:
            errors.append(error)
            continue
        if learned is not None:
            columns.append(learned)
            if n_pooled:
                pooled[name] = n_pooled
        else:
            left_out.setdefault(reason, []).append(name)
    if errors:
        raise _all_at_once(errors)
    return LearnedColumns(tuple(columns), {k: tuple(v) for k, v in left_out.items()}, pooled)


def count_columns(names: Any) -> str:
    return "1 column" if len(names) == 1 else f"{len(names)} columns"


def _learn(
    column: pd.Series,
    is_source: NDArray[np.bool_],
    domains: Sequence[str],
    request: InputRequest,
    facts: ColumnFacts | None,
) -> tuple[Column | None, str, int]:
    """The column, or the reason why it is none; and how many of its texts were pooled."""
    name = str(column.name)
    kind: Kind = "texts" if name in request.categorical else _kind(column, facts)
    keep = name in request.keep_columns or request.features is not None
    if kind == "dates":
        return (learn_dates(column, is_source) if request.dates else None), "dates", 0
    if not keep:
        reason = _suspicion(column, kind, domains, facts)
        if reason:
            return None, reason, 0
    floor = max(2, request.least_shown)
    if kind == "numbers":
        least = least_count(len(column), floor) if name not in request.keep_columns else 1
        return learn_numbers(column, is_source, domains, facts, least), "never change", 0
    learned, n_pooled = learn_categories(column, is_source, domains, facts, floor)
    return learned, "never change" if n_pooled < 2 else "names domain", n_pooled


def _suspicion(
    column: pd.Series, kind: Kind, domains: Sequence[str], facts: ColumnFacts | None
) -> str:
    """Why a column is left out unless it was asked for; empty where it is not."""
    n_known = sum(not is_blank(value) for value in column.tolist())
    too_many = facts is not None and facts.texts is None and kind == "texts"
    if too_many or names_rows(column, kind == "texts"):
        return "names rows"
    if names_domain(column, domains):
        return "names domain"
    return "mostly missing" if 0 < n_known < FEW_KNOWN * len(column) else ""


def _kind(column: pd.Series, facts: ColumnFacts | None) -> Kind:
    """By all texts of a column where they are known."""
    if facts is None or not facts.texts:
        return kind_of(column)
    return kind_of(pd.Series(sorted(facts.texts), name=column.name, dtype=object), in_rows=False)


def _all_at_once(errors: Sequence[InputError]) -> InputError:
    if len(errors) == 1:
        return errors[0]
    listed = " ".join(f"({number}) {error}" for number, error in enumerate(errors, start=1))
    return InputError(f"{len(errors)} columns cannot be used as they are. {listed}")


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
    missing : "impute" fills missing inputs with the source rows' median, or most frequent text;
        "error" refuses them
    imputations : of columns whose gaps would place a domain

    Examples
    --------
    >>> import pandas as pd
    >>> from domindex.inputs.preparation import TablePreparation
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
        return all(isinstance(column, NumberColumn) for column in self.columns)

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
        request : what is done to the columns. By default those that never change or that name rows
            or domains are left out
        facts : where the table is a sample of a larger one, what all rows hold: which columns
            change, and the categories of each
        in_python : notes are for a user of Python, who has no options of the command line
        """
        request, names = request or InputRequest(), list(map(str, table.columns))
        is_source = np.asarray(is_source, dtype=bool)
        learned = learn_columns(table, names, is_source, domains, request, facts or {})
        if not learned.columns:
            raise _nothing_left(names, learned)
        plain = cls(learned.columns, request.missing)
        imputations, notes = _impute(plain, table, domains, request)
        said = learned.notes(request.least_shown, in_python=in_python)
        return replace(plain, imputations=imputations), (*said, *notes)

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
        for imputation in self.imputations:
            name = self._owner(imputation.feature)
            imputation.fill(simple, missing[name], features)
            changes.drawn[name] = changes.filled.pop(name, 0)
        return PreparedInputs(features, changes)

    def _encode(
        self, table: pd.DataFrame
    ) -> tuple[Floats, dict[str, NDArray[np.bool_]], InputChanges]:
        """Features with simple fills, where each column was missing, and what was done."""
        require_columns(table.columns, self.names, "inputs")
        parts, missing, unknown = [], {}, dict[str, frozenset[str]]()
        filled, bounded = Counter[str](), Counter[str]()
        for column in self.columns:
            encoded = column.encode(table[column.name])
            parts.append(encoded.values)
            missing[column.name] = encoded.missing
            if encoded.missing.any():
                filled[column.name] = int(encoded.missing.sum())
            if encoded.n_bounded:
                bounded[column.name] = encoded.n_bounded
            if encoded.unknown:
                unknown[column.name] = encoded.unknown
        changes = InputChanges(filled, bounded, unknown, categories=self.category_columns)
        return np.hstack(parts), missing, changes

    def _slices(self) -> dict[str, slice]:
        """Which features each column becomes."""
        found, start = {}, 0
        for column in self.columns:
            found[column.name] = slice(start, start + len(column.features))
            start += len(column.features)
        return found

    @property
    def category_columns(self) -> frozenset[str]:
        """Columns of categories: what is missing there is filled in by the commonest."""
        return frozenset(one.name for one in self.columns if isinstance(one, CategoryColumn))

    @property
    def drawn_columns(self) -> set[str]:
        """Columns whose gaps are filled by draws."""
        return {self._owner(one.feature) for one in self.imputations}

    def _owner(self, feature: int) -> str:
        return next(name for name, one in self._slices().items() if one.start == feature)

    def to_dict(self) -> dict[str, Any]:
        """In terms of JSON."""
        return {
            "missing": self.missing,
            "columns": [_plain(column) for column in self.columns],
            "imputations": [one.to_dict() for one in self.imputations],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TablePreparation:
        """What `to_dict` gave; ValueError, KeyError or TypeError for anything else."""
        columns = tuple(_revive(column) for column in content["columns"])
        if not columns:
            raise ValueError("there are no columns")
        if content["missing"] not in get_args(Missing):
            raise ValueError(f"missing is {content['missing']!r}")
        imputations = tuple(Imputation.from_dict(one) for one in content.get("imputations", ()))
        found = cls(columns, content["missing"], imputations)
        starts = {one.start for one in found._slices().values()}
        n_weights = len(found.features) + 1
        if any(
            one.feature not in starts or len(one.weights) not in (0, n_weights)
            for one in imputations
        ):
            raise ValueError("an imputation does not fit the columns")
        return found


def input_names(
    columns: Sequence[str], reserved: Sequence[str], request: InputRequest
) -> list[str]:
    """The columns that are inputs: those asked for, or all that are nothing else.

    `reserved` are the domain and the targets.

    Examples
    --------
    >>> from domindex.inputs.preparation import InputRequest, input_names
    >>> input_names(["site", "age", "note", "y"], ["site", "y"], InputRequest(exclude=["note"]))
    ['age']
    """
    taken = {*reserved, *request.hidden}
    if request.features is None:
        return [name for name in columns if name not in taken]
    require_columns(columns, request.features, "inputs")
    wrong = [name for name in request.features if name in reserved]
    if wrong:
        raise InputError(
            f"{preview(wrong)} cannot be an input: it is the domain or a target. "
            "Leave it out of --features."
        )
    return [name for name in dict.fromkeys(request.features) if name not in taken]


def _impute(
    plain: TablePreparation, table: pd.DataFrame, domains: Sequence[str], request: InputRequest
) -> tuple[tuple[Imputation, ...], tuple[str, ...]]:
    """Draws for columns whose gaps are not spread evenly, and a word on each."""
    if request.missing == "error":
        return (), ()
    features, missing, _ = plain._encode(table)
    lacking = {
        column.name: uneven_domains(missing[column.name], domains)
        for column in plain.columns
        if missing[column.name].any() and not isinstance(column, DateColumn)
    }
    lacking = {name: where for name, where in lacking.items() if where}
    slices = plain._slices()
    usable = np.ones(features.shape[1], dtype=bool)
    for name in lacking:
        usable[slices[name]] = False
    found = tuple(
        learn_imputation(features, missing[name], slices[name], usable, domains) for name in lacking
    )
    notes = tuple(
        f"Column {name!r} is missing in much more of {preview(where, 3)} than elsewhere: drawn "
        "there from what the other inputs say of it, so that the gap does not place a domain."
        for name, where in lacking.items()
    )
    return found, notes


def _nothing_left(chosen: Sequence[str], learned: LearnedColumns) -> InputError:
    if not chosen:
        return InputError(
            "No column is left to be an input: all are the domain, a target or left out. Name some "
            "(--features), or leave fewer out (--exclude)."
        )
    return InputError(
        f"No input is left of {preview(chosen)}: {' '.join(learned.notes())} Name columns that "
        "differ between rows (--features), or keep some of these (--keep-column)."
    )


def _plain(column: Column) -> dict[str, Any]:
    """Bounds that are none are left out: JSON has no infinity."""
    content = asdict(column)
    return {name: one for name, one in content.items() if one not in (np.inf, -np.inf)}


def _revive(content: Mapping[str, Any]) -> Column:
    if not isinstance(content["name"], str):
        raise ValueError("a column's name is no text")
    if "levels" in content:
        levels = tuple(str(level) for level in content["levels"])
        shares = tuple(float(one) for one in content.get("shares", ()))
        if len(shares) not in (0, len(levels)):
            raise ValueError("a category has no share")
        others = bool(content.get("has_others", False))
        return CategoryColumn(content["name"], levels, str(content["fill"]), shares, others)
    if "parts" in content:
        fills = tuple(float(one) for one in content["fills"])
        parts = tuple(str(part) for part in content["parts"])
        if len(fills) != len(parts) or not set(parts) <= set(PARTS):
            raise ValueError("the parts of a date are unknown")
        return DateColumn(content["name"], parts, fills, bool(content["month_first"]))
    low, high = float(content.get("low", -np.inf)), float(content.get("high", np.inf))
    reach = float(content.get("reach", 0.0))
    return NumberColumn(content["name"], float(content["fill"]), low, high, reach)
