"""Suites, measured: each cell once, in a process of its own.

A fresh process makes the peak of memory that cell's alone, keeps cells from influencing each
other, and turns a crash or the system's out-of-memory killer into one failed cell. Run as a
module, this is that process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
from joblib import Parallel, delayed

from domindex.cluster import connected
from domindex.errors import DatasetError, InputError
from domindex.progress import show_progress
from domindex_bench.figures import Outcome
from domindex_bench.record import RECORD_NAME, Cell, CellResult, Record, source_tree
from domindex_bench.rendering import of_suite, render_suite, write_documents
from domindex_bench.suite import SUITES, Suite, choose_names, find_suite

MODULE = "domindex_bench.running"
PathLike = str | os.PathLike[str]
Executor = Callable[[Sequence[Cell]], Iterator[CellResult]]


@dataclass(frozen=True)
class BenchmarkRun:
    """The row of every cell that was asked for, old or new, and the path of the record."""

    results: tuple[CellResult, ...]
    path: Path

    @property
    def failed(self) -> tuple[CellResult, ...]:
        return tuple(result for result in self.results if result.status == "failed")

    def tables(self) -> str:
        """Markdown, a document per suite that was asked for."""
        names = dict.fromkeys(result.suite for result in self.results)
        return "\n".join(
            render_suite(find_suite(name), of_suite(self.results, name)) for name in names
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
    keep: bool = False,
    progress: bool = False,
) -> BenchmarkRun:
    """Measure every method of a suite on every dataset of it, and keep each cell at once.

    Cells that `out` holds already are not run again, unless they failed or were measured with
    another tree of `src/domindex`; a cell that fails now is recorded, and the others go on. The
    same seed gives the same figures. Target labels are used for scoring only.

    Parameters
    ----------
    datasets, methods : names, or None for all of the suites
    suite : a name or several; see `list_suites`
    seeds : how many, 0, 1, …, or None for what the suite says; a method without chance runs once
    out : folder of the results, record.jsonl and a document for every suite
    jobs : cells measured side by side, each in a process with one thread; −1 for one per core
    dask : address of a Dask scheduler, whose workers then measure the cells instead
    data_home : folder of the datasets' files, here and on the cluster's workers
    keep : whether rows of another tree count as measured
    progress : whether to show a bar and every finished cell on standard error

    Raises
    ------
    InputError, DatasetError
        Before anything is measured: unknown names, a folder that cannot be written to, a
        scheduler that does not answer.
    """
    if seeds is not None and seeds < 1:
        raise InputError(f"seeds is {seeds}. Choose a whole number of 1 or more.")
    if jobs == 0:
        raise InputError("jobs is 0. Choose a number of processes, or -1 for one per core.")
    home = None if data_home is None else os.path.abspath(data_home)
    names = choose_names("suite", [suite] if isinstance(suite, str) else suite, SUITES)
    plans = list(_plans([find_suite(name) for name in names], datasets, methods, seeds, home))
    with ExitStack() as stack:
        execute: Executor = partial(run_on_cores, jobs=jobs, data_home=home)
        if dask is not None:
            client = stack.enter_context(connected(dask))
            execute = partial(run_on_cluster, client=client, data_home=home)
        record = Record.open(Path(out) / RECORD_NAME)
        for name, cells in plans:
            _settle(name, cells, record, execute, keep, progress)
    known = record.read()
    write_documents(out, suites=names)
    return BenchmarkRun(tuple(known[cell.key] for _, cells in plans for cell in cells), record.path)


def _settle(
    name: str,
    cells: dict[Cell, str],
    record: Record,
    execute: Executor,
    keep: bool,
    progress: bool,
) -> None:
    """Settle every cell of a suite, and write each row as soon as it is known."""
    known = record.read()
    to_settle = [cell for cell in cells if not _is_settled(known.get(cell.key), keep)]
    for cell in to_settle:
        if cells[cell]:
            record.append(cell.ended("not applicable", note=cells[cell]))
    to_run = [cell for cell in to_settle if not cells[cell]]
    already = len(cells) - len(to_run)
    with show_progress(progress) as shown:
        if already:
            shown.say(
                f"{name}: {len(to_run)} cells to measure; {already} are known or not applicable."
            )
        for result in shown.each(name, execute(to_run), total=len(to_run), keep=True):
            record.append(result)
            shown.say(str(result))


def _is_settled(row: CellResult | None, keep: bool) -> bool:
    if row is None or row.status == "failed":
        return False
    return keep or row.tree == source_tree()


def _plans(
    suites: Sequence[Suite],
    datasets: Sequence[str] | None,
    methods: Sequence[str] | None,
    seeds: int | None,
    data_home: str | None,
) -> Iterator[tuple[str, dict[Cell, str]]]:
    """Cells by suite, each with why it cannot run, empty where it can.

    A name must be known to one of the suites at least.
    """
    chosen = choose_names("dataset", datasets, _all_names(suite.datasets for suite in suites))
    wanted = choose_names("method", methods, _all_names(suite.methods for suite in suites))
    for suite in suites:
        present = [name for name in chosen if _is_there(suite, name, datasets or (), data_home)]
        installed = [name for name in wanted if _is_installed(suite, name, methods or ())]
        yield suite.name, dict(_cells(suite, present, installed, seeds, data_home))


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
    missing = f"It needs {package}. Install it with: pip install {package}"
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
        for method in (suite.methods[method] for method in methods):
            reason = method.objection(dataset)
            varies = (method.seeded or source.redraws) and not reason
            for seed in range((seeds or suite.seeds) if varies else 1):
                yield Cell(suite.name, name, method.name, seed), reason


def run_on_cores(cells: Sequence[Cell], jobs: int, data_home: str | None) -> Iterator[CellResult]:
    """Results as they are known. Each of `jobs` threads waits for one process after another; under
    `joblib.parallel_config` another backend takes the threads' place."""
    parallel = Parallel(n_jobs=jobs, prefer="threads", return_as="generator_unordered")
    yield from parallel(delayed(run_cell)(cell, data_home) for cell in cells)


def run_on_cluster(
    cells: Sequence[Cell], client: Any, data_home: str | None
) -> Iterator[CellResult]:
    """Results as they are known; a cell whose worker is lost for good is a failed one."""
    from distributed import as_completed

    futures = {client.submit(run_cell, cell, data_home, pure=False): cell for cell in cells}
    for future in as_completed(futures, loop=client.loop):
        if future.status == "finished":
            yield future.result()
        else:
            error = future.exception() if future.status == "error" else "the scheduler is gone"
            note = f"lost by the cluster: {' '.join(str(error).split())}"
            yield futures[future].ended("failed", note=note)
        future.release()  # else a worker that leaves would have its results computed again


def run_cell(cell: Cell, data_home: str | None = None) -> CellResult:
    """Measure `cell` in a new process; whatever goes wrong there is in the result.

    The process holds on to a pipe from this one and ends when that closes, so that it does not
    outlive us even where we are killed. It has one thread: cells share the cores by running side
    by side, not by threads that get in each other's way.
    """
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    where_to_import = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE, *map(str, cell.key), *([data_home] if data_home else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **one_thread, "PYTHONPATH": where_to_import},
    )
    with process:
        try:
            output, complaint = _read_until_end(process)
        except BaseException:
            process.kill()
            raise
    try:
        return CellResult.from_json(json.loads(output))
    except ValueError:
        last = " ".join(complaint.decode(errors="replace").split())[-300:]
        note = f"its process ended with code {process.returncode}. {last}".strip()
        return cell.ended("failed", note=note)


def _read_until_end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What the process writes; unlike `communicate`, this leaves its input open until it ends."""
    assert process.stdout is not None
    errors: list[bytes] = []
    reader = threading.Thread(target=lambda pipe: errors.append(pipe.read()), args=[process.stderr])
    reader.start()
    output = process.stdout.read()
    process.wait()
    reader.join()
    return output, errors[0]


class MemoryMeter:
    """Looks at this process's memory again and again, from a thread, while the block runs.

    The system's own peak would also count what the parent held when it started this process.
    """

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._process = psutil.Process()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def now_mb(self) -> float:
        """What the process holds now; part of the peak."""
        held: float = self._process.memory_info().rss / 2**20
        self.peak_mb = max(self.peak_mb, held)
        return held

    def _watch(self) -> None:
        while not self._ended.wait(0.01):
            self.now_mb()

    def __enter__(self) -> MemoryMeter:
        self.now_mb()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self.now_mb()


def measure(cell: Cell, data_home: str | None = None) -> CellResult:
    """Fit, predict and score, here and now; raises what the method raises."""
    suite = find_suite(cell.suite)
    source, method = suite.datasets[cell.dataset], suite.methods[cell.method]
    with MemoryMeter() as memory:
        dataset = source.load(data_home, cell.seed)
        model = method.build(dataset, cell.seed)
        before, start = memory.now_mb(), time.perf_counter()
        model.fit(
            dataset.X,
            dataset.y,
            sample_domain=dataset.sample_domain,
            source_domains=dataset.source_domains,
        )
        middle = time.perf_counter()
        scored = ~dataset.is_source
        predicted = model.predict(dataset.X[scored], sample_domain=dataset.sample_domain[scored])
        end = time.perf_counter()
    outcome, figures = Outcome(dataset, model, scored, predicted), {}
    for figures_of in suite.figures:
        figures |= figures_of(outcome)
    return cell.ended(
        "done",
        figures={
            name: value if isinstance(value, str) else round(float(value), 5)
            for name, value in figures.items()
        },
        fit_seconds=round(middle - start, 3),
        predict_seconds=round(end - middle, 3),
        peak_mb=round(memory.peak_mb, 1),
        fit_mb=round(memory.peak_mb - before, 1),
    )


def _end_with_parent() -> None:
    """Nothing is ever written to our input; it ends when the process that started us does."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    """Measure the cell named by the arguments and write its result to standard output."""
    suite, dataset, method, seed, *home = sys.argv[1:]
    cell = Cell(suite, dataset, method, int(seed))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer = os.dup(1)
    os.dup2(2, 1)  # what libraries print is not part of the answer
    try:
        result = measure(cell, *home)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        result = cell.ended("failed", note=f"{text} ({Path(where.filename).name}:{where.lineno})")
    with os.fdopen(answer, "w", encoding="utf-8") as pipe:
        json.dump(asdict(result), pipe)


if __name__ == "__main__":
    main()
