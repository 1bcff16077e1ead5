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

from domindex.datasets import load_dataset
from domindex.evaluation.benchmark.cells import Cell, CellResult
from domindex.evaluation.benchmark.memory import peak_mb, resident_mb
from domindex.evaluation.benchmark.methods import METHODS
from domindex.evaluation.benchmark.scoring import score_map, score_predictions
from domindex.versions import versions


def measure(cell: Cell, data_home: str | None = None) -> CellResult:
    """Fit, predict and score; raises what the method raises."""
    dataset = load_dataset(cell.dataset, data_home)
    model = METHODS[cell.method].build(dataset, cell.seed)
    target = ~dataset.is_source
    before, start = resident_mb(), time.perf_counter()
    model.fit(
        dataset.X,
        dataset.y,
        sample_domain=dataset.sample_domain,
        source_domains=dataset.source_domains,
    )
    fitted = time.perf_counter()
    predicted = model.predict(dataset.X[target], sample_domain=dataset.sample_domain[target])
    predicted_at, peak = time.perf_counter(), peak_mb()
    figures = {**score_predictions(dataset, predicted), **score_map(dataset, model)}
    return CellResult(
        cell.dataset,
        cell.method,
        cell.seed,
        "done",
        figures={name: _short(value) for name, value in figures.items()},
        fit_seconds=round(fitted - start, 3),
        predict_seconds=round(predicted_at - fitted, 3),
        peak_mb=None if peak is None else round(peak, 1),
        fit_mb=None if peak is None or before is None else round(peak - before, 1),
        versions=versions(),
    )


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
    dataset, method, seed, *home = sys.argv[1:]
    cell = Cell(dataset, method, int(seed))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer = os.dup(1)
    os.dup2(2, 1)  # what libraries print is not part of the answer
    try:
        result = measure(cell, *home)
    except Exception as error:
        result = cell.failed(_describe(error))
    with os.fdopen(answer, "w", encoding="utf-8") as pipe:
        json.dump(result.to_json(), pipe)


if __name__ == "__main__":
    main()
