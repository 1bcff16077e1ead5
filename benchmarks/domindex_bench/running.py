"""Suites, measured: each cell once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from domindex.cluster import connected
from domindex.errors import DatasetError, InputError
from domindex.progress import show_progress
from domindex_bench.cells import MORE_IS_NOT_NEEDED, Cell, CellResult, Key
from domindex_bench.choosing import choose_names
from domindex_bench.executors import Executor, run_on_cluster, run_on_cores
from domindex_bench.record import RECORD_NAME, Record
from domindex_bench.rendering import of_suite, render_suite, write_documents
from domindex_bench.suite import Suite
from domindex_bench.suites import SUITES, find_suite, settings_now

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class BenchmarkRun:
    """What a run knows at its end.

    Attributes
    ----------
    results : the row of every cell that was asked for, old or new
    path : the record
    note : why the documents beside the record were not written, empty where they were
    """

    results: tuple[CellResult, ...]
    path: Path
    note: str = ""

    @property
    def failed(self) -> tuple[CellResult, ...]:
        return tuple(result for result in self.results if result.status == "failed")

    def tables(self) -> str:
        """Markdown, a document per suite that was asked for."""
        names = dict.fromkeys(result.suite for result in self.results)
        return "\n".join(
            render_suite(find_suite(name), of_suite(self.results, name), stale=True)
            for name in names
        )


def run_benchmark(
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    *,
    suite: str | Sequence[str] = "paper",
    seeds: int | None = None,
    out: PathLike = "benchmark-results",
    jobs: int = -1,
    dask: str | None = None,
    data_home: PathLike | None = None,
    stale: bool = False,
    progress: bool = False,
) -> BenchmarkRun:
    """Measure every method of a suite on every dataset of it, and keep each cell at once.

    Cells that `out` holds already are not run again, unless they failed or were measured with
    other settings than the present code has; a cell that fails now is recorded, and the others go
    on. The same seed gives the same figures. Target labels are used for scoring only.

    Parameters
    ----------
    datasets : names, or None for all of the suites
    methods : names, or None for all of the suites
    suite : a name or several; see `list_suites`
    seeds : how many, 0, 1, …, or None for what the suite says; a method without chance runs once
    out : folder of the results, record.jsonl and a document for every suite
    jobs : cells measured side by side, each in a process with one thread; −1 for one per core
    dask : address of a Dask scheduler, whose workers then measure the cells instead
    data_home : folder of the datasets' files, here and on the cluster's workers
    stale : whether rows with other settings count as measured
    progress : whether to show a bar and every finished cell on standard error

    Raises
    ------
    InputError, DatasetError
        Before anything is measured: unknown names, a folder that cannot be written to, a
        scheduler that does not answer.
    """
    _require_counts(seeds, jobs)
    home = None if data_home is None else os.path.abspath(data_home)
    plans = list(_plans(_find_suites(suite), datasets, methods, seeds, home))
    with ExitStack() as stack:
        execute: Executor = partial(run_on_cores, jobs=jobs, data_home=home)
        if dask is not None:
            client = stack.enter_context(connected(dask))
            execute = partial(run_on_cluster, client=client, data_home=home)
        record = Record.open(Path(out) / RECORD_NAME)
        for plan in plans:
            _measure(plan, record, execute, stale, progress)
    known = record.read()
    results = tuple(known[cell.key] for plan in plans for cell in plan.cells)
    note = _write([plan.suite.name for plan in plans], out, stale)
    return BenchmarkRun(results, record.path, note)


@dataclass(frozen=True)
class _Plan:
    """The cells of a suite that are asked for, and why one cannot run, empty where it can."""

    suite: Suite
    cells: dict[Cell, str]

    def open_cells(self, known: dict[Key, CellResult], stale: bool) -> list[Cell]:
        """Those that are still to be settled."""
        return [cell for cell in self.cells if not self._is_settled(known.get(cell.key), stale)]

    def _is_settled(self, row: CellResult | None, stale: bool) -> bool:
        if row is None or row.status not in MORE_IS_NOT_NEEDED:
            return False
        return stale or row.settings == self.suite.settings_now(row.dataset, row.method)


def _measure(plan: _Plan, record: Record, execute: Executor, stale: bool, progress: bool) -> None:
    """Settle every cell of a plan, and write each row as soon as it is known."""
    to_settle = plan.open_cells(record.read(), stale)
    for cell in to_settle:
        reason = plan.cells[cell]
        if reason:
            record.append(cell.ended("not applicable", settings_now(cell), note=reason))
    to_run = [cell for cell in to_settle if not plan.cells[cell]]
    already = len(plan.cells) - len(to_run)
    name, rows = plan.suite.name, execute(to_run, plan.suite.alone)
    with show_progress(progress) as shown:
        if already:
            shown.say(
                f"{name}: {len(to_run)} cells to measure; {already} are known or not applicable."
            )
        for result in shown.each(name, rows, total=len(to_run), keep=True):
            record.append(result)
            shown.say(str(result))


def _find_suites(names: str | Sequence[str]) -> list[Suite]:
    wanted = [names] if isinstance(names, str) else names
    return [find_suite(name) for name in choose_names("suite", wanted, SUITES)]


def _plans(
    suites: Sequence[Suite],
    datasets: Sequence[str] | None,
    methods: Sequence[str] | None,
    seeds: int | None,
    data_home: str | None,
) -> Iterator[_Plan]:
    """A plan per suite; a name must be known to one of them at least."""
    chosen = choose_names("dataset", datasets, _all_names(suite.datasets for suite in suites))
    asked, insisted = frozenset(datasets or ()), frozenset(methods or ())
    wanted = choose_names("method", methods, _all_names(suite.methods for suite in suites))
    for suite in suites:
        present = [name for name in chosen if _is_there(suite, name, asked, data_home)]
        methods_of_suite = [name for name in wanted if _is_installed(suite, name, insisted)]
        cells = _cells(suite, present, methods_of_suite, seeds, data_home)
        yield _Plan(suite, dict(cells))


def _is_there(suite: Suite, name: str, asked: Collection[str], data_home: str | None) -> bool:
    """Whether a suite has a dataset, and its file; a missing one that was asked for is an error."""
    if name not in suite.datasets:
        return False
    if not suite.datasets[name].optional or name in asked:
        return True
    try:
        suite.datasets[name].load(data_home, 0)
    except DatasetError as error:
        warnings.warn(f"{suite.name} goes on without {name}. {error}", stacklevel=4)
        return False
    return True


def _is_installed(suite: Suite, name: str, asked: Collection[str]) -> bool:
    """Whether a suite has a method, and what it needs; an error as for a missing dataset."""
    if name not in suite.methods:
        return False
    package = suite.methods[name].package
    if package is None or find_spec(package) is not None:
        return True
    missing = f"It needs {package}. Install it with: pip install 'domindex[{package}]'"
    if name in asked:
        raise InputError(f"The method {name!r} cannot run. {missing}")
    warnings.warn(f"{suite.name} goes on without {name}. {missing}", stacklevel=4)
    return False


def _all_names(groups: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))


def _cells(
    suite: Suite,
    datasets: Sequence[str],
    methods: Sequence[str],
    seeds: int | None,
    data_home: str | None,
) -> Iterator[tuple[Cell, str]]:
    """Every cell, and why it cannot run; such a cell, and one without chance, has one seed."""
    for name in datasets:
        source = suite.datasets[name]
        dataset = source.load(data_home, 0)
        count = seeds or source.seeds or suite.seeds
        for method in (suite.methods[method] for method in methods):
            reason = method.objection(dataset)
            varies = (method.seeded or source.redraws) and not reason
            for seed in range(count if varies else 1):
                yield Cell(suite.name, name, method.name, seed), reason


def _write(suites: Sequence[str], out: PathLike, stale: bool) -> str:
    """Write the documents; why not, where the record holds rows that are refused."""
    try:
        write_documents(out, suites=suites, stale=stale)
    except InputError as error:
        return f"No tables were written. {error}"
    return ""


def _require_counts(seeds: int | None, jobs: int) -> None:
    if seeds is not None and seeds < 1:
        raise InputError(f"seeds is {seeds}. Choose a whole number of 1 or more.")
    if jobs == 0:
        raise InputError("jobs is 0. Choose a number of processes, or -1 for one per core.")
