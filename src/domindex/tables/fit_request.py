"""What was asked for, and the table that was read for it: values between reading and fitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from domindex.data.domain_data import Task
from domindex.tables.preparation import Missing, TablePreparation
from domindex.tables.privacy import shown_columns
from domindex.tables.rows import LabelledRows


@dataclass(frozen=True)
class FitRequest:
    """What was asked for, as `fit_table` has it."""

    data: Any
    delimiter: str | None
    domain: str
    targets: tuple[str, ...]
    sources: Sequence[str] | None
    features: Sequence[str] | None
    exclude: Sequence[str]
    categorical: Sequence[str]
    task: Task | Literal["auto"]
    missing: Missing
    settings: Mapping[str, Any]
    seed: int
    share: bool = False


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table ready to be fitted.

    Attributes
    ----------
    source : its size and its columns, as they were read
    hidden : columns of which nothing may be seen anywhere
    """

    rows: LabelledRows
    preparation: TablePreparation
    inputs: pd.DataFrame
    notes: tuple[str, ...]
    source: dict[str, Any]
    hidden: frozenset[str] = frozenset()

    @property
    def others(self) -> pd.DataFrame:
        """Columns that are no inputs and not hidden, by which a map can be coloured."""
        preparation = self.preparation
        inputs = {column.name for column in preparation.columns}
        taken = {preparation.domain, *preparation.targets, *inputs, *self.hidden}
        names = [name for name in self.rows.table.columns if name not in taken]
        return shown_columns(self.rows.table[names])
