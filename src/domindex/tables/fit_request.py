"""What was asked for, and the table that was read for it: values between reading and fitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from domindex.data.domain_data import Task
from domindex.preparation import InputRequest, TablePreparation
from domindex.tables.labels import Spelling
from domindex.tables.privacy import missing_shares, shown_columns
from domindex.tables.rows import LabelledRows
from domindex.tables.text_format import TextFormat


@dataclass(frozen=True)
class FitRequest:
    """What was asked for, as `fit_table` has it; `key` is the column that names rows."""

    data: Any
    form: TextFormat
    domain: str
    targets: tuple[str, ...]
    sources: Sequence[str] | None
    inputs: InputRequest
    task: Task | Literal["auto"]
    settings: Mapping[str, Any]
    seed: int
    domain_by: str | None = None
    spelling: Spelling = "ask"
    key: str | None = None


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table ready to be fitted.

    Attributes
    ----------
    source : its size and its columns, as they were read
    hidden : columns of which nothing may be seen anywhere
    asked_for_all : whether all columns were to be inputs: those that are none were left out
    """

    rows: LabelledRows
    preparation: TablePreparation
    inputs: pd.DataFrame
    notes: tuple[str, ...]
    source: dict[str, Any]
    hidden: frozenset[str] = frozenset()
    asked_for_all: bool = False

    @property
    def others(self) -> pd.DataFrame:
        """Columns that are no inputs and not hidden, and gaps, by which a map can be coloured."""
        preparation = self.preparation
        inputs = {column.name for column in preparation.columns}
        taken = {preparation.domain, *preparation.targets, *inputs, *self.hidden}
        names = [name for name in self.rows.table.columns if name not in taken]
        if self.asked_for_all:
            names = []
        shown = shown_columns(self.rows.table[names])
        gaps = missing_shares(self.rows.table, [column.name for column in preparation.columns])
        return pd.concat([shown, gaps], axis=1)
