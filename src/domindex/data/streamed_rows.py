"""Rows for an estimator out of a table that is read in parts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from domindex.data.messages import did_you_mean, preview
from domindex.data.stream_summary import StreamPlan, StreamSummary
from domindex.data.streams import Stream, as_stream
from domindex.data.summarising import summarise
from domindex.errors import InputError


class StreamedRows(NamedTuple):
    """A sample: inputs as a frame, labels, and the name of every row's domain."""

    inputs: pd.DataFrame
    labels: Any
    domains: pd.Series


def sample_rows(
    X: Any, y: Any, sample_domain: Any, source_domains: Iterable[Hashable] | None, seed: int
) -> StreamedRows:
    """A bounded sample of the rows of every domain of a pyarrow dataset, a LazyFrame or Dask frame.

    `y` is the name of the label's column, or a list of them, and `sample_domain` that of the
    domain's. All other columns are inputs, and must be numbers. Labels of domains that are not
    among the sources are never read.
    """
    stream = as_stream(X)
    targets = [y] if isinstance(y, str) else list(y) if isinstance(y, list | tuple) else []
    for name in [*targets, sample_domain]:
        _require_column(stream, name)
    if not targets:
        raise _not_named("y", y)
    inputs = [name for name in stream.columns if name not in {sample_domain, *targets}]
    texts = [name for name in inputs if name not in stream.numbers]
    if texts or not inputs:
        raise InputError(
            f"Columns {preview(texts)} of {stream.what} are no numbers. Select those that are "
            "before fitting, or let `domindex.tables.fit_table` encode them."
        )
    is_source = _not_negative if source_domains is None else frozenset(source_domains).__contains__
    summary = summarise(
        stream,
        StreamPlan(
            sample_domain,
            tuple(targets),
            tuple(inputs),
            stream.numbers,
            is_source=is_source,
            seed=seed,
            spell_domains=False,
        ),
    )
    _refuse_missing(summary, stream)
    sources = [name for name in summary.domains if is_source(name)]
    sample = summary.sample(sources)
    labels = _labels(sample[y], stream.types[y]) if isinstance(y, str) else sample[targets]
    return StreamedRows(sample[inputs], labels, sample[sample_domain])


def _labels(column: pd.Series, kind: Any) -> Any:
    """Of the column's own kind; whatever stands in rows of targets."""
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.fillna(0.0).to_numpy().astype(np.int64 if pa.types.is_integer(kind) else bool)
    return column.to_numpy()


def _not_negative(name: Hashable) -> bool:
    """Whether a domain is a source by its sign; whoever checks names refuses those without one."""
    return not (isinstance(name, int) and name < 0)


def _refuse_missing(summary: StreamSummary, stream: Stream) -> None:
    bad = {
        name: facts.missing + facts.infinite
        for name, facts in summary.columns.items()
        if name in summary.plan.inputs and facts.missing + facts.infinite
    }
    if bad:
        listed = preview((f"{name} ({count})" for name, count in bad.items()), 5)
        raise InputError(
            f"{stream.what} contains NaN, nothing or infinity in {listed}. Fill these in, or let "
            "`domindex.tables.fit_table` do it."
        )


def _require_column(stream: Stream, name: Any) -> None:
    if not isinstance(name, str):
        raise _not_named("y and sample_domain", name)
    if name not in stream.types:
        hint = did_you_mean(name, stream.columns)
        raise InputError(
            f"There is no column {name!r} in {stream.what}; there are "
            f"{preview(stream.columns, 12)}. {hint or 'Spell it as in the table.'}"
        )


def _not_named(what: str, given: Any) -> InputError:
    return InputError(
        f"X is read in parts, so {what} must name its columns, but a {type(given).__name__} was "
        "given. Pass for example y='outcome', sample_domain='hospital'."
    )
