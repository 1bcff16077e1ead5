"""Add the new domains of a table to a run, without fitting it again."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from domindex.data import order_names
from domindex.data.messages import preview
from domindex.errors import InputError, OffMapWarning
from domindex.persistence.atomic import check_free, new_file
from domindex.persistence.paths import usable_path
from domindex.preparation.requests import LEAST_SHARED
from domindex.progress import Progress, show_progress
from domindex.reporting.report import CONTENT_FILE, REPORT_FILE
from domindex.tables.predicting import read_rows, say_off_map
from domindex.tables.rows import PreparedRows
from domindex.tables.run import RUN, Run, opened
from domindex.tables.text_format import TextFormat


@dataclass(frozen=True, eq=False)
class AddedDomains:
    """What was added.

    Attributes
    ----------
    run : the run that knows the domains
    table : a row an added domain: place, uncertainty, nearest known domains, whether it lies off
        the map, and what to expect there

    Examples
    --------
    >>> import pandas as pd
    >>> from domindex.tables import AddedDomains
    >>> table = pd.DataFrame({"domain": ["Fürth", "Gmunden"], "off_map": [False, True]})
    >>> AddedDomains(run=None, table=table).off_map
    ['Gmunden']
    """

    run: Run
    table: pd.DataFrame

    @property
    def off_map(self) -> list[str]:
        """Names of the added domains that lie off the map."""
        return [str(name) for name in self.table.loc[self.table["off_map"], "domain"]]


def add_table(
    run: Run | str | os.PathLike[str],
    data: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    force: bool = False,
    progress: bool = False,
) -> AddedDomains:
    """Add the domains of the table in a file that a run does not know.

    Rows of known domains are left out, with a note. The report of the run, which shows the domains
    of the fit, goes along as it is.

    Parameters
    ----------
    run : a run, or its folder
    data : a CSV or Parquet file with the domain and the inputs; targets are not needed
    out : the folder of the new run; None replaces the run itself, which needs `force`
    delimiter : between the columns of a text file; as in the fit, or told by its header
    decimal : "." or ","; as in the fit, or told by the numbers
    encoding : of a text file; as in the fit
    force : replace a run that is there
    progress : speak on standard error

    Examples
    --------
    >>> from domindex.tables import add_table, fit_table
    >>> from domindex.datasets import make_hospitals
    >>> table = make_hospitals(n_hospitals=5, n_sources=3, rows_per_hospital=30)
    >>> table.to_csv("patients.csv", index=False)
    >>> few = {"candidates": [["raw", "linear"]], "training": {"index_steps": 5}}  # to be quick
    >>> run = fit_table(
    ...     "patients.csv", target=["complication"], domain="hospital", key="record", settings=few,
    ...     report=False, out="run"
    ... )
    >>> more = make_hospitals(n_hospitals=6, n_sources=3, rows_per_hospital=30, random_state=1)
    >>> more[more["hospital"] == "Fürth"].to_csv("new.csv", index=False)
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
    model, preparation = run.model(), run.preparation()
    with show_progress(progress) as shown:
        rows = read_rows(
            data, preparation, TextFormat(delimiter, decimal, encoding).over(run.form), shown
        )
        inputs, names = _new_rows(rows, set(model.domains_), Path(data), shown)
        table = model.place_domains(inputs, sample_domain=names)
        say_off_map(table, shown)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffMapWarning)  # it is said above
            grown = model.add_domains(inputs, sample_domain=names)
        added = _added(Path(data).name, names, run.is_shared)
        about = run.about | {
            "added": [*run.about.get("added", []), added],
            "summary": grown.summary().splitlines(),
        }
        reports = _report_files(run)
        written = Run.write(folder, grown, preparation, about, overwrite=force)
        for name, content in reports.items():
            with new_file(written.folder / name, overwrite=True) as draft:
                draft.write_bytes(content)
    return AddedDomains(written, table)


def _added(file: str, names: Sequence[str], is_shared: bool) -> dict[str, Any]:
    """What a run remembers of an addition: the file, and how many rows of which domains.

    A run that is shared does not tell counts below 5.
    """
    return {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "file": file,
        "rows": None if is_shared and len(names) < LEAST_SHARED else len(names),
        "domains": [str(name) for name in order_names(names)],
    }


def _report_files(run: Run) -> dict[str, bytes]:
    """The report of the fit, read before its folder may be replaced."""
    paths = [run.folder / name for name in (CONTENT_FILE, REPORT_FILE)]
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def _new_rows(
    rows: PreparedRows, known: set[object], data: Path, progress: Progress
) -> tuple[pd.DataFrame, list[str]]:
    """Rows of domains that are not known, with their names."""
    is_new = np.array([name not in known for name in rows.domains])
    if not is_new.any():
        raise InputError(
            f"{data} holds no new domain: the run knows {preview(sorted(set(rows.domains)))} "
            "already. Pass a table with other domains, or fit anew to learn from these rows."
        )
    if not is_new.all():
        left_out = sorted({name for name, new in zip(rows.domains, is_new) if not new})
        progress.say(
            f"note: Left out {int((~is_new).sum())} rows of domains that the run knows: "
            f"{preview(left_out)}."
        )
    names = [name for name, new in zip(rows.domains, is_new) if new]
    return rows.inputs[is_new], names
