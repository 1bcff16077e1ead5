"""What the model is measured on: the paper's datasets, and families that ask for more."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from domindex.datasets import DomainDataset, load_dataset, make_circle, make_domain_graph

SHARED = Path(__file__).parents[2] / "shared" / "data"
DATA_HOME = os.environ.get("DOMINDEX_DATA") or (str(SHARED) if SHARED.exists() else None)

Task = Callable[[], DomainDataset]


def among_noise(dataset: DomainDataset, n_noise: int = 18) -> DomainDataset:
    """Standard normal features added, and everything rotated at random."""
    rng = np.random.default_rng(0)
    wide = np.column_stack([dataset.X, rng.standard_normal((len(dataset.X), n_noise))])
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
    return np.random.default_rng(0).permutation(sizes).tolist()


PAPER: dict[str, Task] = {
    name: partial(load_dataset, name, DATA_HOME) for name in ("dg-15", "dg-60", "circle")
}
GENERAL: dict[str, Task] = {
    "circle, 8 domains": lambda: make_circle(n_domains=8, n_sources=3),
    "circle, 100 domains": lambda: make_circle(n_domains=100, n_sources=20),
    "graph, 8 domains": lambda: make_domain_graph(n_domains=8, n_sources=3),
    "graph, 100 domains": lambda: make_domain_graph(n_domains=100, n_sources=10),
    "circle, 5-500 rows": lambda: make_circle(samples_per_domain=uneven(30)),
    "graph, 5-500 rows": lambda: make_domain_graph(n_domains=30, samples_per_domain=uneven(30)),
    "circle, 18 noise features": lambda: among_noise(PAPER["circle"]()),
    "dg-15, 18 noise features": lambda: among_noise(PAPER["dg-15"]()),
    "dg-60, 18 noise features": lambda: among_noise(PAPER["dg-60"]()),
    "circle, bent": lambda: bent(PAPER["circle"]()),
    "dg-15, bent": lambda: bent(PAPER["dg-15"]()),
    "circle, lifted to 5-D": lambda: lifted(PAPER["circle"]()),
    "graph of 30, 4 classes": lambda: make_domain_graph(n_domains=30, n_classes=4),
}
