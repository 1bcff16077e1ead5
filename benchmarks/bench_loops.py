"""How often shapes are called loops, and which datasets are. Writes results/loops.json.

Shapes: so many domains at noisy points of the plane or of space, their distances given as they are.
Datasets: the map of the closed form, as a fit draws it; no label is read. About five minutes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from domindex.benchmark.suites import find_suite
from domindex.data import check_domain_data
from domindex.datasets import (
    DomainDataset,
    list_datasets,
    list_real_datasets,
    load_dataset,
    load_real_dataset,
)
from domindex.evaluation import circular_correlation
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.loop import find_loop
from domindex.representations.map_rows import rows_for_map

RESULTS = Path(__file__).parent / "results" / "loops.json"
SIZES = (8, 12, 24, 48)
N_DRAWS = 100
SUITES = ("generality", "regression")

Floats = NDArray[np.float64]
Shape = Callable[[int, np.random.Generator], Floats]


def directions(degrees: Any) -> Floats:
    angles = np.deg2rad(degrees)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def ring(n: int) -> Floats:
    return directions(360 * np.arange(n) / n)


def disc(n: int, rng: np.random.Generator) -> Floats:
    return np.sqrt(rng.uniform(0, 1, (n, 1))) * directions(rng.uniform(0, 360, n))


def sphere(n: int, rng: np.random.Generator) -> Floats:
    points = rng.normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def grid(n: int) -> Floats:
    side = int(np.ceil(n**0.5))
    return 2 * np.array([(i, j) for i in range(side) for j in range(side)])[:n] / side


def star(n: int) -> Floats:
    along = np.linspace(0.2, 1, -(-n // 3))[:, None]
    return np.vstack([along * directions([angle]) for angle in (0, 120, 240)])[:n]


def with_tail(n: int) -> Floats:
    tail = np.linspace(1.3, 3.0, n - 2 * n // 3)
    return np.vstack([ring(2 * n // 3), np.column_stack([tail, 0 * tail])])


def two_rings(n: int) -> Floats:
    return np.vstack([ring(n // 2) + [1, 0], ring(n - n // 2) - [1, 0]])


def arc(degrees: float) -> Shape:
    return lambda n, rng: directions(np.linspace(0, degrees, n))


SHAPES: dict[str, tuple[Shape, float]] = {
    "line": (lambda n, rng: np.column_stack([np.linspace(0, 4, n), np.zeros(n)]), 0.1),
    "arc of 180°": (arc(180), 0.05),
    "arc of 270°": (arc(270), 0.05),
    "arc of 300°": (arc(300), 0.05),
    "arc of 300°, noisier": (arc(300), 0.1),
    "arc of 320°": (arc(320), 0.05),
    "arc of 340°": (arc(340), 0.05),
    "normal cloud, 2-D": (lambda n, rng: rng.normal(size=(n, 2)), 0.0),
    "normal cloud, 8-D": (lambda n, rng: rng.normal(size=(n, 8)), 0.0),
    "disc": (disc, 0.0),
    "sphere": (sphere, 0.0),
    "grid": (lambda n, rng: grid(n), 0.1),
    "star": (lambda n, rng: star(n), 0.05),
    "random walk": (lambda n, rng: np.cumsum(rng.normal(size=(n, 2)), axis=0), 0.0),
    "ring with a tail": (lambda n, rng: with_tail(n), 0.05),
    "two rings": (lambda n, rng: two_rings(n), 0.05),
    "ring": (lambda n, rng: ring(n), 0.05),
    "ring, noisier": (lambda n, rng: ring(n), 0.1),
    "ring, noise 0.2": (lambda n, rng: ring(n), 0.2),
    "ring, one missing": (lambda n, rng: ring(n + 1)[:n], 0.05),
    "ring, random places": (lambda n, rng: directions(rng.uniform(0, 360, n)), 0.05),
    "ellipse 2 : 1": (lambda n, rng: ring(n) * [2, 1], 0.1),
}


def called_loops(shape: Shape, noise: float, n_domains: int) -> float:
    """Share of the draws, in per cent."""
    found = 0
    for seed in range(N_DRAWS):
        rng = np.random.default_rng([seed, n_domains])
        points = shape(n_domains, rng)
        points = points + noise * rng.normal(size=points.shape)
        found += find_loop(cdist(points, points)) is not None
    return round(100 * found / N_DRAWS, 1)


def datasets() -> dict[str, Callable[[], DomainDataset]]:
    loaders: dict[str, Callable[[], DomainDataset]] = {}
    for name in list_datasets():
        loaders[name] = lambda name=name: load_dataset(name)
    for name in list_real_datasets():
        loaders[name] = lambda name=name: load_real_dataset(name)
    for suite in SUITES:
        for name, known in find_suite(suite).datasets.items():
            loaders[f"{suite}: {name}"] = lambda known=known: known.load(None, 0)
    return loaders


def map_facts(dataset: DomainDataset) -> dict[str, Any]:
    data = check_domain_data(
        dataset.X, dataset.y, dataset.sample_domain, dataset.source_domains, task=dataset.task
    )
    geometry = DomainGeometry.fit(data, map_rows=rows_for_map(data))
    loop = geometry.domain_map.loop
    facts: dict[str, Any] = {"domains": data.n_domains, "closes": loop is not None}
    if loop is not None:
        facts["persistence"] = round(loop.persistence, 2)
        facts["flow around"] = geometry.selected.around is not None
        if dataset.period is not None and dataset.true_index is not None:
            truth = [dataset.true_index[dataset.domains.index(n), 0] for n in data.domains]
            facts["circular correlation"] = round(
                circular_correlation(loop.angles, truth, dataset.period), 4
            )
    return facts


def main() -> None:
    results = {
        "shapes": {
            name: {n: called_loops(shape, noise, n) for n in SIZES}
            for name, (shape, noise) in SHAPES.items()
        },
        "datasets": {name: map_facts(load()) for name, load in datasets().items()},
    }
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(results, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
