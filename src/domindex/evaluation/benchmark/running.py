"""Every method on every dataset, each cell once."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from domindex.data.messages import preview
from domindex.datasets import DomainDataset, list_datasets, load_dataset
from domindex.errors import InputError
from domindex.evaluation.benchmark.cells import MORE_IS_NOT_NEEDED, Cell, CellResult
from domindex.evaluation.benchmark.journal import Journal
from domindex.evaluation.benchmark.methods import METHODS
from domindex.evaluation.benchmark.progress import show_progress
from domindex.evaluation.benchmark.spreading import (
    connected,
    spread_over_cluster,
    spread_over_cores,
)
from domindex.evaluation.benchmark.tables import render_tables

PathLike = str | os.PathLike[str]

RESULTS_NAME = "benchmark.jsonl"


@dataclass(frozen=True)
class BenchmarkRun:
    """What a run knows at its end: the result of every cell that was asked for, old or new."""

    results: tuple[CellResult, ...]
    path: Path

    @property
    def failed(self) -> tuple[CellResult, ...]:
        return tuple(result for result in self.results if result.status == "failed")

    def tables(self) -> str:
        """Markdown, shaped like the paper's tables."""
        return render_tables(self.results)


def run_benchmark(
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    *,
    seeds: int = 3,
    out: PathLike = "benchmark-results",
    jobs: int = -1,
    dask: str | None = None,
    data_home: PathLike | None = None,
    progress: bool = False,
) -> BenchmarkRun:
    """Measure every method on every dataset with seeds 0, 1, …, and keep each cell at once.

    Cells that `out` holds already are not run again, unless they failed; a cell that fails now is
    recorded, and the others go on. The same seed gives the same figures. Target labels are used
    for scoring only.

    Parameters
    ----------
    datasets, methods : names, or None for all; see `list_datasets` and `list_methods`
    seeds : how many; a method without chance runs once
    out : folder of the results, benchmark.jsonl and benchmark.md
    jobs : cells measured side by side, each in a process with one thread; −1 for one per core
    dask : address of a Dask scheduler, whose workers then measure the cells instead
    data_home : folder of the datasets' files, here and on the cluster's workers
    progress : whether to show a bar and every finished cell on standard error

    Raises
    ------
    InputError, DatasetError
        Before anything is measured: unknown names, a folder that cannot be written to, a
        scheduler that does not answer.
    """
    chosen = _choose("dataset", datasets, list_datasets())
    wanted = _choose("method", methods, list(METHODS))
    _require_counts(seeds, jobs)
    home = None if data_home is None else os.path.abspath(data_home)
    cells = list(_plan([load_dataset(name, home) for name in chosen], wanted, seeds))
    with ExitStack() as stack:
        if dask is None:
            spread = partial(spread_over_cores, jobs=jobs, data_home=home)
        else:
            client = stack.enter_context(connected(dask))
            spread = partial(spread_over_cluster, client=client, data_home=home)
        journal = Journal.open(Path(out) / RESULTS_NAME)
        known = journal.read()
        open_cells = [
            (cell, reason)
            for cell, reason in cells
            if cell.key not in known or known[cell.key].status not in MORE_IS_NOT_NEEDED
        ]
        for cell, reason in open_cells:
            if reason:
                journal.append(cell.not_applicable(reason))
        to_run = [cell for cell, reason in open_cells if not reason]
        with show_progress(len(to_run), already=len(cells) - len(to_run), visible=progress) as tell:
            for result in spread(to_run):
                journal.append(result)
                tell(result)
    known = journal.read()
    run = BenchmarkRun(tuple(known[cell.key] for cell, _ in cells), journal.path)
    journal.path.with_suffix(".md").write_text(
        render_tables(known.values(), complete=True), encoding="utf-8"
    )
    return run


def _plan(
    datasets: Sequence[DomainDataset], methods: Sequence[str], seeds: int
) -> Iterator[tuple[Cell, str]]:
    """Every cell, and why it cannot run; such a cell, and one without chance, has one seed."""
    for dataset in datasets:
        for method in (METHODS[name] for name in methods):
            reason = method.objection(dataset)
            for seed in range(seeds if method.seeded and not reason else 1):
                yield Cell(dataset.name, method.name, seed), reason


def _choose(what: str, names: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The wanted names, each once, in the order given; all where none are."""
    wanted = list(known) if names is None else list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        near = difflib.get_close_matches(str(unknown[0]).lower(), known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else "Choose from these."
        raise InputError(
            f"There is no {what} {preview(unknown)}; there are {', '.join(known)}. {hint}"
        )
    if not wanted:
        raise InputError(f"No {what} is named; there are {', '.join(known)}. Leave out for all.")
    return wanted


def _require_counts(seeds: int, jobs: int) -> None:
    if seeds < 1:
        raise InputError(f"seeds is {seeds}. Choose a whole number of 1 or more.")
    if jobs == 0:
        raise InputError("jobs is 0. Choose a number of processes, or -1 for one per core.")
