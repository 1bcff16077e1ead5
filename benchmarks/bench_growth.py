"""How time and memory grow with the number of domains, and the rule behind the estimate of a fit.

Map and flow of a generated family, N domains of 50 rows and 8 features, each N in a process of its
own: seconds of CPU, peak memory, and the exponent of the growth. Writes results/growth.json and
prints the table of docs/cost.md.

    python benchmarks/bench_growth.py                        # N = 500 … 8000
    python benchmarks/bench_growth.py --domains 100 200 400  # a quick look
    python benchmarks/bench_growth.py --rule                 # coefficients of estimators/cost.py
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from domindex import VDIClassifier, VDIRegressor
from domindex.data import check_domain_data
from domindex.datasets import DomainDataset, make_drift
from domindex.estimators.cost import FitSize, machine_speed
from domindex.geometry.domain_geometry import DomainGeometry

RESULTS = Path(__file__).parent / "results" / "growth.json"
N_ROWS, N_FEATURES = 50, 8
GRID = (
    *((6, 20, 2), (12, 50, 4), (12, 50, 32), (12, 400, 16)),
    *((30, 20, 4), (30, 100, 4), (30, 100, 16), (30, 400, 4), (60, 100, 8)),
    *((100, 50, 4), (100, 50, 16), (250, 50, 8), (1000, 50, 8)),
)
"""Domains, rows of each, features."""


def family(n_domains: int, n_rows: int = N_ROWS, n_features: int = N_FEATURES) -> DomainDataset:
    return make_drift(
        n_domains=n_domains,
        samples_per_domain=n_rows,
        n_features=n_features,
        noise=0.6,
        random_state=1,
    )


def measure_map(n_domains: int) -> dict[str, float]:
    """Seconds of CPU and megabytes of the map and the flow, with everything imported before."""
    dataset = family(n_domains)
    data = check_domain_data(
        dataset.X, dataset.y, dataset.sample_domain, dataset.source_domains, task="classification"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    geometry = DomainGeometry.fit(data)
    seconds = time.process_time() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    order = np.argsort(np.argsort(geometry.domain_map.coordinates[:, 0]))
    known = np.argsort(np.argsort(dataset.true_index[:, 0]))
    return {
        "domains": n_domains,
        "cpu_seconds": seconds,
        "megabytes": after / 1024,
        "megabytes_more": (after - before) / 1024,
        "rank_correlation": abs(float(np.corrcoef(order, known)[0, 1])),
    }


def grow(sizes: list[int]) -> dict[str, Any]:
    """Every size in a fresh process, and the exponent over them."""
    rows = []
    for n_domains in sizes:
        with get_context("spawn").Pool(1) as pool:
            rows.append(pool.apply(measure_map, (n_domains,)))
        print(json.dumps(rows[-1]), flush=True)
    found: dict[str, Any] = {"rows": N_ROWS, "features": N_FEATURES, "sizes": rows}
    if len(rows) > 1:
        logs = np.log([[row["domains"], row["cpu_seconds"]] for row in rows])
        found["exponent"] = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    return found


def table(found: dict[str, Any]) -> str:
    """For docs/cost.md."""
    lines = ["| domains | CPU, s | peak memory, MB |", "|---|---|---|"]
    lines += [
        f"| {row['domains']:,} | {row['cpu_seconds']:.1f} | {row['megabytes']:.0f} |"
        for row in found["sizes"]
    ]
    if "exponent" in found:
        lines.append(f"\nExponent: {found['exponent']:.2f}.")
    return "\n".join(lines)


def measure_fit(kind: Any, effort: str, n_domains: int, n_rows: int, n_features: int) -> float:
    """Seconds of CPU of a default fit."""
    data = family(n_domains, n_rows, n_features)
    y = data.y if kind is VDIClassifier else data.X[:, 0] ** 2 + 0.3 * data.X.sum(axis=1)
    model = kind(effort=effort, random_state=0)
    start = time.process_time()
    model.fit(data.X, y, sample_domain=data.sample_domain, source_domains=data.source_domains)
    return time.process_time() - start


def measure_fits(effort: str) -> list[tuple[FitSize, float]]:
    measure_fit(VDIClassifier, "quick", 6, 20, 2)  # imports
    found = []
    for n_domains, n_rows, n_features in GRID:
        n_sources = max(1, n_domains // 5)
        size = FitSize(n_domains * n_rows, n_sources * n_rows, n_features, n_domains)
        for kind in (VDIClassifier, VDIRegressor):
            seconds = measure_fit(kind, effort, n_domains, n_rows, n_features)
            found.append((size, seconds))
            print(effort, kind.__name__, size, round(seconds, 2), flush=True)
    return found


def fit_rule(measured: list[tuple[FitSize, float]]) -> tuple[dict[str, float], float]:
    """Coefficients, none below zero, of least relative error; and the largest factor it is off."""
    names = list(measured[0][0].terms())
    seconds = np.array([one for _, one in measured])
    terms = np.array([list(size.terms().values()) for size, _ in measured])
    found, _ = nnls(terms / seconds[:, None], np.ones(len(seconds)))
    off = np.abs(np.log(terms @ found / seconds))
    return {name: float(f"{one:.3g}") for name, one in zip(names, found)}, float(np.exp(off.max()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, nargs="*", default=[500, 1000, 2000, 4000, 8000])
    parser.add_argument("--rule", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.rule:
        print("speed of this machine:", machine_speed(time.process_time, repeats=9))
        for effort in ("full", "quick"):
            coefficients, off = fit_rule(measure_fits(effort))
            print(effort, json.dumps(coefficients, indent=1), f"off by a factor of {off:.2f}")
        return
    found = grow(arguments.domains)
    print(table(found))
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
