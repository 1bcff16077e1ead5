"""How time and memory grow with the number of domains, and the rule behind the estimate of a fit.

Map and flow of a generated family, N domains of 50 rows and 8 features, each N in a process of its
own: seconds of CPU, peak memory, and the exponent of the growth. Writes results/growth.json and
prints a table for docs/figures.md. `--large` measures what landmarks cost and save: map and flow
of 10,000 domains of 100 rows against exact distances of 2,000 pairs, the map of 1,000 domains
against the one drawn from all of them, and a default fit of 2,000 domains; into results/large.json.

    python -m domindex_bench.scripts.growth                        # N = 500 … 8000
    python -m domindex_bench.scripts.growth --domains 100 200 400  # a quick look
    python -m domindex_bench.scripts.growth --picture docs/pictures/growth.png
    python -m domindex_bench.scripts.growth --large  # or some: --large map full fit
    python -m domindex_bench.scripts.growth --rule  # coefficients of estimators/cost.py
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls

from domindex import VDIClassifier, VDIRegressor
from domindex.datasets import DomainDataset, make_drift
from domindex.estimators.cost import FitSize, machine_speed
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.domain_map import random_pairs, rank_correlation
from domindex.geometry.transport import transport_of_pairs
from domindex.inputs import DomainData, check_domain_data

RESULTS = Path(__file__).parents[2] / "results" / "growth.json"
LARGE_RESULTS = RESULTS.with_name("large.json")
N_ROWS, N_FEATURES = 50, 8
GRID = (
    *((6, 20, 2), (12, 50, 4), (12, 50, 32), (12, 400, 16)),
    *((30, 20, 4), (30, 100, 4), (30, 100, 16), (30, 400, 4), (60, 100, 8)),
    *((100, 50, 4), (100, 50, 16), (250, 50, 8), (1000, 50, 8)),
)
"""Domains, rows of each, features."""


def family(
    n_domains: int, n_rows: int = N_ROWS, n_features: int = N_FEATURES, noise: float = 0.6
) -> DomainDataset:
    return make_drift(
        n_domains=n_domains,
        samples_per_domain=n_rows,
        n_features=n_features,
        noise=noise,
        random_state=1,
    )


def checked(dataset: DomainDataset) -> DomainData:
    return check_domain_data(
        dataset.X, dataset.y, dataset.sample_domain, dataset.source_domains, task="classification"
    )


def measure_map(n_domains: int) -> dict[str, float]:
    """Seconds of CPU and megabytes of the map and the flow, with everything imported before."""
    dataset = family(n_domains)
    data = checked(dataset)
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


def measure_large_map(n_domains: int = 10_000, n_rows: int = 100) -> dict[str, Any]:
    """Map and flow, and how its distances follow exact ones on 2,000 random pairs."""
    data = checked(family(n_domains, n_rows))
    start, wall = time.process_time(), time.perf_counter()
    domain_map = DomainGeometry.fit(data).domain_map
    found: dict[str, Any] = {
        "domains": n_domains,
        "rows": n_rows,
        "cpu_seconds": time.process_time() - start,
        "seconds": time.perf_counter() - wall,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    pairs = random_pairs(np.arange(n_domains), 2000, np.random.default_rng(1))
    exact = transport_of_pairs(domain_map.clouds, pairs)
    places = domain_map.coordinates
    shown = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1)
    found["spearman"] = rank_correlation(shown, exact)
    found["estimate"] = asdict(domain_map.landmark_error)
    return found


def measure_against_full(n_domains: int = 1000) -> dict[str, Any]:
    """R² of the map from landmarks, turned and scaled onto the map drawn from all domains."""
    data = checked(family(n_domains))
    maps, seconds = [], []
    for most_drawn in (500, n_domains):
        start = time.process_time()
        geometry = DomainGeometry.fit(data, most_drawn=most_drawn)
        seconds.append(time.process_time() - start)
        places = geometry.domain_map.coordinates
        maps.append(places - places.mean(axis=0))
    found, full = maps
    turned = np.linalg.svd(found.T @ full, compute_uv=False).sum()
    r2 = float(turned**2 / ((found**2).sum() * (full**2).sum()))
    return {"domains": n_domains, "procrustes_r2": r2, "cpu_seconds": seconds}


def measure_large_fit(n_domains: int = 2000, n_rows: int = 50) -> dict[str, Any]:
    """A default fit on a family that moves and turns by half a circle; sources are its first fifth.

    With a noise of 0.3 the classes hardly overlap.
    """
    data = family(n_domains, n_rows, noise=0.3)
    model, names = VDIClassifier(random_state=0), np.asarray(data.sample_domain)
    start, wall = time.process_time(), time.perf_counter()
    model.fit(data.X, data.y, sample_domain=names, source_domains=data.source_domains)
    found: dict[str, Any] = {
        "domains": n_domains,
        "rows": n_rows,
        "cpu_seconds": time.process_time() - start,
        "seconds": time.perf_counter() - wall,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "stages": dict(zip(model.timings_["stage"], model.timings_["seconds"])),
    }
    targets = ~np.isin(names, data.source_domains)
    predicted = model.predict(data.X[targets], sample_domain=names[targets])
    found["accuracy"] = float((predicted == data.y[targets]).mean())
    truth = data.true_index[:, 0]
    design = np.column_stack([model.domain_indices_, np.ones(n_domains)])
    fitted = design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    found["index_correlation"] = float(np.corrcoef(fitted, truth)[0, 1])
    found["summary"] = model.summary()
    return found


LARGE = {"map": measure_large_map, "full": measure_against_full, "fit": measure_large_fit}


def measure_large(names: list[str]) -> None:
    """Each in a process of its own; what was measured before stays."""
    known = json.loads(LARGE_RESULTS.read_text()) if LARGE_RESULTS.exists() else {}
    for name in names:
        with get_context("spawn").Pool(1) as pool:
            known[name] = pool.apply(LARGE[name])
        print(name, json.dumps(known[name], indent=1), flush=True)
        LARGE_RESULTS.write_text(json.dumps(known, indent=1) + "\n")


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
    """For docs/figures.md."""
    lines = ["| domains | CPU, s | peak memory, MB |", "|---|---|---|"]
    lines += [
        f"| {row['domains']:,} | {row['cpu_seconds']:.1f} | {row['megabytes']:.0f} |"
        for row in found["sizes"]
    ]
    if "exponent" in found:
        lines.append(f"\nExponent: {found['exponent']:.2f}.")
    return "\n".join(lines)


def draw(found: dict[str, Any], path: Path) -> None:
    """The growth on logarithmic axes, with what a growth with the domains would be."""
    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    domains = np.array([row["domains"] for row in found["sizes"]])
    seconds = np.array([row["cpu_seconds"] for row in found["sizes"]])
    axes.loglog(domains, seconds, "o-", label="map and flow")
    axes.loglog(domains, seconds[0] * domains / domains[0], ":", label="in proportion to domains")
    axes.set(xlabel="domains", ylabel="CPU, s")
    axes.set_xticks(domains, [f"{number:,}" for number in domains])
    axes.set_yticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


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
    parser.add_argument("--large", nargs="*", choices=sorted(LARGE))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path, help="draw what --out holds, and measure nothing")
    arguments = parser.parse_args()
    if arguments.picture is not None:
        draw(json.loads(arguments.out.read_text()), arguments.picture)
        return
    if arguments.rule:
        print("speed of this machine:", machine_speed(time.process_time, repeats=9))
        for effort in ("full", "quick"):
            coefficients, off = fit_rule(measure_fits(effort))
            print(effort, json.dumps(coefficients, indent=1), f"off by a factor of {off:.2f}")
        return
    if arguments.large is not None:
        measure_large(arguments.large or list(LARGE))
        return
    found = grow(arguments.domains)
    print(table(found))
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
