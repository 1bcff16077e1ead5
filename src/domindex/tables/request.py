"""What a fit of a table was asked for, and the table that was read for it."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from domindex.errors import InputError
from domindex.estimators.vdi import BaseVDI
from domindex.inputs.domain_data import Task
from domindex.inputs.messages import did_you_mean
from domindex.inputs.preparation import InputRequest, TablePreparation
from domindex.persistence.paths import usable_path
from domindex.tables.labels import LabelledRows, Spelling
from domindex.tables.privacy import missing_shares, shown_columns
from domindex.tables.text_format import TextFormat
from domindex.vdi.settings import Network, Training


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
    >>> from domindex.inputs.preparation import InputRequest
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


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

OWN = ("random_state", "verbose")
"""Parameters that the command line sets by options of its own."""

SECTIONS = {"training": Training, "network": Network}
"""Settings that have a table of their own in the file."""


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The table of a TOML file, names and values as they stand there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from domindex.tables import read_settings
    >>> Path("settings.toml").write_text("index_dim = 3")
    13
    >>> read_settings("settings.toml")
    {'index_dim': 3}
    """
    file = usable_path(path)
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}). Name a TOML file of settings."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{file} is not TOML ({error}). Write lines like index_dim = 2, or steps = 500 below "
            "a line [training]."
        ) from None


def check_settings(kind: type[BaseVDI], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an estimator; lists become tuples, and flow = "none" means no flow."""
    checked = _check_names(kind, settings)
    if checked.get("flow") == "none":
        checked["flow"] = None
    for name, section in SECTIONS.items():
        if name in checked:
            if not isinstance(checked[name], Mapping):
                raise InputError(
                    f"{name} is {checked[name]!r}. Give it a table of its own: [{name}], and "
                    "lines like steps = 500 below it."
                )
            checked[name] = section(**_check_names(section, checked[name]))
    return checked


def _check_names(kind: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    known = [name for name in inspect.signature(kind).parameters if name not in OWN]
    for name in settings:
        if name not in known:
            raise InputError(
                f"{kind.__name__} has no setting {name!r}; there are {', '.join(known)}. "
                f"{_advice(name, known)}"
            )
    return {
        name: tuple(value) if isinstance(value, list) and name != "devices" else value
        for name, value in settings.items()
    }


def _advice(name: str, known: list[str]) -> str:
    for title, section in SECTIONS.items():
        if title in known and name in inspect.signature(section).parameters:
            return f"Put it below a line [{title}]."
    return did_you_mean(name, known) or "Spell it as in this list."
