"""Fit a table, write its run and report; and the demo that does all of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from domindex.cluster import spread_over
from domindex.datasets import make_domain_graph
from domindex.errors import ClassNameWarning, DomindexError, InputError
from domindex.estimators.frames import PreparedFrame
from domindex.estimators.indexer import DomainIndexer, IndexingEstimator
from domindex.estimators.models import MAP, find_method
from domindex.evaluation import index_correlation
from domindex.inputs.columns import require_roles
from domindex.inputs.preparation import TablePreparation, input_names
from domindex.persistence.atomic import check_free, new_file
from domindex.persistence.codec import write_json
from domindex.persistence.paths import usable_path
from domindex.progress import Progress, show_progress
from domindex.reporting import report_data, write_run_report
from domindex.reporting.report import CONTENT_FILE
from domindex.tables.labels import ORDER, DomainRule, LabelledRows, classes_as_spelled, label_rows
from domindex.tables.large import Data, is_large, name_of, read_sample
from domindex.tables.predicting import index_table, predict_table
from domindex.tables.reading import AnyPath, read_with_notes, write_table
from domindex.tables.request import FitRequest, FitTable, check_settings, without_row_values
from domindex.tables.run import RUN, Run, RunCheckpoint, checkpoint_of, run_checkpoint
from domindex.versions import versions


def fit_table(
    data: Data,
    *,
    out: AnyPath,
    report: bool = True,
    force: bool = False,
    progress: bool = False,
    dask: str | None = None,
    checkpoint: bool = False,
    **request: Any,
) -> Run:
    """Fit the table in a file, and write the run to the folder `out`, complete or not at all.

    Parameters
    ----------
    data : a CSV, Parquet or Excel file, or what is read in parts
    out : the folder of the run
    report : write a report as well
    force : replace a run that is there
    progress : draw bars on standard error
    dask : the address of a scheduler to work on
    checkpoint : keep what is finished beside `out` until the run is complete: the same call, or
        `resume_table`, goes on from there
    **request : target, domain and all other attributes of `FitRequest`

    Examples
    --------
    >>> columns = {"target": ["complication"], "domain": "hospital", "key": "record"}
    >>> run = fit_table("patients.csv", out="run-1", **columns, settings=few, report=False)
    >>> run.model().source_domains_
    ['Ahlen', 'Bruck', 'Celle']
    """
    asked = FitRequest(data=data, **request)
    plain = asked.plain() | {"report": report, "force": force}
    with run_checkpoint(out, plain, checkpoint) as kept:
        run = None if kept is None else kept.written_run(out)
        if run is None:
            check_free(out, marker=RUN, overwrite=force)
        with spread_over(dask), show_progress(progress) as shown:
            start = time.perf_counter()
            if kept is not None and not kept.is_new:
                shown.say(f"Going on from {kept.folder} …")
            table = _read(asked, shown)
            if run is None:
                kind = find_method(asked.method, table.task)
                how = check_settings(kind, asked.parameters)
                model = kind(random_state=asked.seed, verbose=int(progress), **how)
                _announce(table, shown)
                seconds = {"reading": time.perf_counter() - start}
                _fit(model, table, kept)
                for line in model.summary().splitlines():
                    shown.say(line)
                seconds["fitting"] = time.perf_counter() - start - seconds["reading"]
                about = _about(table, model) | {"seconds": seconds}
                if kept is not None:
                    about["checkpoint"] = kept.token
                run = Run.write(out, model, about, overwrite=force)
            else:  # it was cut off in its report
                model = run.model()
            if report:
                shown.say(f"The run is in {run.folder}. Gathering the report …")
                for note in report_run(run, model, table):
                    shown.say(f"note: {note}")
            return run


def resume_table(out: AnyPath, *, progress: bool = False, dask: str | None = None) -> Run:
    """Go on with a fit that was cut off, as it was asked for; its data must be where it was.

    Examples
    --------
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


def _read(request: FitRequest, progress: Progress) -> FitTable:
    if is_large(request.data):
        if request.method == MAP:
            raise InputError(
                f"{name_of(request.data)} is read in parts, and a map without labels is drawn from "
                "a table in memory. Write a sample of the rows of every domain, and map that."
            )
        progress.say(f"{name_of(request.data)} is read in parts …")
        return read_sample(request)
    labels = classes_as_spelled(request.target, request.task)
    names: dict[str, Any] = {"texts": [request.domain.strip()], "labels": labels}
    table, read = read_with_notes(request.data, request.form, **names, open_file=progress.open_file)
    request = request.resolved(list(table.columns))
    require_roles(table.columns, request.roles)
    rule = _domain_rule(table, request)
    if request.method == MAP:
        rows = LabelledRows.without_labels(table, rule.names(table[request.domain]))
    else:
        named = (request.domain, request.target, request.sources, request.task)
        reads = find_method(request.method, "classification")._reads_target_labels
        rows = label_rows(table, *named, rule, request.spelling, few_labels=reads)
    inputs = input_names(list(table.columns), request.reserved, request)
    preparation, notes = TablePreparation.fit(
        rows.table[inputs], domains=rows.domains, is_source=rows.is_source, request=request
    )
    done = preparation.apply(rows.table).changes.notes(request.least_shown, with_texts=False)
    shown = request.shown(table.columns)
    source = {"file": name_of(request.data), "rows": len(table), "columns": shown}
    hidden = sorted(map(repr, request.hidden), key=len, reverse=True)
    for name in hidden:  # of which nothing is shown
        read = tuple(note.replace(name, "…") for note in read)
    said = (*read, *rows.notes, *notes, *done)
    return FitTable(request, rows, preparation, said, source, rule)


def _domain_rule(table: pd.DataFrame, request: FitRequest) -> DomainRule:
    """How the domain column names domains; for windows along it the inputs are looked at."""
    column = table[request.domain]
    if request.domain_by != ORDER:
        return DomainRule.fit(column, request.domain_by)
    names = input_names(list(table.columns), request.reserved, request)
    known = np.zeros(len(table), dtype=bool)
    if request.target:
        known = table[list(request.target)].notna().all(axis=1).to_numpy()
    return DomainRule.along(column, table[names], known)


def _announce(table: FitTable, progress: Progress) -> None:
    """The notes, the size of the table, and the task with the shares of classes in the sources."""
    for note in table.notes:
        progress.say(f"note: {note}")
    rows, labels = table.rows, table.rows.labels
    task: str = table.task
    if table.task == "classification":
        shares = pd.Series(labels.values[rows.is_source & labels.known])
        shares = shares.value_counts(normalize=True)
        task += ": " + ", ".join(f"{name} {share:.0%}" for name, share in shares.head(6).items())
        task += f" and {len(shares) - 6} more" if len(shares) > 6 else ""
    n_rows = table.source["rows"] if "sampled" in table.source else len(rows.domains)
    n_domains = len(set(rows.domains))
    labelled = f", {len(rows.sources)} of them with labels" if rows.sources else ""
    progress.say(
        f"{n_rows} rows in {n_domains} domains{labelled}; "
        f"{len(table.preparation.features)} inputs{f'; {task}' if rows.sources else ''}. "
        "Mapping the domains …"
    )


def _fit(model: Any, table: FitTable, kept: RunCheckpoint | None) -> None:
    rows = table.rows
    stages: dict[str, Any] = {}
    if kept is not None:
        stages["checkpoint"] = kept.folder / "fit"
    inputs = PreparedFrame(table.inputs, table.preparation)
    if isinstance(model, DomainIndexer):
        model.fit(inputs, sample_domain=rows.domains, **stages)
        model._set_windows(table.rule.order)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassNameWarning)  # spelling="exact" asked for them
        model.fit(
            inputs,
            rows.labels.values,
            sample_domain=rows.domains,
            source_domains=rows.sources,
            **stages,
        )
    if table.rule.order is not None and isinstance(model, IndexingEstimator):
        model._set_windows(table.rule.order)


def _about(table: FitTable, model: Any) -> dict[str, Any]:
    request = table.request
    return {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "data": table.source,
        "form": asdict(request.form),
        "domain": request.domain,
        "rule": asdict(table.rule),
        "key": request.key,
        "targets": list(request.target),
        "task": table.task,
        "features": table.preparation.features,
        "sources": table.rows.sources,
        "estimator": type(model).__name__,
        "settings": request.parameters,
        "seed": request.seed,
        "share": request.share,
        "notes": list(table.notes),
        "summary": model.summary().splitlines(),
        "versions": versions(),
        "stages": dict(zip(model.timings_["stage"], model.timings_["seconds"])),
    }


def report_run(run: Run, model: Any, table: FitTable) -> list[str]:
    """Gather the content of the report into the run and draw it; says what could not be done."""
    failed = "there is no report"
    try:
        content = report_data(
            model,
            table.inputs,
            table.rows.labels.values,
            table.rows.domains,
            columns=table.others,
            title=f"{run.about['data']['file']}: {', '.join(run.targets) or 'a map'}",
            seconds=run.about["seconds"]["fitting"],
            preparation=run.notes,
        )
        with new_file(run.folder / CONTENT_FILE, overwrite=True) as draft:
            write_json(draft, without_row_values(content.to_dict(), share=run.is_shared))
        failed = "the report was not drawn"
        draw_report(run.folder)
    except DomindexError as error:
        return [f"{failed}: {error}"]
    return []


def draw_report(folder: AnyPath) -> Path:
    """Write the report of a run as one HTML file, from the content that was gathered.

    Examples
    --------
    >>> draw_report("nothing-here")
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    return write_run_report(Run.open(folder).folder)


@dataclass(frozen=True)
class DemoResult:
    """The run, and how well it did on labels that it was not given."""

    run: Run
    figures: dict[str, float]

    def summary(self) -> str:
        return (
            f"Accuracy in the domains without labels: {self.figures['target_accuracy']:.1%}. "
            "Correlation of the map with the angles that were never given: "
            f"{self.figures['index_correlation']:.3f}."
        )


def run_demo(
    out: AnyPath,
    *,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    report: bool = True,
    force: bool = False,
    progress: bool = False,
) -> DemoResult:
    """Write family.csv, run/, predictions.csv and index.csv into the folder `out`.

    Examples
    --------
    >>> run_demo("demo", settings={"effort": "much"})
    Traceback (most recent call last):
    domindex.errors.InputError: effort is 'much'...
    """
    folder = usable_path(out)
    check_free(folder / "run", marker=RUN, overwrite=force)
    family = make_domain_graph(n_domains=24, random_state=seed)
    table = pd.DataFrame(family.X, columns=[f"input{n}" for n in range(family.X.shape[1])])
    table["domain"] = family.sample_domain
    labels = pd.Series(family.y).astype("Int64")
    table["label"] = labels.mask(np.asarray(~family.is_source))  # as a user would have them
    write_table(table, folder / "family.csv", overwrite=force)
    asked: dict[str, Any] = {"target": ["label"], "domain": "domain", "settings": settings}
    how: dict[str, Any] = {"seed": seed, "report": report, "force": force, "progress": progress}
    run = fit_table(folder / "family.csv", out=folder / "run", **asked, **how)
    where: dict[str, Any] = {"out": folder / "predictions.csv", "force": force}
    predicted = predict_table(run, folder / "family.csv", **where, progress=progress).table
    index = index_table(run, out=folder / "index.csv", force=force).table
    assert predicted is not None
    assert family.true_index is not None
    right = predicted["label"].to_numpy() == family.y
    angles = family.true_index[[int(name) for name in index["domain"]]]
    correlation = index_correlation(index[["x1", "x2"]].to_numpy(), angles)
    accuracy = right[~family.is_source].mean()
    figures = {"target_accuracy": float(accuracy), "index_correlation": float(correlation)}
    return DemoResult(run, figures)
