"""What exports and merges leave in a table that is no part of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from domindex.data.messages import preview
from domindex.errors import InputError

MANY_COPIES = 0.2
"""Share of rows that are copies of others from which on that is said."""


def check_names(file: Path, columns: list[str]) -> None:
    twice = [name for name, count in Counter(columns).items() if count > 1 and name.strip()]
    if twice:
        raise InputError(
            f"{file} has several columns named {preview(twice)}. Give every column its own name."
        )
    blank = [number for number, name in enumerate(columns, start=1) if not name.strip()]
    if blank:
        raise InputError(
            f"{file} has no name for column {preview(blank)}. Name it in the header; if it holds "
            "row numbers, export without them (in pandas, to_csv(index=False))."
        )


def _without_empty(file: Path, table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Without columns and rows that hold nothing at all; other columns need a name."""
    unnamed = [name for name in table.columns if _is_unnamed(str(name))]
    empty = [name for name in unnamed if table[name].isna().all()]
    if empty:
        columns = "1 column" if len(empty) == 1 else f"{len(empty)} columns"
        notes.append(f"Dropped {columns} without a name or a value.")
        table = table.drop(columns=empty)
    check_names(file, ["" if _is_unnamed(str(name)) else str(name) for name in table.columns])
    blank = table.isna().all(axis=1)
    if blank.any() and not blank.all():
        notes.append(f"Dropped {int(blank.sum())} rows without a value.")
        table = table[~blank].reset_index(drop=True)
    return table


def without_debris(
    file: Path, table: pd.DataFrame, texts: set[str], notes: list[str]
) -> pd.DataFrame:
    """The table without what is no part of it, with a note on each; columns need a name."""
    table = _without_empty(file, table, notes)
    table = _without_marks(table, notes)
    table = _without_headers(table, notes)
    _note_copies(table, notes)
    return _with_numbers(table, texts) if len(notes) else table


def _without_marks(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Without lines of ======= and the like, which merging two versions of a file leaves."""
    first = table.iloc[:, 0]
    if first.dtype.kind in "biufmM" or table.shape[1] < 2:
        return table
    marks = first.astype(str).str.fullmatch(r"(=|<|>|-|#|\*){5,}.*") & table.iloc[:, 1:].isna().all(
        axis=1
    )
    if not marks.any():
        return table
    notes.append(f"Dropped {int(marks.sum())} lines of marks such as {first[marks].iloc[0][:7]!r}.")
    return table[~marks].reset_index(drop=True)


def _without_headers(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Without rows that say the header again, as files that were put together have them."""
    candidates = np.ones(len(table), dtype=bool)
    for name in table.columns:
        if table[name].dtype.kind in "biufmM":
            return table
        candidates &= (table[name].astype(object) == name).to_numpy(dtype=bool, na_value=False)
        if not candidates.any():
            return table
    notes.append(f"Dropped {int(candidates.sum())} rows that say the header again.")
    return table[~candidates].reset_index(drop=True)


def _with_numbers(table: pd.DataFrame, texts: set[str]) -> pd.DataFrame:
    """Columns that a line of something else had made texts as the numbers that they are."""
    found = {}
    for name in table.columns:
        if name not in texts and table[name].dtype.kind not in "biufmM":
            numbers = pd.to_numeric(table[name], errors="coerce")
            if (numbers.isna() == table[name].isna()).all():
                found[name] = numbers
    return table.assign(**found)


def _note_copies(table: pd.DataFrame, notes: list[str]) -> None:
    """A word on rows that are exact copies of others, where they are many."""
    try:
        copies = int(table.duplicated().sum())
    except TypeError:  # values that cannot be compared
        return
    if copies > MANY_COPIES * len(table):
        notes.append(
            f"{copies} of {len(table)} rows are exact copies of rows before them. Remove them if "
            "they are not observations of their own."
        )


def _is_unnamed(name: str) -> bool:
    """As pandas calls a column whose header is blank."""
    return not name.strip() or name.startswith("Unnamed: ")
