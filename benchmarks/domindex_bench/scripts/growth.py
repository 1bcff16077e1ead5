"""How time and memory grow with the number of domains, and the rule behind the estimate of a fit.

`map N`: map and flow of a generated family, N domains of 50 rows and 8 features. `large map`: of
10,000 domains of 100 rows, against exact distances of 2,000 pairs; `against all`: the map of 1,000
domains from landmarks, against the one drawn from all of them; `large fit`: a default fit of 2,000
domains. `rule full` and `rule quick`: the coefficients of `estimators/cost.py`.
"""

from __future__ import annotations

import resource
import time
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import nnls

from domindex import CrossDomainClassifier, CrossDomainRegressor
from domindex.datasets import DomainDataset, make_drift
from domindex.estimators.cost import FitSize, machine_speed
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.domain_map import rank_correlation
from domindex.geometry.transport import transport_of_pairs
from domindex.inputs import DomainData, check_domain_data
from domindex_bench.measuring import Found, Measurement, origin_line

SIZES = (500, 1000, 2000, 4000, 8000)
GRID = (
    *((6, 20, 2), (12, 50, 4), (12, 50, 32), (12, 400, 16)),
    *((30, 20, 4), (30, 100, 4), (30, 100, 16), (30, 400, 4), (60, 100, 8)),
    *((100, 50, 4), (100, 50, 16), (250, 50, 8), (1000, 50, 8)),
)
"""Domains, rows of each, features."""


def family(n_domains: int, n_rows: int = 50, n_features: int = 8, noise: float = 0.6):
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


def spent(start: tuple[float, float]) -> Found:
    """Seconds of CPU and of the clock since `start`, and the peak of memory."""
    return {
        "cpu_seconds": time.process_time() - start[0],
        "seconds": time.perf_counter() - start[1],
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure_map(n_domains: int) -> Found:
    dataset = family(n_domains)
    data = checked(dataset)
    start = time.process_time(), time.perf_counter()
    geometry = DomainGeometry.fit(data)
    found = {"domains": n_domains, **spent(start)}
    true_index = dataset.true_index[:, 0]
    found["rank_correlation"] = abs(
        rank_correlation(geometry.domain_map.coordinates[:, 0], true_index)
    )
    return found


def measure_large_map(n_domains: int = 10_000, n_rows: int = 100) -> Found:
    data = checked(family(n_domains, n_rows))
    start = time.process_time(), time.perf_counter()
    domain_map = DomainGeometry.fit(data).domain_map
    found = {"domains": n_domains, "rows": n_rows, **spent(start)}
    rng = np.random.default_rng(1)
    first = rng.integers(n_domains, size=2000)
    second = (first + rng.integers(1, n_domains, size=2000)) % n_domains
    pairs = np.stack([first, second], axis=1)
    places = domain_map.coordinates
    shown = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1)
    found["spearman"] = rank_correlation(shown, transport_of_pairs(domain_map.clouds, pairs))
    found["estimate"] = asdict(domain_map.landmark_error)
    return found


def measure_against_all(n_domains: int = 1000) -> Found:
    """R² of the map from landmarks, turned and scaled onto the map drawn from all domains."""
    data = checked(family(n_domains))
    maps, seconds = [], []
    for most_drawn in (500, n_domains):
        start = time.process_time()
        geometry = DomainGeometry.fit(data, most_drawn=most_drawn)
        seconds.append(time.process_time() - start)
        places = geometry.domain_map.coordinates
        maps.append(places - places.mean(axis=0))
    turned = np.linalg.svd(maps[0].T @ maps[1], compute_uv=False).sum()
    r2 = float(turned**2 / ((maps[0] ** 2).sum() * (maps[1] ** 2).sum()))
    return {"domains": n_domains, "procrustes_r2": r2, "cpu_seconds": seconds}


def measure_large_fit(n_domains: int = 2000, n_rows: int = 50) -> Found:
    """Sources are the first fifth of a family that turns by half a circle; classes hardly mix."""
    data = family(n_domains, n_rows, noise=0.3)
    model, names = CrossDomainClassifier(random_state=0), np.asarray(data.sample_domain)
    start = time.process_time(), time.perf_counter()
    model.fit(data.X, data.y, sample_domain=names, source_domains=data.source_domains)
    found = {"domains": n_domains, "rows": n_rows, **spent(start)}
    found["stages"] = dict(zip(model.timings_["stage"], model.timings_["seconds"]))
    targets = ~np.isin(names, data.source_domains)
    found["accuracy"] = float(
        model.score(data.X[targets], data.y[targets], sample_domain=names[targets])
    )
    design = np.column_stack([model.domain_indices_, np.ones(n_domains)])
    truth = data.true_index[:, 0]
    fitted = design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    found["index_correlation"] = float(np.corrcoef(fitted, truth)[0, 1])
    found["summary"] = model.summary()
    return found


def measure_fit(kind: Any, effort: str, n_domains: int, n_rows: int, n_features: int) -> float:
    """Seconds of CPU of a default fit."""
    data = family(n_domains, n_rows, n_features)
    y = data.y if kind is CrossDomainClassifier else data.X[:, 0] ** 2 + 0.3 * data.X.sum(axis=1)
    start = time.process_time()
    kind(effort=effort, random_state=0).fit(
        data.X, y, sample_domain=data.sample_domain, source_domains=data.source_domains
    )
    return time.process_time() - start


def fit_rule(effort: str) -> Found:
    """Coefficients, none below zero, of least relative error; and the largest factor it is off."""
    measure_fit(CrossDomainClassifier, "quick", 6, 20, 2)  # imports
    measured = []
    for n_domains, n_rows, n_features in GRID:
        n_sources = max(1, n_domains // 5)
        size = FitSize(n_domains * n_rows, n_sources * n_rows, n_features, n_domains)
        for kind in (CrossDomainClassifier, CrossDomainRegressor):
            measured.append((size, measure_fit(kind, effort, n_domains, n_rows, n_features)))
            print(effort, kind.__name__, size, round(measured[-1][1], 2), flush=True)
    seconds = np.array([one for _, one in measured])
    terms = np.array([list(size.terms().values()) for size, _ in measured])
    found, _ = nnls(terms / seconds[:, None], np.ones(len(seconds)))
    off = np.exp(np.abs(np.log(terms @ found / seconds)).max())
    names = list(measured[0][0].terms())
    return {
        "coefficients": {name: float(f"{one:.3g}") for name, one in zip(names, found)},
        "off_by_a_factor_of": float(off),
        "speed_of_this_machine": machine_speed(time.process_time, repeats=9),
    }


def table(content: Found) -> list[str]:
    rows = [content[f"map {size}"] for size in SIZES]
    logs = np.log([[row["domains"], row["cpu_seconds"]] for row in rows])
    exponent = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
    return [
        "| domains | CPU, s | peak memory, MB |",
        "|---|---|---|",
        *(
            f"| {row['domains']:,} | {row['cpu_seconds']:.1f} | {row['megabytes']:.0f} |"
            for row in rows
        ),
        "",
        f"Exponent: {exponent:.2f}. {origin_line('growth', rows[-1])}",
    ]


MEASUREMENT = Measurement(
    parts={
        **{f"map {size}": partial(measure_map, size) for size in SIZES},
        "large map": measure_large_map,
        "against all": measure_against_all,
        "large fit": measure_large_fit,
        "rule full": partial(fit_rule, "full"),
        "rule quick": partial(fit_rule, "quick"),
    },
    fresh=True,
    tables={"growth": table},
)
