"""Cars by viewpoint and year: the paper's Table 3, and drawn cars that anyone can run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from domindex.datasets import DomainDataset, load_dataset
from domindex.datasets.files import DataHome
from domindex_bench.compcars_tables import CONV, compcars_document
from domindex_bench.figures import (
    domain_figures,
    group_figures,
    map_figures,
    prediction_figures,
)
from domindex_bench.methods import Method, some_methods, with_backbone
from domindex_bench.published import PAPERS_METHODS
from domindex_bench.suite import Suite, SuiteDataset
from domindex_bench.suites.compcars_data import generated, photographs

BACKBONE = "conv"
"""What tells pictures to every network, ours and the baselines': trained with each of them."""


def _features(data_home: DataHome, seed: int) -> DomainDataset:
    return load_dataset("compcars-features", data_home)


def _are_pictures(dataset: DomainDataset) -> bool:
    return dataset.X.ndim > 2


def needs_pictures(dataset: DomainDataset) -> str:
    return "" if _are_pictures(dataset) else "its backbone reads pictures, and these are features"


def needs_features(dataset: DomainDataset) -> str:
    if not _are_pictures(dataset):
        return ""
    return f"on pictures it runs with a backbone, as the method of this name that ends in -{CONV}"


def _networks() -> Iterator[Method]:
    """The paper's methods and ours, on features and, through the backbone, on pictures."""
    for method in some_methods("vdi", "vdi-no-flow", *PAPERS_METHODS).values():
        yield replace(method, objection=needs_features)
        yield with_backbone(method, BACKBONE, needs_pictures)


SUITE = Suite(
    name="compcars",
    title="CompCars",
    about=(
        "Four types of cars in 30 domains, five viewpoints in six years; the front views of 2009 "
        "are the source. `compcars` are the photographs of the release, which its authors give out "
        "on request; `compcars-features` the ResNet-18 features that the paper's authors "
        "published. `compcars-generated` are drawn cars in the same folders, anew with every "
        "seed: the viewpoint stretches them, the year tints the picture. On pictures every "
        f"network has the backbone `{BACKBONE}`, trained with it; plain models have the pixels."
    ),
    datasets={
        "compcars": SuiteDataset(
            "CompCars, photographs", "classification", photographs, optional=True
        ),
        "compcars-features": SuiteDataset(
            "CompCars, the authors' features", "classification", _features, optional=True
        ),
        "compcars-generated": SuiteDataset(
            "Drawn cars", "classification", generated, redraws=True, optional=True
        ),
    },
    methods={
        **{method.name: method for method in _networks()},
        **some_methods("logistic", "svm", "forest", "knn"),
    },
    seeds=3,
    figures=(
        prediction_figures,
        domain_figures,
        map_figures,
        partial(group_figures, "viewpoint"),
        partial(group_figures, "year"),
    ),
    headline={"classification": "accuracy"},
    render=compcars_document,
)
