"""TPT-48 with something amiss: noise, fewer targets, sources and targets of other years."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from domindex.datasets import DomainDataset, load_dataset
from domindex.datasets.files import DataHome
from domindex_bench.figures import (
    chosen_figures,
    coverage_figures,
    map_figures,
    prediction_figures,
)
from domindex_bench.methods import some_methods
from domindex_bench.suite import Suite, SuiteDataset
from domindex_bench.suites.datasets import TITLES, keep_rows, slug
from domindex_bench.tables import by_figure

NOISE = 0.03
WINDOW = 6
"""Months of a source's window that may reach into the other half of the years."""

Disturbance = Callable[[DomainDataset, int], DomainDataset]


def with_noise(data: DomainDataset, seed: int) -> DomainDataset:
    """Inputs with noise of 3 % of their deviation."""
    noise = NOISE * np.random.default_rng(seed).normal(size=data.X.shape)
    return replace(data, X=data.X + noise)


def with_fewer_targets(data: DomainDataset, seed: int) -> DomainDataset:
    """A fifth of the target states dropped."""
    targets = np.array(data.target_domains)
    dropped = np.random.default_rng(seed).choice(targets, len(targets) // 5, replace=False)
    return keep_rows(data, ~np.isin(data.sample_domain, dropped))


def of_other_years(data: DomainDataset, seed: int) -> DomainDataset:
    """Sources from one half of the years and targets from the other, even seeds early sources."""
    position, size = np.empty(len(data.X)), np.empty(len(data.X))
    for name in data.domains:
        rows = np.flatnonzero(data.sample_domain == name)
        position[rows], size[rows] = np.arange(len(rows)), len(rows)
    early = position < size // 2
    # A window of a source spans a year: leave out those that reach into the other half.
    clear = np.abs(position - size / 2) > np.where(data.is_source, WINDOW, 0)
    chosen = np.where(data.is_source, early == (seed % 2 == 0), early != (seed % 2 == 0))
    return keep_rows(data, chosen & clear)


DISTURBANCES: dict[str, tuple[Disturbance, int]] = {
    "noise in the inputs": (with_noise, 3),
    "a fifth of the targets dropped": (with_fewer_targets, 3),
    "sources and targets from other years": (of_other_years, 2),
}
"""What is amiss, and in how many ways."""


def _load(name: str, disturb: Disturbance, data_home: DataHome, seed: int) -> DomainDataset:
    return disturb(load_dataset(name, data_home), seed)


def _datasets() -> dict[str, SuiteDataset]:
    return {
        slug(f"{name} {how}"): SuiteDataset(
            f"{TITLES[name][0]}, {how}",
            "regression",
            partial(_load, name, disturb),
            redraws=True,
            seeds=seeds,
        )
        for name in ("tpt-48-w-e", "tpt-48-n-s")
        for how, (disturb, seeds) in DISTURBANCES.items()
    }


SUITE = Suite(
    name="disturbed",
    title="TPT-48, disturbed",
    about="The paper's error; R² of latitude and longitude read off the map linearly.",
    datasets=_datasets(),
    methods=some_methods("vdi"),
    seeds=3,
    figures=(prediction_figures, coverage_figures, map_figures, chosen_figures),
    headline={"regression": "error"},
    render=partial(
        by_figure,
        figures={
            "error": "error",
            "index_latitude": "latitude",
            "index_longitude": "longitude",
            "coverage": "coverage of 90 % intervals",
        },
        words=["chosen"],
    ),
)
