"""Predict a table with a run, or add its new domains to the run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.errors import InputError, OffMapWarning
from domindex.inputs import group_rows, order_names
from domindex.inputs.columns import require_roles
from domindex.inputs.messages import preview
from domindex.inputs.preparation import MIN_SHARED
from domindex.persistence.atomic import check_free, new_file
from domindex.persistence.paths import usable_path
from domindex.progress import Progress, show_progress
from domindex.reporting.distances import distances_to_sources
from domindex.reporting.report import CONTENT_FILE, REPORT_FILE
from domindex.tables.large import (
    Data,
    free_name,
    is_large,
    name_of,
    open_stream,
    predict_stream,
    predicted_columns,
    with_kept,
)
from domindex.tables.reading import check_table_path, escape_formulas, read_with_notes, write_table
from domindex.tables.run import RUN, Run, opened
from domindex.tables.text_format import TextFormat, with_numbers


@dataclass(frozen=True, eq=False)
class TablePredictions:
    """A row of `table` for every row of the data.

    Attributes
    ----------
    n_rows : how many rows were predicted
    table : the domain; the class and the probability of each, or values and their deviations;
        `distance`, from the domain to the nearest source in units of the map's median spacing; and
        whether it lies off the map. None where data is read in parts: the file alone has the rows
    new_domains : names that were not on the map, and were placed
    off_map : names of those that lie off the map
    notes : what had to be guessed of the file, and what was done to the inputs

    Examples
    --------
    >>> predictions = predict_table(run, "patients.csv")
    >>> predictions.n_rows, predictions.new_domains
    (150, [])
    """

    n_rows: int
    table: pd.DataFrame | None
    new_domains: list[str]
    off_map: list[str]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """How many rows, and which of their domains are new."""
        new = f"; new: {preview(self.new_domains)}" if self.new_domains else ""
        return f"{self.n_rows} rows{new}"


@dataclass(frozen=True, eq=False)
class TableRows:
    """Inputs as the table has them, the domain of every row, and columns that are kept."""

    inputs: pd.DataFrame
    domains: list[str]
    notes: tuple[str, ...]
    kept: pd.DataFrame


def predict_table(
    run: Run | str | os.PathLike[str],
    data: Data,
    *,
    out: str | os.PathLike[str] | None = None,
    keep: Sequence[str] = (),
    force: bool = False,
    progress: bool = False,
    escape: bool = False,
    **form: Any,
) -> TablePredictions:
    """Predict every row of the table in a file; domains never seen are placed on the map first.

    Parameters
    ----------
    run : a run, or its folder
    data : a CSV or Parquet file with the domain and the inputs; targets are not needed. What `fit`
        reads in parts is predicted in parts as well
    out : a CSV or Parquet file to write as well; it must be named where data is read in parts
    keep : columns of the data that stand beside the predictions, as they are. The `key` of the fit
        always does
    force : replace a file that is there
    progress : draw bars on standard error
    escape : put an apostrophe before texts that a spreadsheet would take for formulas
    **form : what to say of a text file, see `TextFormat`; by default as in the fit

    Examples
    --------
    >>> predict_table(run, "patients.csv").table.columns.tolist()
    ['record', 'hospital', 'complication', 'p(no)', 'p(yes)', 'distance', 'off_map']
    """
    if out is not None:
        check_table_path(out, overwrite=force)
    run = opened(run)
    model, said, kept = run.model(), TextFormat(**form).over(run.form), columns_to_keep(run, keep)
    with show_progress(progress) as shown:
        if is_large(data):
            if out is None:
                raise InputError(
                    f"{name_of(data)} is read in parts, and its predictions have to go to a file. "
                    "Name one (out=, --out FILE)."
                )
            stream = open_stream(data, said, [run.domain])
            done = predict_stream(
                model, run, stream, out, kept=kept, force=force, progress=shown, escape=escape
            )
            for note in done.notes:
                shown.say(f"note: {note}")
            say_off_map(done.off_map, done.n_domains, shown)
            return TablePredictions(done.n_rows, None, done.new_domains, done.off_map, done.notes)
        rows = read_rows(run, model, data, said, shown, kept)
        places = model.place_domains(rows.inputs, sample_domain=rows.domains, forecast=False)
        predicted = predict_rows(run, model, rows, places, shown)
        off_map = say_off_map(names_off_map(places), len(places), shown)
    known = set(model.domains_)
    new = [str(name) for name in order_names(rows.domains) if name not in known]
    if out is not None:
        write_table(escape_formulas(predicted) if escape else predicted, out, overwrite=force)
    return TablePredictions(len(predicted), predicted, new, off_map, rows.notes)


def columns_to_keep(run: Run, keep: Sequence[str]) -> list[str]:
    """The key of the run, and what was asked for."""
    key = run.about.get("key")
    return list(dict.fromkeys([*([key] if key else []), *keep]))


def read_rows(
    run: Run,
    model: Any,
    data: str | os.PathLike[str],
    form: TextFormat,
    progress: Progress,
    kept: Sequence[str] = (),
) -> TableRows:
    """The rows of a file as the model is given them; what it does to them is said.

    Columns that are kept stay as they are spelled, also where they are inputs with decimal commas.
    """
    texts, inputs = [run.domain, *kept], model._preparation.names
    table, read = read_with_notes(data, form, texts=texts, open_file=progress.open_file)
    named = {"domain": [run.domain], "inputs": inputs, "columns to keep": kept}
    require_roles(table.columns, named)
    numbers, _ = with_numbers(table, form.decimal, set(texts).difference(inputs))
    rows = model_rows(run, model, numbers)
    rows = replace(rows, kept=table[list(kept)], notes=(*read, *rows.notes))
    for note in rows.notes:
        progress.say(f"note: {note}")
    return rows


def model_rows(run: Run, model: Any, table: pd.DataFrame) -> TableRows:
    """The inputs and domains of a table, and what the model does to the inputs."""
    domains = run.rule.names(table[run.domain])
    notes = model._preparation.apply(table).notes
    return TableRows(table[model._preparation.names], domains, notes, table[[]])


def names_off_map(places: pd.DataFrame) -> list[str]:
    """The domains that lie off the map, of a table of places."""
    return [str(name) for name in places.loc[places["off_map"], "domain"]]


def say_off_map(names: list[str], n_domains: int, progress: Progress) -> list[str]:
    """The same names, which are also said."""
    if names:
        progress.say(
            f"note: {len(names)} of {n_domains} domains lie off the map ({preview(names)}): "
            "further from all known domains than these are from each other. Expect little there."
        )
    return names


def coordinates_of(places: pd.DataFrame) -> NDArray[np.float64]:
    """(domains, index_dim) of a table of places."""
    return places.filter(regex=r"^index_\d+$").to_numpy(dtype=np.float64)


def predict_rows(
    run: Run, model: Any, rows: TableRows, places: pd.DataFrame, progress: Progress
) -> pd.DataFrame:
    """Predictions domain by domain, in the order of the rows; `places` are those of the domains."""
    n_rows = len(rows.inputs)
    groups = dict(group_rows(rows.domains, n_rows))
    parts, gaps, off_map = [], np.empty(n_rows), np.empty(n_rows, dtype=bool)
    ways = distances_to_sources(model.domain_index_, model.source_domains_, coordinates_of(places))
    for name, gap, is_off in zip(places["domain"], ways, places["off_map"]):
        gaps[groups[name]], off_map[groups[name]] = gap, is_off
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)  # the column says it
        for name, members in progress.each("predicting", list(groups.items())):
            part, domain = rows.inputs.iloc[members], [name] * len(members)
            parts.append((members, predicted_columns(model, part, domain, run.targets)))
    order = np.concatenate([members for members, _ in parts])
    predicted = pd.concat([part for _, part in parts]).iloc[np.argsort(order)]
    predicted.index = rows.inputs.index
    predicted.insert(0, run.domain, rows.domains)
    predicted = with_kept(rows.kept, predicted)
    predicted[free_name("distance", predicted)] = gaps
    predicted[free_name("off_map", predicted)] = off_map
    return predicted


@dataclass(frozen=True, eq=False)
class AddedDomains:
    """The run that knows the added domains, and a table with a row for each.

    Columns: place, uncertainty, nearest known domains, whether it lies off the map, and what to
    expect there.

    Examples
    --------
    >>> table = pd.DataFrame({"domain": ["Fürth", "Gmunden"], "off_map": [False, True]})
    >>> AddedDomains(run=None, table=table).off_map
    ['Gmunden']
    """

    run: Run
    table: pd.DataFrame

    @property
    def off_map(self) -> list[str]:
        """Names of those that lie off the map."""
        return names_off_map(self.table)


def add_table(
    run: Run | str | os.PathLike[str],
    data: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: bool = False,
    **form: Any,
) -> AddedDomains:
    """Add the domains of the table in a file that a run does not know.

    Rows of known domains are left out, with a note. The report of the run, which shows the domains
    of the fit, goes along as it is.

    Parameters
    ----------
    run : a run, or its folder
    data : a CSV or Parquet file with the domain and the inputs; targets are not needed
    out : the folder of the new run; None replaces the run itself, which needs `force`
    force : replace a run that is there
    progress : speak on standard error
    **form : what to say of a text file, see `TextFormat`; by default as in the fit

    Examples
    --------
    >>> add_table(run, "new.csv", out="run-with-new").table["domain"].tolist()
    ['Fürth']
    """
    run = opened(run)
    folder = run.folder if out is None else usable_path(out)
    if out is None and not force:
        raise InputError(
            f"Adding domains would replace the run in {run.folder}. Name another folder (--out), "
            "or allow it (--force)."
        )
    check_free(folder, marker=RUN, overwrite=force)
    model = run.model()
    with show_progress(progress) as shown:
        rows = read_rows(run, model, data, TextFormat(**form).over(run.form), shown)
        known = set(model.domains_)
        is_new = np.array([name not in known for name in rows.domains])
        if not is_new.any():
            raise InputError(
                f"{data} holds no new domain: the run knows {preview(sorted(set(rows.domains)))} "
                "already. Pass a table with other domains, or fit anew to learn from these rows."
            )
        if not is_new.all():
            shown.say(
                f"note: Left out {int((~is_new).sum())} rows of domains that the run knows: "
                f"{preview(sorted(known.intersection(rows.domains)))}."
            )
        inputs, names = rows.inputs[is_new], [name for name in rows.domains if name not in known]
        table = model.place_domains(inputs, sample_domain=names)
        say_off_map(names_off_map(table), len(table), shown)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffMapWarning)  # it is said above
            grown = model.add_domains(inputs, sample_domain=names)
        added = {
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "file": Path(data).name,
            "rows": None if run.is_shared and len(names) < MIN_SHARED else len(names),
            "domains": [str(name) for name in order_names(names)],
        }
        about = run.about | {
            "added": [*run.about.get("added", []), added],
            "summary": grown.summary().splitlines(),
        }
        paths = [run.folder / name for name in (CONTENT_FILE, REPORT_FILE)]
        reports = {path.name: path.read_bytes() for path in paths if path.is_file()}
        written = Run.write(folder, grown, about, overwrite=force)  # may replace the run itself
        for name, content in reports.items():
            with new_file(written.folder / name, overwrite=True) as draft:
                draft.write_bytes(content)
    return AddedDomains(written, table)
