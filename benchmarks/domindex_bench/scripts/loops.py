"""How often shapes are called loops, and which datasets are.

Shapes: so many domains at noisy points of the plane or of space, their distances given as they are.
Datasets: the map of the closed form, as a fit draws it; no label is read. Fits: defaults, of two
datasets that are known to close.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from domindex import CrossDomainClassifier
from domindex.datasets import DomainDataset, list_datasets, load_dataset
from domindex.errors import DomindexError
from domindex.evaluation import circular_correlation
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.rings import find_loop
from domindex.inputs import check_domain_data
from domindex.representations.map_rows import rows_for_map
from domindex_bench.data.real import list_real_datasets, load_real_dataset
from domindex_bench.measuring import Found, Measurement, origin_line
from domindex_bench.suite import find_suite

SIZES = (8, 12, 24, 48)
FITTED = {
    "seasonal": "seasonal: 24 months, 5 labelled",
    "rotating-digits": (
        "rotating digits, 8 × 8, 18 angles, 5 labelled; the truth is twice the angle"
    ),
}
"""Datasets whose domains are known to close, and what the page calls them."""

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
    """Of 100 draws."""
    found = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, n_domains])
        points = shape(n_domains, rng)
        points = points + noise * rng.normal(size=points.shape)
        found += find_loop(cdist(points, points)) is not None
    return float(found)


def datasets() -> dict[str, Callable[[], DomainDataset]]:
    loaders: dict[str, Callable[[], DomainDataset]] = {}
    for name in list_datasets():
        loaders[name] = lambda name=name: load_dataset(name)
    for name in list_real_datasets():
        loaders[name] = lambda name=name: load_real_dataset(name)
    for suite in ("generality", "regression"):
        for name, known in find_suite(suite).datasets.items():
            loaders[f"{suite}: {name}"] = lambda known=known: known.load(None, 0)
    return loaders


def map_facts(dataset: DomainDataset) -> Found:
    data = check_domain_data(
        dataset.X, dataset.y, dataset.sample_domain, dataset.source_domains, task=dataset.task
    )
    geometry = DomainGeometry.fit(data, map_rows=rows_for_map(data))
    loop = geometry.domain_map.loop
    facts: Found = {"domains": data.n_domains, "closes": loop is not None}
    if loop is not None:
        facts["persistence"] = round(loop.persistence, 2)
        facts["flow around"] = geometry.selected.around is not None
        if dataset.period is not None and dataset.true_index is not None:
            truth = [dataset.true_index[dataset.domains.index(n), 0] for n in data.domains]
            facts["circular correlation"] = round(
                circular_correlation(loop.angles, truth, dataset.period), 4
            )
    return facts


def fit_facts(dataset: DomainDataset) -> Found:
    """Of a default fit: angles against the truth, and accuracy in the targets, for scoring only."""
    model, names = CrossDomainClassifier(random_state=0), np.asarray(dataset.sample_domain)
    model.fit(dataset.X, dataset.y, sample_domain=names, source_domains=dataset.source_domains)
    targets = [name for name in dataset.domains if name not in dataset.source_domains]
    scores = {
        str(name): float(
            model.score(
                dataset.X[names == name],
                dataset.y[names == name],
                sample_domain=names[names == name],
            )
        )
        for name in targets
    }
    assert dataset.true_index is not None
    assert dataset.period is not None
    truth = [dataset.true_index[dataset.domains.index(name), 0] for name in model.domains_]
    angles = model.domain_angles_
    return {
        "domains": len(dataset.domains),
        "sources": len(dataset.source_domains),
        "circular correlation": None
        if angles is None
        else round(circular_correlation(angles, truth, dataset.period), 4),
        "accuracy": round(100 * float(np.mean(list(scores.values()))), 2),
        "by target": {name: round(100 * score, 1) for name, score in scores.items()},
    }


def all_maps() -> Found:
    found = {}
    for name, load in datasets().items():
        try:
            found[name] = map_facts(load())
        except DomindexError as error:
            found[name] = {"not at hand": type(error).__name__}
        print(name, found[name], flush=True)
    return found


def all_shapes() -> Found:
    return {
        name: {str(n): called_loops(shape, noise, n) for n in SIZES}
        for name, (shape, noise) in SHAPES.items()
    }


def fits_table(content: Found) -> list[str]:
    lines = ["| | circular correlation with the truth | target accuracy, % |", "|---|---|---|"]
    for name, words in FITTED.items():
        fit = content["fits"][name]
        correlation = fit["circular correlation"]
        shown = "no ring" if correlation is None else f"{correlation:.4f}"
        lines.append(f"| {words} | {shown} | {fit['accuracy']:.1f} |")
    return [*lines, "", origin_line("loops", content["fits"])]


def shapes_table(content: Found) -> list[str]:
    """How often shapes were called loops, and which datasets."""
    heads = " | ".join(f"{size} domains" for size in SIZES)
    lines = [f"| called a loop, % of 100 draws | {heads} |", "|---|" + "---|" * len(SIZES)]
    for name in SHAPES:
        rates = content["shapes"][name]
        lines.append(f"| {name} | " + " | ".join(f"{rates[str(n)]:.0f}" for n in SIZES) + " |")
    known = {
        name: facts
        for name, facts in content["datasets"].items()
        if isinstance(facts, dict) and "closes" in facts
    }
    closed = []
    for name, facts in known.items():
        if facts["closes"]:
            correlation = facts.get("circular correlation")
            more = "" if correlation is None else f", circular correlation {correlation:.3f}"
            closed.append(f"{name} (persistence {facts['persistence']}{more})")
    called = "; ".join(closed)
    return [*lines, "", f"Of {len(known)} datasets at hand these were called loops: {called}."]


MEASUREMENT = Measurement(
    parts={
        "fits": lambda: {name: fit_facts(load_dataset(name)) for name in FITTED},
        "shapes": all_shapes,
        "datasets": all_maps,
    },
    tables={"loops": fits_table, "shapes": shapes_table},
)
