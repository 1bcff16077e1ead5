"""Families of domains along a line, each of which asks something else of a regressor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import networkx as nx
import numpy as np

from domindex.arrays import Floats
from domindex.datasets import DomainDataset
from domindex.datasets.files import DataHome
from domindex_bench.figures import (
    chosen_figures,
    coverage_figures,
    explained_figures,
    map_figures,
)
from domindex_bench.methods import some_methods
from domindex_bench.suite import Suite, SuiteDataset, slug
from domindex_bench.tables import Summary, by_dataset, by_figure

N_DOMAINS, N_SOURCES, N_ROWS, N_FEATURES = 24, 8, 60, 4
NOISE = 0.1
"""Deviation of the noise in the outputs, as a share of theirs."""

Rows = tuple[Floats, Floats]
RowsAt = Callable[[float, np.random.Generator, Floats], Rows]
"""Inputs (rows, features) and outputs (rows, 1) of a domain, from its place, chance and slopes."""


def family(name: str, data_home: DataHome, seed: int) -> DomainDataset:
    """Domains at places 0 to 1 along a line, the first third of them sources."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(N_FEATURES, 1))
    places = np.arange(N_DOMAINS) / N_DOMAINS
    parts = [FAMILIES[name](float(place), rng, slopes) for place in places]
    X, y = (np.concatenate(side) for side in zip(*parts))
    return DomainDataset(
        name=name,
        X=X,
        y=y + NOISE * y.std() * rng.normal(size=y.shape),
        sample_domain=np.repeat(np.arange(N_DOMAINS), N_ROWS),
        source_domains=list(range(N_SOURCES)),
        domains=list(range(N_DOMAINS)),
        task="regression",
        true_index=places[:, None],
        index_names=("place",),
        graph=nx.path_graph(N_DOMAINS),
        description=f"Domains along a line, drawn with seed {seed}: {name}.",
    )


def _rows(rng: np.random.Generator) -> Floats:
    return rng.normal(size=(N_ROWS, N_FEATURES))


def alike(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    x = _rows(rng)
    return x, x @ slopes


def alike_and_curved(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    x = _rows(rng)
    return x, np.sin(2 * x[:, :1]) + x[:, 1:2] ** 2


def shifted_at_random(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    x = _rows(rng) + 1.5 * rng.normal(size=N_FEATURES)
    return x, x @ slopes


def drifting(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    x = _rows(rng) + 4 * place * np.array([1.0, 0.5, 0.0, 0.0])
    return x, x @ slopes


def drifting_sensor(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    x = _rows(rng)
    return x + 6 * place * np.array([1.0, -0.5, 0.3, 0.0]), x @ slopes


def turning(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    still = rng.normal(size=(N_ROWS, 2)) * [2.0, 0.5] + [3.0, 0.0]
    cos, sin = np.cos(np.pi * place), np.sin(np.pi * place)
    return still @ np.array([[cos, sin], [-sin, cos]]), still[:, :1] + 0.5 * still[:, 1:] ** 2


def own_level(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    x = _rows(rng)
    level = 10 * place + 3 * rng.normal(size=(N_ROWS, 1))
    spread = np.exp(place + 0.5 * rng.normal(size=(N_ROWS, 1)))
    return level + spread * x, level + spread * (x @ slopes)


def domain_level(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    x = _rows(rng)
    return 20 * place + x, 20 * place + x @ slopes


def unlike_units(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    x = _rows(rng)
    return x * [1.0, 1e3, 1e-4, 10.0], 1e5 * (x @ slopes)


def changing_rule(place: float, rng: np.random.Generator, slopes: Floats) -> Rows:
    """No method that sees no target label can follow this."""
    x = _rows(rng)
    x[:, 3] += 3 * place
    return x, x @ (slopes * (1 - 2 * place))


FAMILIES: dict[str, RowsAt] = {
    "alike": alike,
    "alike, curved": alike_and_curved,
    "shifted at random": shifted_at_random,
    "drifting": drifting,
    "drifting sensor": drifting_sensor,
    "turning": turning,
    "rows at levels of their own": own_level,
    "domains at levels of their own": domain_level,
    "unlike units": unlike_units,
    "changing rule": changing_rule,
}


def _document(summary: Summary) -> str:
    ours = summary.of_methods(["cross-domain"])
    parts = [
        "## R² over all target rows",
        by_dataset(summary, "r2"),
        "## Intervals and choices of CrossDomain",
        by_figure(ours, {"coverage": "coverage of 90 % intervals"}, words=["chosen"]),
    ]
    return "\n\n".join(parts)


SUITE = Suite(
    name="regression",
    title="Families for a regressor",
    about=(
        "Families written after the library's constants were found; its rule for domain levels "
        "and its flexible rule came from looking at them. Domains along a line, the first third "
        "of them sources; every seed draws rows and slopes anew. In `changing rule` the rule from "
        "x to y itself changes: no method without target labels can follow."
    ),
    datasets={
        slug(title): SuiteDataset(title, "regression", partial(family, title), redraws=True)
        for title in FAMILIES
    },
    methods=some_methods("cross-domain", "ridge", "forest", "knn", "boosting"),
    seeds=3,
    figures=(explained_figures, coverage_figures, map_figures, chosen_figures),
    headline={"regression": "r2"},
    render=_document,
)
