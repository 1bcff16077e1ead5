"""Cells over the cores of this machine, or over the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed

from domindex_bench.cells import Cell, CellResult
from domindex_bench.suites import settings_now
from domindex_bench.worker import run_cell

Executor = Callable[[Sequence[Cell], bool], Iterator[CellResult]]
"""From cells, and whether each must run alone, to results as they are known."""


def run_on_cores(
    cells: Sequence[Cell], alone: bool, jobs: int, data_home: str | None
) -> Iterator[CellResult]:
    """Results as they are known. Each of `jobs` threads waits for one process after another; under
    `joblib.parallel_config` another backend takes the threads' place."""
    if alone:
        yield from (run_cell(cell, data_home) for cell in cells)
        return
    parallel = Parallel(n_jobs=jobs, prefer="threads", return_as="generator_unordered")
    yield from parallel(delayed(run_cell)(cell, data_home) for cell in cells)


def run_on_cluster(
    cells: Sequence[Cell], alone: bool, client: Any, data_home: str | None
) -> Iterator[CellResult]:
    """Results as they are known; a cell whose worker is lost for good is a failed one."""
    from distributed import as_completed

    if alone and len(cells) > 1:
        for cell in cells:
            yield from run_on_cluster([cell], alone, client, data_home)
        return

    futures = {client.submit(run_cell, cell, data_home, pure=False): cell for cell in cells}
    for future in as_completed(futures, loop=client.loop):
        if future.status == "finished":
            yield future.result()
        else:
            error = future.exception() if future.status == "error" else "the scheduler is gone"
            cell, note = futures[future], f"lost by the cluster: {' '.join(str(error).split())}"
            yield cell.ended("failed", settings_now(cell), note=note)
        future.release()  # else a worker that leaves would have its results computed again
