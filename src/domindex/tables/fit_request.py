"""What was asked for, and the table that was read for it: values between reading and fitting."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
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
    """What `fit_table` was asked for.

    Attributes
    ----------
    data : a CSV, Parquet or Excel file, or what is read in parts: a large file, a folder of
        Parquet files, a pyarrow dataset, a polars LazyFrame, a Dask data frame
    form : what is said of a text file
    domain : the column that names the domain of every row
    targets : the column to predict, or several for values; `target` of `fit_table`
    sources : the labelled domains; None takes those with a label in any row
    inputs : which columns are inputs, and what is done to them
    task : "auto" takes texts and few whole numbers for classes
    settings : parameters of the estimator
    seed : the same one gives the same model
    domain_by : "month" or "year" for a domain column of dates, or the width of bands for numbers
    spelling : what to do with classes that differ in capitals or blanks only: "ask" refuses them,
        "merge" takes them for one, "exact" for several
    key : the column that names rows: no input, shown nowhere, and part of every prediction

    Examples
    --------
    >>> from domindex.preparation import InputRequest
    >>> from domindex.tables import FitRequest, TextFormat
    >>> inputs = InputRequest(exclude=["note"])
    >>> request = FitRequest(
    ...     "patients.csv", TextFormat(), "hospital", ("outcome",), None, inputs, "auto", {}, seed=0
    ... )
    >>> request.plain()["exclude"]
    ['note']
    """

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

    @property
    def keys(self) -> list[str]:
        """The key, if there is one."""
        return [] if self.key is None else [self.key]

    @property
    def roles(self) -> dict[str, Sequence[str]]:
        """The columns that were named, by what for."""
        inputs = self.inputs
        hidden = [name for name in inputs.exclude if name != self.key]
        return {
            "domain": [self.domain],
            "target": self.targets,
            "names of rows (--id)": self.keys,
            "inputs": inputs.features or (),
            "columns to leave out": hidden,
            "categories": inputs.categorical,
            "columns to keep": inputs.keep,
        }

    def shown(self, columns: Iterable[str]) -> list[str]:
        """Columns that a run may name: of those that were excluded not even that."""
        return [name for name in columns if name not in self.inputs.exclude]

    def plain(self) -> dict[str, Any]:
        """The arguments of `fit_table` in terms of JSON; `data` is None where it is no file."""
        is_file = isinstance(self.data, str | os.PathLike)
        inputs, form = self.inputs, self.form
        shown = [name for name in inputs.exclude if name != self.key]
        lists = {"features": inputs.features, "exclude": shown, "categorical": inputs.categorical}
        lists |= {"sources": self.sources, "keep_columns": inputs.keep, "na": form.missing}
        return {
            "data": os.path.abspath(os.path.expanduser(self.data)) if is_file else None,
            "delimiter": form.delimiter,
            "decimal": form.decimal,
            "encoding": form.encoding,
            "domain": self.domain,
            "domain_by": self.domain_by,
            "key": self.key,
            "target": list(self.targets),
            **{name: None if one is None else list(one) for name, one in lists.items()},
            "dates": inputs.dates,
            "task": self.task,
            "spelling": self.spelling,
            "missing": inputs.missing,
            "share": inputs.share,
            "settings": json.loads(json.dumps(dict(self.settings), default=repr)),
            "seed": self.seed,
        }


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
