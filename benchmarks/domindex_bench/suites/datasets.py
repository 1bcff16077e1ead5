"""The library's datasets as datasets of a suite, and changed copies of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.datasets import DomainDataset, load_dataset
from domindex.datasets.files import DataHome
from domindex.inputs.domain_data import Task
from domindex_bench.suite import SuiteDataset

TITLES: dict[str, tuple[str, Task]] = {
    "circle": ("Circle", "classification"),
    "dg-15": ("DG-15", "classification"),
    "dg-60": ("DG-60", "classification"),
    "tpt-48-w-e": ("TPT-48, W (6) → E (42)", "regression"),
    "tpt-48-n-s": ("TPT-48, N (24) → S (24)", "regression"),
    "rotating-digits": ("Rotating digits", "classification"),
}


def slug(title: str) -> str:
    """A title as a name that a command line takes: small letters, digits, hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def library_dataset(name: str, **changes: Any) -> SuiteDataset:
    """A dataset of `load_dataset`."""
    title, task = TITLES[name]
    return replace(SuiteDataset(title, task, partial(_load, name)), **changes)


def library_datasets(*names: str) -> dict[str, SuiteDataset]:
    return {name: library_dataset(name) for name in names}


def made(title: str, task: Task, make: Callable[[], DomainDataset]) -> SuiteDataset:
    """One that a generator makes, the same with every seed."""
    return SuiteDataset(title, task, partial(_make, make))


def changed(
    title: str, name: str, change: Callable[[DomainDataset], DomainDataset]
) -> SuiteDataset:
    """A dataset of `load_dataset`, changed the same way with every seed."""
    return SuiteDataset(title, TITLES[name][1], partial(_load_changed, name, change))


def keep_rows(dataset: DomainDataset, rows: NDArray[np.bool_]) -> DomainDataset:
    """Some of the rows, and what is known of the domains that are left."""
    left = set(np.unique(dataset.sample_domain[rows]).tolist())
    numbers = [number for number, name in enumerate(dataset.domains) if name in left]
    domains = [dataset.domains[number] for number in numbers]
    levels, graph, true_index = dataset.levels, dataset.graph, dataset.true_index
    return replace(
        dataset,
        X=dataset.X[rows],
        y=dataset.y[rows],
        sample_domain=dataset.sample_domain[rows],
        source_domains=[name for name in dataset.source_domains if name in left],
        domains=domains,
        true_index=None if true_index is None else true_index[numbers],
        graph=None if graph is None else graph.subgraph(domains),
        levels=None if levels is None else {n: level for n, level in levels.items() if n in left},
    )


def _load(name: str, data_home: DataHome, seed: int) -> DomainDataset:
    return load_dataset(name, data_home)


def _make(make: Callable[[], DomainDataset], data_home: DataHome, seed: int) -> DomainDataset:
    return make()


def _load_changed(
    name: str,
    change: Callable[[DomainDataset], DomainDataset],
    data_home: DataHome,
    seed: int,
) -> DomainDataset:
    return change(load_dataset(name, data_home))
