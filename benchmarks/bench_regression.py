"""Measure the regressor: coverage, families, disturbed data. Writes results/regression.jsonl.

Every cell is written as soon as it is known, and is not run again. Headline figures are those of
`domindex bench`. `--tables` only renders results/regression.md. Target labels only score.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

from domindex import VDIRegressor
from domindex.evaluation import linear_r2, paper_error
from regression_tasks import DISTURBED, FAMILIES, Task, family, temperatures

RESULTS = Path(__file__).parent / "results" / "regression.jsonl"
TABLES = RESULTS.with_suffix(".md")
TEMPERATURES = ("tpt-48-w-e", "tpt-48-n-s")
PLAIN = {
    "ridge": lambda: Ridge(),
    "forest": lambda: RandomForestRegressor(random_state=0),
    "5-NN": lambda: KNeighborsRegressor(),
    "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
}
N_SEEDS = 3
Key = tuple[str, str, str]


def fit(task: Task, seed: int = 0) -> VDIRegressor:
    return VDIRegressor(random_state=seed).fit(
        task.X, task.y, sample_domain=task.sample_domain, source_domains=task.source_domains
    )


def covered(name: str, held_out: str) -> dict[str, Any]:
    """Leave a source out altogether, then see how often 90 % intervals hold its outputs."""
    data = temperatures(name)
    domain = np.asarray(data.sample_domain)
    kept = domain != held_out
    sources = [state for state in data.source_domains if state != held_out]
    model = fit(Task(data.X[kept], data.y[kept], domain[kept], sources))
    mean, deviation = model.predict(data.X[~kept], sample_domain=domain[~kept], return_std=True)
    inside = np.abs(mean - data.y[~kept]) <= norm.ppf(0.95) * deviation
    return {"coverage": float(inside.mean()), "normalization": model.normalization_}


def scored_family(name: str, seed: int) -> dict[str, Any]:
    """R² over all target rows: ours and the plain methods'."""
    task = family(FAMILIES[name], seed)
    target = task.is_target
    model = fit(task)
    mean, deviation = model.predict(
        task.X[target], sample_domain=task.sample_domain[target], return_std=True
    )
    truth = task.y[target]
    scores = {"vdi": float(r2_score(truth, mean))}
    for plain, make in PLAIN.items():
        predicted = make().fit(task.X[~target], task.y[~target]).predict(task.X[target])
        scores[plain] = float(r2_score(truth, predicted))
    inside = np.abs(mean - truth) <= norm.ppf(0.95) * deviation
    return {**scores, "coverage": float(inside.mean()), "normalization": model.normalization_}


def scored_disturbed(name: str, disturbance: str, seed: int) -> dict[str, Any]:
    data = temperatures(name)
    task = DISTURBED[disturbance](data, seed)
    target = task.is_target
    model = fit(task)
    predicted = model.predict(task.X[target], sample_domain=task.sample_domain[target])
    places = data.true_index[[list(data.domains).index(state) for state in model.domains_]]
    return {
        "error": float(paper_error(task.y[target], predicted, task.sample_domain[target])),
        "latitude": linear_r2(model.domain_indices_, places[:, 0]),
        "longitude": linear_r2(model.domain_indices_, places[:, 1]),
        "normalization": model.normalization_,
    }


def plan() -> Iterator[tuple[Key, Any]]:
    for name in TEMPERATURES:
        for state in temperatures(name).source_domains:
            yield ("coverage", name, state), lambda n=name, s=state: covered(n, s)
    for name in FAMILIES:
        for seed in range(N_SEEDS):
            yield ("family", name, str(seed)), lambda n=name, s=seed: scored_family(n, s)
    for name in TEMPERATURES:
        for part in DISTURBED:
            for seed in range(N_SEEDS if part != "sources and targets from other years" else 2):
                key = ("disturbed", f"{name}, {part}", str(seed))
                yield key, lambda n=name, p=part, s=seed: scored_disturbed(n, p, s)


def finished() -> dict[Key, dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines() if line]
    return {(row["part"], row["name"], row["case"]): row for row in rows}


def run(only: str) -> None:
    done = finished()
    for key, measure in plan():
        if key in done or only not in " ".join(key):
            continue
        row = {"part": key[0], "name": key[1], "case": key[2], **measure()}
        short = {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
        with RESULTS.open("a") as file:
            file.write(json.dumps(short) + "\n")
            file.flush()
            os.fsync(file.fileno())
        print(short, flush=True)


def tables() -> str:
    cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for (part, name, _), row in finished().items():
        cells[part, name].append(row)
    return (
        "\n\n".join(
            [
                "# Measured figures of the regressor",
                "Written by `make bench`; default settings. Headline figures: benchmark.md.",
                "## 90 % intervals on a source that was left out of everything",
                _table(cells, "coverage", {"coverage": 3}, "worst single source in brackets"),
                "## Families: R² over all target rows, mean and range of three draws",
                _table(cells, "family", {"vdi": 3, **dict.fromkeys(PLAIN, 3), "coverage": 2}),
                "## TPT-48, disturbed",
                _table(cells, "disturbed", {"error": 3, "latitude": 3, "longitude": 3}),
            ]
        )
        + "\n"
    )


def _table(cells: dict, part: str, figures: dict[str, int], note: str = "") -> str:
    lines = [f"| {note} | " + " | ".join(figures) + " | normalisation |"]
    lines.append("|---" * (len(figures) + 2) + "|")
    for (kind, name), rows in cells.items():
        if kind != part:
            continue
        chosen = ", ".join(sorted({row["normalization"] for row in rows}))
        entries = [_spread([row[figure] for row in rows], n) for figure, n in figures.items()]
        lines.append(f"| {name} | " + " | ".join(entries) + f" | {chosen} |")
    return "\n".join(lines)


def _spread(values: list[float], digits: int) -> str:
    low, mean, high = min(values), np.mean(values), max(values)
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run cells whose words contain this")
    parser.add_argument("--tables", action="store_true", help="render what there is, run nothing")
    arguments = parser.parse_args()
    if not arguments.tables:
        run(arguments.only)
    TABLES.write_text(tables())
    sys.stdout.write(TABLES.read_text())


if __name__ == "__main__":
    main()
