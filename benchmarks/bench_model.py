"""Measure the model: headline figures, ablation, generality. Writes results/model.jsonl.

Every cell (task, method, seed) is written as soon as it is known; cells that are there already are
not run again. `python benchmarks/bench_model.py --tables` only renders results/model.md.
Target labels are used to score, nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from ablations import VARIANTS
from domindex import MomentFlow, VDIClassifier
from domindex.datasets import DomainDataset
from domindex.evaluation import graph_auc, index_correlation
from tasks import GENERAL, PAPER

RESULTS = Path(__file__).parent / "results" / "model.jsonl"
TABLES = RESULTS.with_suffix(".md")
FEW_SEEDS = 2
"""Seeds for the ablation and for generality."""

PUBLISHED = {
    ("circle", "accuracy"): 94.3,
    ("dg-15", "accuracy"): 94.7,
    ("dg-60", "accuracy"): 95.9,
    ("circle", "index"): 0.97,
    ("dg-15", "index"): 0.83,
    ("dg-60", "index"): 0.91,
}


def closed_form(seed: int) -> MomentFlow:
    return MomentFlow(
        make_pipeline(
            PolynomialFeatures(2, include_bias=False),
            StandardScaler(),
            LogisticRegression(C=100.0, max_iter=5000),
        )
    )


METHODS: dict[str, Callable[[int], Any]] = {
    "default": lambda seed: VDIClassifier(random_state=seed),
    "flow=None": lambda seed: VDIClassifier(flow=None, random_state=seed),
    "closed form alone": closed_form,
    **{name: (lambda seed, make=make: make(random_state=seed)) for name, make in VARIANTS.items()},
}


@dataclass(frozen=True)
class Cell:
    task: str
    method: str
    seed: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.task, self.method, self.seed


def plan(n_seeds: int) -> Iterator[Cell]:
    """Headline figures first, then generality, then the ablation."""
    for task in PAPER:
        for method in ("default", "flow=None"):
            yield from (Cell(task, method, seed) for seed in range(n_seeds))
        yield Cell(task, "closed form alone", 0)
    for task in GENERAL:
        yield from (Cell(task, "default", seed) for seed in range(FEW_SEEDS))
        yield Cell(task, "closed form alone", 0)
    for task in PAPER:
        for method in VARIANTS:
            yield from (Cell(task, method, seed) for seed in range(FEW_SEEDS))


def measure(cell: Cell, dataset: DomainDataset) -> dict[str, Any]:
    model = METHODS[cell.method](cell.seed)
    start = time.perf_counter()
    model.fit(
        dataset.X,
        dataset.y,
        sample_domain=dataset.sample_domain,
        source_domains=dataset.source_domains,
    )
    seconds = time.perf_counter() - start
    target = ~dataset.is_source
    predicted = model.predict(dataset.X[target], sample_domain=dataset.sample_domain[target])
    figures = {
        "accuracy": 100 * float(np.mean(predicted == dataset.y[target])),
        "seconds": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if dataset.graph is not None and dataset.name.startswith("dg"):
        figures["index"] = graph_auc(model.domain_index_, dataset.graph)
    elif dataset.true_index is not None:
        figures["index"] = index_correlation(model.domain_indices_, dataset.true_index[:, 0])
    return {"task": cell.task, "method": cell.method, "seed": cell.seed, **figures}


def finished() -> dict[tuple[str, str, int], dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines() if line]
    return {(row["task"], row["method"], row["seed"]): row for row in rows}


def run(n_seeds: int, only: str) -> None:
    done = finished()
    for cell in plan(n_seeds):
        if cell.key in done or only not in f"{cell.task} {cell.method}":
            continue
        row = measure(cell, {**PAPER, **GENERAL}[cell.task]())
        with RESULTS.open("a") as file:
            file.write(json.dumps({k: _short(v) for k, v in row.items()}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        print({k: _short(v) for k, v in row.items()}, flush=True)


def _short(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def tables() -> str:
    cells = _cells()
    parts = [
        "# Measured figures of the model",
        "Written by `make bench`. Mean ± deviation over seeds, worst seed in brackets; the last "
        "model, one configuration for all.",
        "## The paper's datasets",
        _headline(cells),
        "## Ablation: target accuracy, %",
        _grid(cells, list(PAPER), ["default", "flow=None", "closed form alone", *VARIANTS]),
        "## Generality: target accuracy, %",
        _grid(cells, list(GENERAL), ["default", "closed form alone"]),
    ]
    return "\n\n".join(parts) + "\n"


def _cells() -> dict[tuple[str, str], list[dict[str, Any]]]:
    cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in finished().values():
        cells[row["task"], row["method"]].append(row)
    return cells


def _headline(cells: dict[tuple[str, str], list[dict[str, Any]]]) -> str:
    lines = ["| | paper | flow=None | default | closed form alone |", "|---|---|---|---|---|"]
    labels = {
        "accuracy": "accuracy, %",
        "index": "index",
        "seconds": "fit, s (cores shared with other work)",
    }
    for figure, label in labels.items():
        for task in PAPER:
            row = [f"{task}, {label}", str(PUBLISHED.get((task, figure), ""))]
            for method in ("flow=None", "default", "closed form alone"):
                row.append(_spread([cell[figure] for cell in cells[task, method]], figure))
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _grid(
    cells: dict[tuple[str, str], list[dict[str, Any]]], tasks: list[str], methods: list[str]
) -> str:
    lines = ["| | " + " | ".join(tasks) + " |", "|---" * (len(tasks) + 1) + "|"]
    for method in methods:
        scores = [[cell["accuracy"] for cell in cells[task, method]] for task in tasks]
        row = [_spread(values, "accuracy") for values in scores]
        lines.append(f"| {method} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _spread(values: list[float], figure: str) -> str:
    if not values:
        return "–"
    digits = 3 if figure == "index" else 1
    mean, deviation = np.mean(values), np.std(values)
    worst = max(values) if figure == "seconds" else min(values)
    if len(values) == 1:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {deviation:.{digits}f} ({worst:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="run cells whose 'task method' contains this")
    parser.add_argument("--tables", action="store_true", help="render what there is, run nothing")
    arguments = parser.parse_args()
    if not arguments.tables:
        run(arguments.seeds, arguments.only)
    TABLES.write_text(tables())
    sys.stdout.write(TABLES.read_text())


if __name__ == "__main__":
    main()
