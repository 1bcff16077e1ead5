"""Measure one cell here and now. Run as a module, this is the process that `run_cell` starts."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from domindex_bench.cells import Cell, CellResult
from domindex_bench.figures import Outcome
from domindex_bench.memory import MemoryMeter
from domindex_bench.suite import Suite, hash_of
from domindex_bench.suites import find_suite, settings_now


def measure(cell: Cell, data_home: str | None = None) -> CellResult:
    """Fit, predict and score; raises what the method raises."""
    suite = find_suite(cell.suite)
    source, method = suite.datasets[cell.dataset], suite.methods[cell.method]
    with MemoryMeter() as memory:
        dataset = source.load(data_home, cell.seed)
        model = method.build(dataset, cell.seed)
        settings = hash_of(method, model)
        fitted, scored = source.rows(dataset)
        if suite.warm_up is not None:
            suite.warm_up(dataset)
        before, start = memory.now_mb(), time.perf_counter()
        model.fit(
            dataset.X[fitted],
            dataset.y[fitted],
            sample_domain=dataset.sample_domain[fitted],
            source_domains=[name for name in dataset.source_domains if name != source.held_out],
        )
        middle = time.perf_counter()
        predicted = model.predict(dataset.X[scored], sample_domain=dataset.sample_domain[scored])
        end = time.perf_counter()
    return cell.ended(
        "done",
        settings,
        figures=_figures(suite, Outcome(dataset, model, scored, predicted)),
        fit_seconds=round(middle - start, 3),
        predict_seconds=round(end - middle, 3),
        peak_mb=round(memory.peak_mb, 1),
        fit_mb=round(memory.peak_mb - before, 1),
    )


def _figures(suite: Suite, outcome: Outcome) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    for figures_of in suite.figures:
        found |= figures_of(outcome)
    return {name: _short(value) for name, value in found.items()}


def _short(value: Any) -> float | str:
    return value if isinstance(value, str) else round(float(value), 5)


def _describe(error: Exception) -> str:
    """The error on one line, with the place it came from."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text} ({Path(where.filename).name}:{where.lineno})"


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
        result = cell.ended("failed", settings_now(cell), note=_describe(error))
    with os.fdopen(answer, "w", encoding="utf-8") as pipe:
        json.dump(result.to_json(), pipe)


if __name__ == "__main__":
    main()
