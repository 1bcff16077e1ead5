"""Pictures and signals that move from domain to domain."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import networkx as nx
import numpy as np

from domindex.datasets import DomainDataset, make_moving_digits
from domindex.datasets.digits import MOTIONS
from domindex.datasets.files import DataHome
from domindex.inputs.domain_data import read_layout
from domindex_bench.data.motions import load_moving_mnist, make_moving_waves
from domindex_bench.data.real import load_real_dataset
from domindex_bench.figures import (
    Outcome,
    domain_figures,
    map_figures,
    prediction_figures,
)
from domindex_bench.methods import METHODS, some_methods, with_backbone
from domindex_bench.suite import Suite, SuiteDataset, library_dataset
from domindex_bench.tables import Summary, by_dataset, by_figure

DEEP = ("dann", "cida", "grda")
"""Networks that adapt, on the convolutional backbone; the last two are told the true index and the
true graph."""


def motion_figures(outcome: Outcome) -> dict[str, float | str]:
    """`motion`: what the model found to move along the map, where a member follows it."""
    found = getattr(outcome.model, "grid_flow_", None)
    if not found:
        return {}
    return {"motion": f"{found['family']}{', light' if found['is_lit'] else ''}"}


def _rotating(data_home: DataHome, seed: int) -> DomainDataset:
    dataset = load_real_dataset("rotating-mnist", data_home)
    assert dataset.true_index is not None
    order = np.argsort(dataset.true_index[:, 0], kind="stable")
    return replace(dataset, graph=nx.path_graph([dataset.domains[number] for number in order]))


def _no_signals(dataset: DomainDataset) -> str:
    layout = read_layout(dataset.X.shape)
    return "" if layout.kind == "pictures" else "its backbone reads pictures, and these are signals"


def _datasets() -> dict[str, SuiteDataset]:
    drawn = partial(SuiteDataset, task="classification", redraws=True)
    mnist, digits = {}, {}
    for motion in MOTIONS:
        if motion != "turn":
            mnist[f"mnist-{motion}"] = drawn(
                f"MNIST, {motion}", load=partial(load_moving_mnist, motion), optional=True
            )
            digits[f"digits-{motion}"] = drawn(
                f"8 × 8 digits, {motion}",
                load=lambda home, seed, motion=motion: make_moving_digits(
                    motion, random_state=seed
                ),
            )
    return {
        "rotating-mnist": SuiteDataset(
            "Rotating MNIST", "classification", _rotating, optional=True
        ),
        "rotating-digits": library_dataset("rotating-digits"),
        **mnist,
        **digits,
        "waves": drawn(
            "Waves (signals)", load=lambda home, seed: make_moving_waves(random_state=seed)
        ),
    }


def _document(summary: Summary) -> str:
    ours = summary.of_methods(["cross-domain"])
    figures = {"worst": "worst domain, %", "fit_seconds": "fit, s"}
    return "\n\n".join(
        [
            "## Accuracy, %, mean over target domains",
            by_dataset(summary, "domain_accuracy"),
            "## CrossDomain: the worst domain, the time, and the motion found",
            by_figure(ours, figures, ["motion"]),
        ]
    )


SUITE = Suite(
    name="pictures",
    title="Pictures and signals that move",
    about=(
        "Rotating MNIST: 24 angles of 28 × 28 pictures, the first six labelled. Rotating digits: "
        "scikit-learn's 8 × 8 digits at 18 angles; their map closes. The others are generated: "
        "12 domains, the first 4 labelled, digits that grow, slant, move or change their light, "
        "and signals that stretch, shift and grow. Plain models are given the cells as features; "
        "DANN, CIDA told the true index and GRDA told the true graph stand on the convolutional "
        "backbone of this library."
    ),
    datasets=_datasets(),
    methods={
        **some_methods("cross-domain", "logistic", "svm", "forest", "knn"),
        **{f"{name}-conv": with_backbone(METHODS[name], "conv", _no_signals) for name in DEEP},
    },
    seeds=3,
    figures=(domain_figures, prediction_figures, map_figures, motion_figures),
    headline={"classification": "domain_accuracy"},
    render=_document,
)
