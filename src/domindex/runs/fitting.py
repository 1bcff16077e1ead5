"""Fit a table and keep everything about it in one folder."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.columns import check_domain_column
from domindex.data.domain_data import Task
from domindex.data.folders import check_free, new_folder
from domindex.data.json_files import write_json
from domindex.data.preparation import Missing, TablePreparation
from domindex.data.table_labels import TableLabels, choose_sources, read_labels
from domindex.data.tables import read_table, require_columns
from domindex.errors import InputError
from domindex.estimators import VDIClassifier, VDIRegressor
from domindex.estimators.base import BaseVDI
from domindex.estimators.saving import plain_frame
from domindex.runs.reporting import gather_report
from domindex.runs.run import MODEL, PREPARATION, RUN, SUMMARY, TRAINING, Run, stamped
from domindex.runs.settings import check_settings
from domindex.runs.showing import Display
from domindex.versions import versions


def fit_table(
    data: str | os.PathLike[str],
    *,
    target: Sequence[str],
    domain: str,
    out: str | os.PathLike[str],
    sources: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    task: Task | Literal["auto"] = "auto",
    missing: Missing = "impute",
    delimiter: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    report: bool = True,
    force: bool = False,
    progress: bool = False,
) -> Run:
    """Fit the table in a file, and write the run to the folder `out`.

    Parameters
    ----------
    data : a CSV or Parquet file
    target : the column to predict, or several for values
    domain : the column that names the domain of every row
    out : the folder, which appears complete or not at all
    sources : the labelled domains; None takes those with a label in any row
    features, exclude : the inputs, or what is not an input; all other columns where None
    categorical : columns whose values are categories even if they look like numbers
    task : "auto" takes texts and few whole numbers for classes
    missing : "impute" or "error"
    settings : parameters of the estimator
    report : gather the content of a report as well, which takes about as long as a short fit
    force : replace a run that is there
    progress : draw bars on standard error
    """
    check_free(out, marker=RUN, overwrite=force)
    display = Display(progress)
    start = time.perf_counter()
    table = read_table(data, delimiter=delimiter, texts=[domain], open_file=display.open_file)
    request = _Request(domain, tuple(target), sources, task)
    rows = _labelled_rows(table, request)
    preparation, notes = TablePreparation.fit(
        rows.table,
        domain=domain,
        targets=request.targets,
        is_source=rows.is_source,
        features=features,
        exclude=exclude,
        categorical=categorical,
        missing=missing,
    )
    inputs = preparation.apply(rows.table)
    kind = VDIClassifier if rows.labels.task == "classification" else VDIRegressor
    arguments = check_settings(kind, settings or {})
    model = kind(random_state=seed, verbose=int(progress), **arguments)
    all_notes = [*rows.notes, *notes, *inputs.notes]
    for note in all_notes:
        display.say(f"note: {note}")
    display.say(
        f"{len(rows.domains)} rows in {rows.n_domains} domains, {len(rows.sources)} of them with "
        f"labels; {inputs.values.shape[1]} inputs; {rows.labels.task}. Mapping the domains …"
    )
    read = time.perf_counter()
    frame = pd.DataFrame(inputs.values, columns=preparation.features)
    model.fit(frame, rows.labels.values, sample_domain=rows.domains, source_domains=rows.sources)
    about = {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "data": {"file": Path(data).name, "rows": len(table), "columns": list(table.columns)},
        "domain": domain,
        "targets": list(request.targets),
        "task": rows.labels.task,
        "features": preparation.features,
        "sources": rows.sources,
        "estimator": kind.__name__,
        "settings": dict(settings or {}),
        "seed": seed,
        "seconds": {"reading": read - start, "fitting": time.perf_counter() - read},
        "notes": all_notes,
        "versions": versions(),
    }
    run = _write(out, force, model, preparation, about, _summary(rows, preparation))
    if report:
        display.say(f"The run is in {run.folder}. Gathering the report …")
        taken = {domain, *request.targets, *(column.name for column in preparation.columns)}
        others = rows.table[[name for name in rows.table.columns if name not in taken]]
        missed = gather_report(run, model, frame, rows.labels.values, rows.domains, others)
        if missed is not None:
            display.say(f"note: there is no report: {missed}")
    return run


@dataclass(frozen=True)
class _Request:
    domain: str
    targets: tuple[str, ...]
    sources: Sequence[str] | None
    task: Task | Literal["auto"]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows to fit, with the domain, role and label of each."""

    table: pd.DataFrame
    domains: list[str]
    labels: TableLabels
    sources: list[str]
    notes: list[str]

    @property
    def is_source(self) -> NDArray[np.bool_]:
        chosen = set(self.sources)
        return np.array([name in chosen for name in self.domains])

    @property
    def n_domains(self) -> int:
        return len(set(self.domains))


def _labelled_rows(table: pd.DataFrame, request: _Request) -> _Rows:
    """Rows of source domains without a label are left out; those of targets lose theirs."""
    if not request.targets or request.domain in request.targets:
        raise InputError(
            f"The targets are {list(request.targets)} and the domain is {request.domain!r}. "
            "Name at least one column to predict, and another for the domain."
        )
    require_columns(table, [request.domain], "domain")
    require_columns(table, request.targets, "target")
    domains = check_domain_column(table[request.domain])
    labels = read_labels(table, request.targets, request.task)
    sources = choose_sources(domains, labels.known, request.sources)
    rows = _Rows(table, domains, labels, sources, [])
    lost = rows.is_source & ~labels.known
    ignored = int((~rows.is_source & labels.known).sum())
    if ignored:
        rows.notes.append(f"Ignored the labels of {ignored} rows in domains that are not sources.")
    if not lost.any():
        return rows
    kept = np.flatnonzero(~lost)
    rows.notes.append(
        f"Left out {int(lost.sum())} rows of source domains that have no label; "
        "they can be predicted."
    )
    empty = set(sources) - {domains[row] for row in kept}
    if empty:
        raise InputError(
            f"The source domains {sorted(empty)[:5]} have no labels at all. Fill in their target, "
            "or leave them out of --sources."
        )
    return _Rows(
        table.iloc[kept],
        [domains[row] for row in kept],
        TableLabels(labels.values[kept], labels.known[kept], labels.task),
        sources,
        rows.notes,
    )


def _summary(rows: _Rows, preparation: TablePreparation) -> dict[str, Any]:
    """For every domain its rows, its role and the means of all columns of numbers."""
    reserved = {preparation.domain, *preparation.targets}
    numeric = [
        name
        for name in rows.table.columns
        if name not in reserved and rows.table[name].dtype.kind in "biuf"
    ]
    means = rows.table[numeric].astype(np.float64).groupby(np.array(rows.domains)).mean()
    sizes = pd.Series(rows.domains).value_counts()
    return {
        "columns": numeric,
        "domains": [
            {
                "domain": name,
                "role": "source" if name in set(rows.sources) else "target",
                "rows": int(sizes[name]),
                "means": {
                    column: float(value) if np.isfinite(value) else None
                    for column, value in means.loc[name].items()
                },
            }
            for name in sorted(sizes.index)
        ],
    }


def _write(
    out: str | os.PathLike[str],
    force: bool,
    model: BaseVDI,
    preparation: TablePreparation,
    about: dict[str, Any],
    summary: dict[str, Any],
) -> Run:
    with new_folder(out, marker=RUN, overwrite=force) as folder:
        model.save(folder / MODEL)
        write_json(folder / PREPARATION, stamped(PREPARATION, preparation.to_dict()))
        write_json(folder / SUMMARY, stamped(SUMMARY, summary))
        record = {"history": plain_frame(model.history_)}
        write_json(folder / TRAINING, stamped(TRAINING, record))
        write_json(folder / RUN, stamped(RUN, about))
    return Run.open(out)
