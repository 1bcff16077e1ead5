"""What becomes of every column: learned, dropped or left out, each with a word why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.arrow_columns import is_blank
from domindex.data.column_facts import ColumnFacts
from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.preparation.category_column import CategoryColumn, learn_categories, least_count
from domindex.preparation.columns import Kind, kind_of
from domindex.preparation.date_column import DateColumn, learn_dates
from domindex.preparation.imputing import FEW_KNOWN
from domindex.preparation.number_column import NumberColumn, learn_numbers
from domindex.preparation.requests import InputRequest
from domindex.preparation.suspects import names_domain, names_rows

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
    keep = name in request.keep or request.features is not None
    if kind == "dates":
        return (learn_dates(column, is_source) if request.dates else None), "dates", 0
    if not keep:
        reason = _suspicion(column, kind, domains, facts)
        if reason:
            return None, reason, 0
    floor = max(2, request.least_shown)
    if kind == "numbers":
        least = least_count(len(column), floor) if name not in request.keep else 1
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
