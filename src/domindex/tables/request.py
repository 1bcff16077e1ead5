"""What a fit of a table was asked for, the table that was read for it, and what may be shown."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.estimators.models import MAP, find_method
from domindex.inputs.columns import SETTINGS
from domindex.inputs.domain_data import Task
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.names import is_missing
from domindex.inputs.preparation import BY_COMMAS, MIN_SHARED, InputRequest, TablePreparation
from domindex.inputs.streams import is_blank
from domindex.neural.settings import Training
from domindex.persistence.paths import usable_path
from domindex.tables.labels import DomainRule, LabelledRows, Spelling, join_names
from domindex.tables.reading import AnyPath, TextFormat
from domindex.vdi.settings import Network

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

SECTIONS = {"training": Training, "network": Network}
"""Settings that have a table of their own in the file."""


@dataclass(frozen=True, kw_only=True)
class FitRequest(InputRequest, TextFormat):
    """What `fit_table` was asked for: its arguments, and the options of `domindex fit`.

    A new option is a field here and a parameter of that name in `domindex.cli`, no more.

    Attributes
    ----------
    data : a CSV, Parquet or Excel file, or what is read in parts: a large file, a folder of
        Parquet files, a pyarrow dataset, a polars LazyFrame, a Dask data frame
    target : the column to predict, or several for values; none for the method "map"
    domain : the column that names the domain of every row
    domain_by : "month" or "year" for a domain column of dates, or the width of bands for
        numbers, or "order" for windows along it that are found by how inputs change
    sources : the labelled domains; None takes those with a label in any row
    task : "auto" takes texts and few whole numbers for classes
    spelling : what to do with classes that differ in capitals or blanks only: "ask" refuses them,
        "merge" takes them for one, "exact" for several
    effort : "quick" or "full", the parameter of the estimator
    method : "cross-domain", "vdi" for the paper's model, or "map" for the map alone
    settings : parameters of the estimator
    seed : the same one gives the same model

    Examples
    --------
    >>> FitRequest(data="patients.csv", target=["outcome"], domain="hospital").hidden
    []
    """

    data: Any
    target: Sequence[str] = field(default=(), metadata=BY_COMMAS)
    domain: str
    domain_by: str | None = None
    sources: Sequence[str] | None = field(default=None, metadata=BY_COMMAS)
    task: Task | Literal["auto"] = "auto"
    spelling: Spelling = "ask"
    effort: str | None = None
    method: str = "cross-domain"
    settings: Mapping[str, Any] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        InputRequest.__post_init__(self)
        TextFormat.__post_init__(self)
        find_method(self.method, "classification")
        if (self.method == MAP) != (not self.target) or self.domain in self.target:
            raise InputError(
                f"The targets are {list(self.target)} and the domain is {self.domain!r}. "
                "Name at least one column to predict, and another for the domain; none to predict "
                "for a map alone."
            )
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
    def parameters(self) -> dict[str, Any]:
        """Those of the estimator."""
        effort = {} if self.effort is None else {"effort": self.effort}
        return dict(self.settings or {}) | effort

    def resolved(self, columns: Sequence[str]) -> FitRequest:
        """With names as a table has them: without blanks around them, and whole where a comma of a
        name was taken for one between names. Who leaves a column out means all of its name."""
        known = set(columns)

        def found(names: Sequence[str]) -> list[str]:
            plain = [name if name in known else name.strip() for name in join_names(names, known)]
            again = {name.strip(): name for name in columns}
            return [again.get(name, name) for name in plain]

        named = [one.name for one in fields(InputRequest) if one.metadata.get("by_commas")]
        changed: dict[str, Any] = {"domain": found([self.domain])[0]}
        for name in ("target", *named):
            if value := getattr(self, name):
                changed[name] = found(value)
        if self.key is not None:
            changed["key"] = found([self.key])[0]
        again = [re.compile(re.escape(one) + r" \(\d+\)") for one in changed.get("exclude", ())]
        numbered = [name for name in columns if any(one.fullmatch(name) for one in again)]
        return replace(self, **changed | {"exclude": [*changed.get("exclude", ()), *numbered]})

    @property
    def form(self) -> TextFormat:
        """What is said of a text file."""
        return TextFormat(**{one.name: getattr(self, one.name) for one in fields(TextFormat)})

    @property
    def reserved(self) -> list[str]:
        """The columns of the domain and the targets, which are no inputs."""
        return [self.domain, *self.target]

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

    request: FitRequest
    rows: LabelledRows
    preparation: TablePreparation
    notes: tuple[str, ...]
    source: dict[str, Any]  # its size and its columns, as they were read
    rule: DomainRule = field(default_factory=DomainRule)

    @property
    def others(self) -> pd.DataFrame:
        """Columns that are no inputs and not hidden, and gaps, by which a map can be coloured.

        Where all columns were to be inputs, the others were left out and are not shown.
        """
        table, inputs = self.rows.table, self.preparation.names
        taken = {*inputs, *self.request.reserved, *self.request.hidden}
        asked_for_all = self.request.features is None
        names = [] if asked_for_all else [name for name in table.columns if name not in taken]
        return pd.concat([shown_columns(table[names]), _gaps(table[inputs])], axis=1)

    @property
    def task(self) -> Task:
        return self.rows.labels.task

    @property
    def inputs(self) -> pd.DataFrame:
        """What the model is given: the columns that are inputs, as they stand in the table."""
        return self.rows.table[self.preparation.names]


def shown_columns(table: pd.DataFrame) -> pd.DataFrame:
    """The columns of a table by which a map may be coloured, cleared of what points to a row."""
    cleared = {name: _cleared(table[name]) for name in table.columns}
    return pd.DataFrame({name: one for name, one in cleared.items() if one is not None})


def _cleared(column: pd.Series) -> pd.Series | None:
    """A column without texts that occur once; None where values are nearly all different.

    Numbers stay, for only their means are shown, unless they are whole and all different.
    """
    values = column.astype(object)
    known = np.array([not is_missing(value) for value in values], dtype=bool)
    texts = values[known].map(str)
    counts = texts.value_counts()
    if column.dtype.kind in "biuf" or pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)[known]
        whole = bool(len(numbers)) and bool((np.mod(numbers, 1) == 0).all())
        return None if whole and len(counts) == len(texts) > 1 else column
    if not len(counts) or len(counts) > SETTINGS.unique_texts * len(texts):
        return None
    often = set(counts.index[counts > 1])
    kept = [str(one) if given and str(one) in often else None for one, given in zip(values, known)]
    return pd.Series(kept, index=column.index, dtype=object)


def _gaps(inputs: pd.DataFrame, max_shown: int = 20) -> pd.DataFrame:
    """1 where an input has no value and 0 elsewhere, for the inputs with most gaps."""
    blank = {name: [is_blank(value) for value in inputs[name].tolist()] for name in inputs}
    gaps = pd.DataFrame(blank, index=inputs.index)
    most = sorted((name for name in gaps if gaps[name].any()), key=lambda n: -gaps[n].sum())
    return gaps[most[:max_shown]].astype(np.float64).add_prefix("missing: ")


def without_row_values(content: Mapping[str, Any], *, share: bool) -> dict[str, Any]:
    """The content of a report without figures that rest on a row or two.

    Where it is to be shared, also without those that rest on fewer than `MIN_SHARED` rows, numbers
    of rows below that, and shares of a domain's rows that stand for fewer.
    """
    least = MIN_SHARED if share else 3
    domains = [dict(domain) for domain in content["domains"]]
    sizes = [int(domain["rows"] or 0) for domain in domains]
    hidden = [domain["rows"] < least for domain in domains]
    for domain, rows, hide in zip(domains, sizes, hidden):
        if hide:
            domain.update(dict.fromkeys(("held_out_score", "picture", *["rows"] * share)))
            domain.update({name: [] for name in ("differences", "missing") if name in domain})
        elif share:
            if "differences" in domain:
                domain["differences"] = [
                    one | {"shares": [0.0 if _is_few(s, rows) else s for s in one["shares"]]}
                    for one in domain["differences"]
                ]
            if "missing" in domain:
                given = domain["missing"]
                domain["missing"] = [one for one in given if not _is_few(one["share"], rows)]
    named = tuple(f"{one['name']}=" for one in content.get("profiles", ()))
    columns = {}
    for name, values in content["columns"].items():
        are_shares = share and name.startswith(("missing: ", *named))  # means that are of rows
        columns[name] = [
            None if hide or (are_shares and _is_few(value, rows)) else value
            for value, rows, hide in zip(values, sizes, hidden)
        ]
    cleared = dict(content) | {"domains": domains, "columns": columns}
    if cleared.get("held_out") is not None:
        small = {domain["name"] for domain, hide in zip(domains, hidden) if hide}
        scores = [one for one in content["held_out"]["scores"] if one["name"] not in small]
        cleared["held_out"] = dict(content["held_out"]) | {"scores": scores} if scores else None
    return cleared


def _is_few(share: Any, rows: int) -> bool:
    """Whether a share stands for fewer than `MIN_SHARED` rows, and for some."""
    return isinstance(share, float) and share > 0.0 and round(share * rows) < MIN_SHARED


def read_settings(path: AnyPath) -> dict[str, Any]:
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


def check_settings(kind: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an estimator; lists become tuples."""
    checked = _check_names(kind, settings)
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
            if name in SECTIONS:
                below = [f"Leave out the line [{name}], and spell settings as in this list."]
            advice = [*below, did_you_mean(name, known) or "Spell it as in this list."]
            raise InputError(
                f"{kind.__name__} has no setting {name!r}; there are {', '.join(known)}. "
                f"{advice[0]}"
            )
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
