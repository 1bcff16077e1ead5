"""Other sizes, uneven domains, noise features, bent and lifted inputs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from domindex.datasets import DomainDataset, load_dataset, make_circle, make_domain_graph
from domindex_bench.figures import map_figures, prediction_figures
from domindex_bench.methods import some_methods
from domindex_bench.suite import TITLES, Suite, SuiteDataset, slug
from domindex_bench.tables import by_dataset


def among_noise(dataset: DomainDataset) -> DomainDataset:
    """Standard normal features added, and everything rotated at random."""
    rng = np.random.default_rng(0)
    wide = np.column_stack([dataset.X, rng.standard_normal((len(dataset.X), 18))])
    turn = np.linalg.qr(rng.standard_normal((wide.shape[1], wide.shape[1])))[0]
    return replace(dataset, X=wide @ turn)


def bent(dataset: DomainDataset) -> DomainDataset:
    """x + 0.3 sin 2x on standardised inputs."""
    unit = (dataset.X - dataset.X.mean(axis=0)) / dataset.X.std()
    return replace(dataset, X=unit + 0.3 * np.sin(2 * unit))


def lifted(dataset: DomainDataset) -> DomainDataset:
    """Five squashed random combinations of the standardised inputs."""
    rng = np.random.default_rng(0)
    unit = (dataset.X - dataset.X.mean(axis=0)) / dataset.X.std()
    return replace(dataset, X=np.tanh(0.7 * unit @ rng.standard_normal((2, 5)) + 0.25))


def uneven(n_domains: int) -> list[int]:
    """Sizes from 5 to 500 rows, in a fixed random order."""
    sizes = np.geomspace(5, 500, n_domains).round().astype(int)
    return [int(size) for size in np.random.default_rng(0).permutation(sizes)]


def _datasets() -> dict[str, SuiteDataset]:
    circle, graph = partial(partial, make_circle), partial(partial, make_domain_graph)
    generated = {
        "circle, 8 domains": circle(n_domains=8, n_sources=3),
        "circle, 100 domains": circle(n_domains=100, n_sources=20),
        "graph, 8 domains": graph(n_domains=8, n_sources=3),
        "graph, 100 domains": graph(n_domains=100, n_sources=10),
        "circle, 5-500 rows": circle(samples_per_domain=uneven(30)),
        "graph, 5-500 rows": graph(n_domains=30, samples_per_domain=uneven(30)),
        "graph of 30, 4 classes": graph(n_domains=30, n_classes=4),
    }
    altered = [
        *((name, "18 noise features", among_noise) for name in ("circle", "dg-15", "dg-60")),
        *((name, "bent", bent) for name in ("circle", "dg-15")),
        ("circle", "lifted to 5-D", lifted),
    ]
    found = {}
    for title, make in generated.items():
        found[slug(title)] = SuiteDataset(
            title, "classification", lambda home, seed, make=make: make()
        )
    for name, how, change in altered:
        found[slug(f"{name} {how}")] = SuiteDataset(
            f"{TITLES[name][0]}, {how}",
            "classification",
            lambda home, seed, name=name, change=change: change(load_dataset(name, home)),
        )
    return found


SUITE = Suite(
    name="generality",
    title="Other sizes, noise, bent inputs",
    about="Target accuracy, %.",
    datasets=_datasets(),
    methods=some_methods("cross-domain", "moment-flow"),
    seeds=2,
    figures=(prediction_figures, map_figures),
    headline={"classification": "accuracy"},
    render=partial(by_dataset, figure="accuracy"),
)
