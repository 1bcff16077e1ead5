"""Fit a table and keep everything about it in one folder."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Literal

import pandas as pd

from domindex.cluster import spread_over
from domindex.data.domain_data import Task
from domindex.data.messages import preview
from domindex.errors import ClassNameWarning, InputError
from domindex.estimators import VDIClassifier, VDIRegressor
from domindex.estimators.vdi import BaseVDI
from domindex.persistence.atomic import check_free
from domindex.preparation import InputRequest, Missing, TablePreparation
from domindex.preparation.columns import require_roles
from domindex.preparation.domain_rule import DomainRule
from domindex.progress import Progress, show_progress
from domindex.tables.configuration import check_settings
from domindex.tables.fit_request import FitRequest, FitTable
from domindex.tables.labels import Spelling
from domindex.tables.reading import read_with_notes
from domindex.tables.resuming import (
    RunCheckpoint,
    checkpoint_of,
    kept_until_complete,
)
from domindex.tables.rows import LabelledRows, label_rows
from domindex.tables.run import RUN, Run
from domindex.tables.run_report import report_run
from domindex.tables.sampling import read_sample
from domindex.tables.streaming import Data, is_large, name_of
from domindex.tables.text_format import TextFormat
from domindex.versions import versions

MOST_CLASSES = 6
"""Classes whose shares are said before a fit."""


def fit_table(
    data: Data,
    *,
    target: Sequence[str],
    domain: str,
    domain_by: str | None = None,
    out: str | os.PathLike[str],
    sources: Sequence[str] | None = None,
    key: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    keep_columns: Sequence[str] = (),
    dates: bool = False,
    task: Task | Literal["auto"] = "auto",
    spelling: Spelling = "ask",
    missing: Missing = "impute",
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    report: bool = True,
    force: bool = False,
    progress: bool = False,
    dask: str | None = None,
    share: bool = False,
    checkpoint: bool = False,
) -> Run:
    """Fit the table in a file, and write the run to the folder `out`, complete or not at all.

    The other arguments are the attributes of `FitRequest`, of its `InputRequest` and of its
    `TextFormat`, where each is described. `report` writes a report as well, `force` replaces a run
    that is there, `progress` draws bars, `dask` is the address of a scheduler to work on, and
    `checkpoint` keeps what is finished beside `out` until the run is complete: the same call, or
    `resume_table`, goes on from there.

    Examples
    --------
    >>> from domindex.tables import fit_table
    >>> from domindex.datasets import make_hospitals
    >>> table = make_hospitals(n_hospitals=5, n_sources=3, rows_per_hospital=30)
    >>> table.to_csv("patients.csv", index=False)
    >>> few = {"candidates": [["raw", "linear"]], "training": {"index_steps": 5}}  # to be quick
    >>> run = fit_table(
    ...     "patients.csv", target=["complication"], domain="hospital", key="record", settings=few,
    ...     report=False, out="run"
    ... )
    >>> run.notes[0]
    "Left out 1 column whose values name rows, as numbers of records or free texts do: 'note'...
    >>> run.model().source_domains_
    ['Ahlen', 'Bruck', 'Celle']
    """
    _refuse_contradictions(key, features, exclude, keep_columns, categorical)
    form = TextFormat(delimiter, decimal, encoding, tuple(na))
    hidden = list(dict.fromkeys([*exclude, *([key] if key is not None else [])]))
    inputs = InputRequest(features, hidden, categorical, keep_columns, dates, missing, share)
    roles = (domain, tuple(target), sources)
    request = FitRequest(data, form, *roles, inputs, task, settings or {}, seed)
    request = replace(request, domain_by=domain_by, spelling=spelling, key=key)
    asked = request.plain() | {"report": report, "force": force}
    with kept_until_complete(out, asked, checkpoint) as kept:
        run = None if kept is None else kept.written_run(out)
        if run is None:
            check_free(out, marker=RUN, overwrite=force)
        with spread_over(dask), show_progress(progress) as shown:
            return _run(request, out, _Wishes(report, force, progress), kept, run, shown)


def _refuse_contradictions(
    key: str | None,
    features: Sequence[str] | None,
    exclude: Sequence[str],
    keep: Sequence[str],
    categorical: Sequence[str],
) -> None:
    """A column cannot be left out and used."""
    used = {"--features": features or (), "--keep-column": keep, "--categorical": categorical}
    left_out = {"--exclude": exclude, "--id": [] if key is None else [key]}
    for option, names in used.items():
        for other, hidden in left_out.items():
            both = [name for name in names if name in hidden]
            if both:
                raise InputError(
                    f"{preview(both)} is named by {option}, to be an input, and by {other}, not to "
                    "be one. Take it out of one of them."
                )


@dataclass(frozen=True)
class _Wishes:
    """What is asked of a fit beside the model."""

    report: bool
    force: bool
    progress: bool


def resume_table(
    out: str | os.PathLike[str], *, progress: bool = False, dask: str | None = None
) -> Run:
    """Go on with a fit that was cut off, as it was asked for; its data must be where it was.

    Examples
    --------
    >>> from domindex.tables import resume_table
    >>> resume_table("nothing-here")
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    asked = dict(RunCheckpoint.open(out).request)
    if asked.get("data") is None:
        raise InputError(
            f"The table of {out} was no file, so it cannot be found again. Call fit_table as "
            "before, with checkpoint=True: it goes on from there."
        )
    try:
        return fit_table(out=out, progress=progress, dask=dask, checkpoint=True, **asked)
    except TypeError as error:
        raise InputError(
            f"{checkpoint_of(out)} is damaged ({error}). Remove the folder and fit anew."
        ) from error


def _run(
    request: FitRequest,
    out: str | os.PathLike[str],
    wishes: _Wishes,
    kept: RunCheckpoint | None,
    run: Run | None,
    shown: Progress,
) -> Run:
    """Read, fit and write; of a `run` that was written before it was cut off, only the report."""
    start = time.perf_counter()
    if kept is not None and not kept.is_new:
        shown.say(f"Going on from {kept.folder} …")
    table = _read(request, shown)
    if run is not None:
        model = run.model()
    else:
        model = _new_model(request, table.rows.labels.task, verbose=int(wishes.progress))
        _announce(table, shown)
        seconds = {"reading": time.perf_counter() - start}
        _fit(model, table, kept)
        for line in model.summary().splitlines():
            shown.say(line)
        seconds["fitting"] = time.perf_counter() - start - seconds["reading"]
        about = _about(request, table, model) | {"seconds": seconds}
        if kept is not None:
            about["checkpoint"] = kept.token
        run = Run.write(out, model, table.preparation, about, overwrite=wishes.force)
    if wishes.report:
        _report(run, model, table, shown, request.inputs.share)
    return run


def _report(run: Run, model: Any, table: FitTable, progress: Progress, share: bool) -> None:
    progress.say(f"The run is in {run.folder}. Gathering the report …")
    for note in report_run(run, model, table.inputs, table.rows, table.others, share=share):
        progress.say(f"note: {note}")


def _read(request: FitRequest, progress: Progress) -> FitTable:
    if is_large(request.data):
        progress.say(f"{name_of(request.data)} is read in parts …")
        return read_sample(request)
    table, read = read_with_notes(
        request.data, request.form, texts=[request.domain], open_file=progress.open_file
    )
    require_roles(table.columns, request.roles)
    rule = DomainRule.fit(table[request.domain], request.domain_by)
    rows = label_rows(
        table,
        domain=request.domain,
        targets=request.targets,
        sources=request.sources,
        task=request.task,
        rule=rule,
        spelling=request.spelling,
    )
    preparation, notes = TablePreparation.fit(
        rows.table,
        domain=request.domain,
        targets=request.targets,
        is_source=rows.is_source,
        domains=rows.domains,
        request=request.inputs,
        rule=rule,
    )
    inputs = preparation.apply(rows.table)
    return FitTable(
        rows,
        preparation,
        pd.DataFrame(inputs.values, columns=preparation.features),
        (
            *read,
            *rows.notes,
            *notes,
            *inputs.changes.notes(request.inputs.least_shown, with_texts=False),
        ),
        {
            "file": name_of(request.data),
            "rows": len(table),
            "columns": request.shown(table.columns),
        },
        hidden=frozenset(request.inputs.exclude),
        asked_for_all=request.inputs.features is None,
    )


def _new_model(request: FitRequest, task: Task, *, verbose: int) -> BaseVDI:
    kind = VDIClassifier if task == "classification" else VDIRegressor
    arguments = check_settings(kind, request.settings)
    return kind(random_state=request.seed, verbose=verbose, **arguments)


def _announce(table: FitTable, progress: Progress) -> None:
    for note in table.notes:
        progress.say(f"note: {note}")
    rows = table.rows
    n_rows = table.source["rows"] if "sampled" in table.source else len(rows.domains)
    progress.say(
        f"{n_rows} rows in {rows.n_domains} domains, {len(rows.sources)} of them with "
        f"labels; {table.inputs.shape[1]} inputs; {_task_words(rows)}. Mapping the domains …"
    )


def _task_words(rows: LabelledRows) -> str:
    """The task, and the classes with their shares in the sources."""
    if rows.labels.task != "classification":
        return rows.labels.task
    known = rows.labels.values[rows.is_source & rows.labels.known]
    shares = pd.Series(known).value_counts(normalize=True)
    listed = [f"{name} {share:.0%}" for name, share in shares.head(MOST_CLASSES).items()]
    more = len(shares) - len(listed)
    return f"classification: {', '.join(listed)}" + (f" and {more} more" if more else "")


def _fit(model: BaseVDI, table: FitTable, kept: RunCheckpoint | None) -> None:
    rows = table.rows
    model._says_bounds = False  # the notes on the table do
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassNameWarning)  # spelling="exact" asked for them
        model.fit(
            table.inputs,
            rows.labels.values,
            sample_domain=rows.domains,
            source_domains=rows.sources,
            checkpoint=None if kept is None else kept.pieces,
        )


def _about(request: FitRequest, table: FitTable, model: BaseVDI) -> dict[str, Any]:
    return {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "data": table.source,
        "form": request.form.to_dict(),
        "domain": request.domain,
        "key": request.key,
        "targets": list(request.targets),
        "task": table.rows.labels.task,
        "features": table.preparation.features,
        "sources": table.rows.sources,
        "estimator": type(model).__name__,
        "settings": dict(request.settings),
        "seed": request.seed,
        "share": request.inputs.share,
        "notes": list(table.notes),
        "summary": model.summary().splitlines(),
        "versions": versions(),
        "stages": dict(zip(model.timings_["stage"], model.timings_["seconds"])),
    }
