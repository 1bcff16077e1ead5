"""One pass over a stream, in this process or over the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from domindex.cluster import cluster_errors
from domindex.data.stream_summary import StreamPlan, StreamSummary
from domindex.data.streams import (
    DaskStream,
    Part,
    Stream,
    checked_partition,
    partition_name,
    reading,
)
from domindex.errors import InputError

MERGED_AT_ONCE = 8
"""Summaries of partitions that a worker adds up, so that no process holds many."""


def summarise(stream: Stream, plan: StreamPlan) -> StreamSummary:
    """What all rows say, and a sample of them.

    A Dask frame is summarised partition by partition where its partitions are computed, and only
    summaries travel. Everything else goes through joblib: by itself in this process, under
    `joblib.parallel_config(backend="dask")` on the workers, which must see the same files.
    """
    if isinstance(stream, DaskStream):
        summary = _of_partitions(stream, plan)
    elif effective_n_jobs(None) > 1 and len(stream.pieces()) > 1:
        jobs = (delayed(_of_piece)(piece, plan) for piece in stream.pieces())
        with cluster_errors():
            summary = _merged(Parallel(return_as="generator")(jobs))
    else:
        summary = _of_piece(stream, plan)
    if not len(summary.names):
        raise InputError(f"{stream.what} has no rows. Check the export that wrote it.")
    return summary


def _of_piece(stream: Stream, plan: StreamPlan) -> StreamSummary:
    summary = StreamSummary(plan)
    for part in stream.parts(plan.columns):
        summary.add(part)
    return summary


def _of_partitions(stream: DaskStream, plan: StreamPlan) -> StreamSummary:
    import dask

    summarised = dask.delayed(_of_partition, pure=False)
    merged = dask.delayed(_merged_list, pure=False)
    level = [
        summarised(part, stream.columns, number, plan)
        for number, part in enumerate(stream.delayed())
    ]
    while len(level) > 1:
        groups = range(0, len(level), MERGED_AT_ONCE)
        level = [merged(level[start : start + MERGED_AT_ONCE]) for start in groups]
    with cluster_errors(), reading(stream.what):
        (summary,) = dask.compute(*level)
    return summary


def _of_partition(
    frame: Any, columns: Sequence[str], number: int, plan: StreamPlan
) -> StreamSummary:
    what = partition_name(number)
    summary = StreamSummary(plan)
    summary.add(Part(what, checked_partition(frame, columns, what)))
    return summary


def _merged_list(summaries: list[StreamSummary]) -> StreamSummary:
    return _merged(summaries)


def _merged(summaries: Iterable[StreamSummary]) -> StreamSummary:
    """All in the first."""
    result: StreamSummary | None = None
    for summary in summaries:
        if result is None:
            result = StreamSummary(summary.plan)
        result.merge(summary)
    assert result is not None
    return result
