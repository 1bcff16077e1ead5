"""What a fit of a table was asked for, and the table that was read for it."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, Literal

import pandas as pd

from domindex.errors import InputError
from domindex.estimators.vdi import BaseVDI
from domindex.inputs.domain_data import Task
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.preparation import BY_COMMAS, InputRequest, TablePreparation
from domindex.persistence.paths import usable_path
from domindex.tables.labels import DomainRule, LabelledRows, Spelling
from domindex.tables.privacy import missing_shares, shown_columns
from domindex.tables.text_format import TextFormat
from domindex.vdi.settings import Network, Training


@dataclass(frozen=True, kw_only=True)
class FitRequest(InputRequest, TextFormat):
    """What `fit_table` was asked for: its arguments, and the options of `domindex fit`.

    A new option is a field here and a parameter of that name in `domindex.cli.fit`, no more.

    Attributes
    ----------
    data : a CSV, Parquet or Excel file, or what is read in parts: a large file, a folder of
        Parquet files, a pyarrow dataset, a polars LazyFrame, a Dask data frame
    target : the column to predict, or several for values
    domain : the column that names the domain of every row
    domain_by : "month" or "year" for a domain column of dates, or the width of bands for numbers
    sources : the labelled domains; None takes those with a label in any row
    task : "auto" takes texts and few whole numbers for classes
    spelling : what to do with classes that differ in capitals or blanks only: "ask" refuses them,
        "merge" takes them for one, "exact" for several
    settings : parameters of the estimator
    seed : the same one gives the same model

    Examples
    --------
    >>> FitRequest(data="patients.csv", target=["outcome"], domain="hospital").hidden
    []
    """

    data: Any
    target: Sequence[str] = field(metadata=BY_COMMAS)
    domain: str
    domain_by: str | None = None
    sources: Sequence[str] | None = field(default=None, metadata=BY_COMMAS)
    task: Task | Literal["auto"] = "auto"
    spelling: Spelling = "ask"
    settings: Mapping[str, Any] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        InputRequest.__post_init__(self)
        TextFormat.__post_init__(self)
        used = {
            "--features": self.features or (),
            "--keep-column": self.keep_columns,
            "--categorical": self.categorical,
        }
        left_out = {"--exclude": self.exclude, "--id": [] if self.key is None else [self.key]}
        for (option, names), (other, hidden) in product(used.items(), left_out.items()):
            both = [name for name in names if name in hidden]
            if both:
                raise InputError(
                    f"{preview(both)} is named by {option}, to be an input, and by {other}, not to "
                    "be one. Take it out of one of them."
                )

    @property
    def form(self) -> TextFormat:
        """What is said of a text file."""
        return TextFormat(**{one.name: getattr(self, one.name) for one in fields(TextFormat)})

    @property
    def roles(self) -> dict[str, Sequence[str]]:
        """The columns that were named, by what for."""
        return {
            "domain": [self.domain],
            "target": self.target,
            "names of rows (--id)": [] if self.key is None else [self.key],
            "inputs": self.features or (),
            "columns to leave out": self.exclude,
            "categories": self.categorical,
            "columns to keep": self.keep_columns,
        }

    def shown(self, columns: Iterable[str]) -> list[str]:
        """Columns that a run may name: of those that were excluded not even that."""
        return [name for name in columns if name not in self.hidden]

    def plain(self) -> dict[str, Any]:
        """The arguments of `fit_table` in terms of JSON; `data` is None where it is no file."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        is_file = isinstance(self.data, str | os.PathLike)
        values["data"] = os.path.abspath(os.path.expanduser(self.data)) if is_file else None

        def listed(value: Any) -> Any:
            return list(value) if isinstance(value, Iterable) else repr(value)

        plain: dict[str, Any] = json.loads(json.dumps(values, default=listed))
        return plain


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table ready to be fitted."""

    rows: LabelledRows
    preparation: TablePreparation
    notes: tuple[str, ...]
    source: dict[str, Any]  # its size and its columns, as they were read
    hidden: frozenset[str] = frozenset()  # columns by which a map is not coloured
    asked_for_all: bool = False  # all columns were to be inputs: those that are none were left out
    rule: DomainRule = field(default_factory=DomainRule)

    @property
    def others(self) -> pd.DataFrame:
        """Columns that are no inputs and not hidden, and gaps, by which a map can be coloured."""
        table, inputs = self.rows.table, self.preparation.names
        taken = {*inputs, *self.hidden}
        names = [] if self.asked_for_all else [name for name in table.columns if name not in taken]
        gaps = missing_shares(table, inputs)
        return pd.concat([shown_columns(table[names]), gaps], axis=1)

    @property
    def inputs(self) -> pd.DataFrame:
        """What the model is given: the columns that are inputs, as they stand in the table."""
        return self.rows.table[self.preparation.names]


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

SECTIONS = {"training": Training, "network": Network}
"""Settings that have a table of their own in the file."""


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The table of a TOML file, names and values as they stand there.

    Examples
    --------
    >>> from pathlib import Path
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
    own = ("random_state", "verbose")  # the command line has options for these
    known = [name for name in inspect.signature(kind).parameters if name not in own]
    for name in settings:
        if name not in known:
            below = [
                f"Put it below a line [{title}]."
                for title, section in SECTIONS.items()
                if title in known and name in inspect.signature(section).parameters
            ]
            advice = [*below, did_you_mean(name, known) or "Spell it as in this list."]
            raise InputError(
                f"{kind.__name__} has no setting {name!r}; there are {', '.join(known)}. "
                f"{advice[0]}"
            )
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
