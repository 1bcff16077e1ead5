"""What was asked for, and the table that was read for it: values between reading and fitting."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from domindex.data.domain_data import Task
from domindex.tables.preparation import Missing, TablePreparation
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

    def plain(self) -> dict[str, Any]:
        """The arguments of `fit_table` in terms of JSON; `data` is None where it is no file."""
        is_file = isinstance(self.data, str | os.PathLike)
        columns = ("sources", "features", "exclude", "categorical")
        named = {name: getattr(self, name) for name in columns}
        return {
            "data": os.path.abspath(os.path.expanduser(self.data)) if is_file else None,
            "delimiter": self.delimiter,
            "domain": self.domain,
            "target": list(self.targets),
            **{name: None if one is None else list(one) for name, one in named.items()},
            "task": self.task,
            "missing": self.missing,
            "settings": json.loads(json.dumps(dict(self.settings), default=repr)),
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table ready to be fitted; `source` is its size and its columns, as they were read."""

    rows: LabelledRows
    preparation: TablePreparation
    inputs: pd.DataFrame
    notes: tuple[str, ...]
    source: dict[str, Any]

    @property
    def others(self) -> pd.DataFrame:
        """Columns that are no inputs, by which a map can be coloured."""
        preparation = self.preparation
        inputs = {column.name for column in preparation.columns}
        taken = {preparation.domain, *preparation.targets, *inputs}
        return self.rows.table[[name for name in self.rows.table.columns if name not in taken]]
