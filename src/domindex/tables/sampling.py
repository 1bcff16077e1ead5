"""A table beyond memory as a small one: the sample that a model is fitted on, and what all rows
say of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from domindex.data.bottom_rows import SampleSize
from domindex.data.domain_data import Task
from domindex.data.messages import preview
from domindex.data.stream_summary import StreamPlan, StreamSummary
from domindex.data.streams import Stream
from domindex.data.summarising import summarise
from domindex.errors import InputError
from domindex.preparation import TablePreparation, input_names
from domindex.preparation.columns import require_roles
from domindex.preparation.encoded import counted, filled_by
from domindex.tables.fit_request import FitRequest, FitTable
from domindex.tables.labels import MAX_CLASSES, choose_sources
from domindex.tables.rows import check_roles, label_rows
from domindex.tables.streaming import Data, name_of, open_stream

SAMPLE = SampleSize(a_domain=2_000, in_all=100_000)
"""Rows that a model of a large table is fitted on. Folds learn from 4,000 rows, members from 20,000
and a domain's distances rest on 200, so that more would change little; for time and memory, not
tuned."""

ODD_SAMPLE = 8.0
"""Standard errors by which the mean of a domain's sample may depart from that of all its rows
before that is said. A random choice does not; rows that are repeated many times may."""


def summarise_table(
    data: Data,
    *,
    domain: str,
    targets: Sequence[str] = (),
    inputs: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    delimiter: str | None = None,
    seed: int = 0,
) -> StreamSummary:
    """One pass over a table of any size: counts, moments and categories, and a bounded sample.

    Parameters
    ----------
    data : a CSV or Parquet file, a folder of Parquet files, a pyarrow dataset, a polars LazyFrame
        or a Dask data frame
    domain : the column that names the domain
    targets : the columns to predict
    inputs : the other columns to read; all where None
    sources : the labelled domains; labels of others are not read. None takes all with any label
    categorical : columns of numbers that are categories
    delimiter : between the columns of a text file; told by its header where None
    seed : of the sample

    Examples
    --------
    >>> from domindex.tables import summarise_table
    >>> from domindex.datasets import make_hospitals
    >>> table = make_hospitals(n_hospitals=5, n_sources=3, rows_per_hospital=30)
    >>> table.to_csv("patients.csv", index=False)
    >>> summary = summarise_table("patients.csv", domain="hospital", targets=["complication"])
    >>> int(summary.n_rows.sum())
    150
    """
    stream = open_stream(data, delimiter=delimiter, texts=[domain])
    return summarise(
        stream, stream_plan(stream, domain, targets, inputs, sources, categorical, seed)
    )


def stream_plan(
    stream: Stream,
    domain: str,
    targets: Sequence[str],
    inputs: Sequence[str] | None,
    sources: Sequence[str] | None,
    categorical: Sequence[str],
    seed: int,
) -> StreamPlan:
    """What to read of a stream, once its columns are known to be there."""
    named = {"domain": [domain], "target": targets, "inputs": inputs or ()}
    require_roles(stream.columns, named)
    taken = {domain, *targets}
    read = [name for name in stream.columns if name not in taken] if inputs is None else inputs
    return StreamPlan(
        domain,
        tuple(targets),
        tuple(read),
        frozenset(stream.numbers - set(categorical)),
        is_source=None if sources is None else frozenset(sources).__contains__,
        seed=seed,
        size=SAMPLE,
    )


def read_sample(request: FitRequest) -> FitTable:
    """A large table as `fit_table` wants it: a sample, prepared like a table of that size would be.

    Which columns change and which categories there are is told by all rows; medians and commonest
    texts, which stand in for missing values, by the sample.
    """
    stream = open_stream(request.data, form=request.form, texts=[request.domain])
    columns, wanted, roles = stream.columns, request.inputs, (request.domain, request.targets)
    _check_request(request, columns)
    inputs = input_names(columns, *roles, wanted.features, wanted.exclude)
    plan = stream_plan(stream, *roles, inputs, request.sources, wanted.categorical, request.seed)
    summary = summarise(stream, plan)
    sources = _sources(summary, request.sources)
    table = summary.sample(sources)
    rows = label_rows(
        table,
        domain=request.domain,
        targets=request.targets,
        sources=sources,
        task=_task(request, summary),
        spelling=request.spelling,
    )
    preparation, notes = TablePreparation.fit(
        rows.table,
        domain=request.domain,
        targets=request.targets,
        is_source=rows.is_source,
        domains=rows.domains,
        request=replace(
            wanted,
            exclude=(),
            categorical=[name for name in wanted.categorical if name in inputs],
            keep=[name for name in wanted.keep if name in inputs],
        ),
        facts=summary.columns,
    )
    _check_missing(summary, preparation)
    prepared = preparation.apply(rows.table)
    filled = _filled(summary, preparation, wanted.least_shown)
    said = (*_row_notes(summary, sources, table), *notes, *filled)
    return FitTable(
        rows,
        preparation,
        pd.DataFrame(prepared.values, columns=preparation.features),
        (*said, *_odd_domains(summary, table, sources)),
        {
            "file": name_of(request.data),
            "rows": int(summary.n_rows.sum()),
            "columns": request.shown(columns),
            "sampled": len(table),
        },
        hidden=frozenset(request.inputs.exclude),
        asked_for_all=request.inputs.features is None,
    )


def _check_request(request: FitRequest, columns: Sequence[str]) -> None:
    check_roles(request.domain, request.targets)
    if request.domain_by is not None:
        raise InputError(
            f"Domains by {request.domain_by} are not made of a table that is read in parts. Write "
            "the domain of every row into a column of its own."
        )
    require_roles(columns, request.roles)


def _sources(summary: StreamSummary, named: Sequence[str] | None) -> list[str]:
    counts = summary.counts()
    known = np.asarray(counts["labelled"] > 0)
    sources = choose_sources([str(name) for name in counts.index], known, named)
    empty = [name for name in sources if not counts.loc[name, "labelled"]]
    if empty:
        raise InputError(
            f"The source domains {empty[:5]} have no labels at all. Fill in their target, "
            "or leave them out of --sources."
        )
    return sources


def _task(request: FitRequest, summary: StreamSummary) -> Task | Literal["auto"]:
    """As for a small table, where all labels count: few whole numbers are classes."""
    if request.task != "auto" or len(request.targets) != 1:
        return request.task
    facts = summary.columns[request.targets[0]]
    is_number = request.targets[0] in summary.plan.numbers
    many = facts.few is None or len(facts.few) > MAX_CLASSES
    return "regression" if is_number and many else "auto"


def _row_notes(summary: StreamSummary, sources: Sequence[str], table: pd.DataFrame) -> list[str]:
    counts, sampled = summary.counts(), table[summary.plan.domain].value_counts()
    total, of_sources = int(summary.n_rows.sum()), counts.loc[list(sources)]
    notes = []
    if len(table) < total:
        notes.append(
            f"Learned from a sample of {len(table)} of {total} rows, at most {sampled.max()} of a "
            "domain."
        )
    if summary.n_ignored:
        notes.append(
            f"Ignored the labels of {summary.n_ignored} rows in domains that are not sources."
        )
    lost = int((of_sources["rows"] - of_sources["labelled"]).sum())
    if lost:
        notes.append(
            f"Left out {lost} rows of source domains that have no label; they can be predicted."
        )
    return notes


def _filled(summary: StreamSummary, preparation: TablePreparation, least: int) -> list[str]:
    """How often inputs are missing in all rows; counts below `least` are not said."""
    missing, drawn = _missing(summary, preparation), preparation.drawn_columns
    simple = {name: count for name, count in missing.items() if name not in drawn}
    others = Counter({name: count for name, count in missing.items() if name in drawn})
    notes = [
        f"Missing inputs are filled in by the sources' {what}: {counted(part, least)}."
        for what, part in filled_by(simple, preparation.category_columns).items()
    ]
    if others:
        listed = counted(others, least)
        notes.append(f"Missing inputs are drawn from what the others say of them: {listed}.")
    return notes


def _check_missing(summary: StreamSummary, preparation: TablePreparation) -> None:
    missing = _missing(summary, preparation)
    if missing and preparation.missing == "error":
        name = max(missing, key=lambda name: missing[name])
        raise InputError(
            f"{sum(missing.values())} inputs are missing, most in {name!r} ({missing[name]}). "
            "Fill them in, or let them be imputed (--missing impute)."
        )


def _missing(summary: StreamSummary, preparation: TablePreparation) -> dict[str, int]:
    counts = {column.name: summary.columns[column.name].missing for column in preparation.columns}
    return {name: count for name, count in counts.items() if count}


def _odd_domains(summary: StreamSummary, table: pd.DataFrame, sources: Sequence[str]) -> list[str]:
    """A word on domains whose sample is not like their rows, as the streamed moments show.

    Sources with rows that have no label are passed over: their sample is of the other rows.
    """
    counts = summary.counts()
    whole = counts.index[counts["labelled"].isin([0]) | (counts["labelled"] == counts["rows"])]
    names = [name for name in counts.index if name in set(whole) or name not in set(sources)]
    numbers = list(summary.numbers)
    if not numbers or not names:
        return []
    grouped = table.groupby(summary.plan.domain)[numbers]
    means, sizes = grouped.mean().loc[names], grouped.count().loc[names]
    spread = summary.deviations().loc[names] / np.sqrt(sizes.clip(lower=1))
    gaps = (means - summary.means().loc[names]).abs()
    odd = gaps[(gaps > ODD_SAMPLE * spread) & (spread > 0)].notna().any(axis=1)
    if not odd.any():
        return []
    return [
        f"The sample of {preview(odd.index[odd], 3)} is not like all of their rows: some rows are "
        "repeated many times there. Add a column that tells rows apart, or shuffle and thin them."
    ]
