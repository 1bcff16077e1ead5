"""How well distances between domains say where a rule carries over, and ellipses where a domain is.

Labels of all domains are read for the losses only. Distances are made from all rows, and from the
labels of sources where columns are weighted by their importance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import chi2
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from domindex import CrossDomainClassifier, CrossDomainRegressor
from domindex.datasets import DomainDataset, load_dataset
from domindex.evaluation import transfer_correlation, transfer_losses
from domindex.geometry import classical_scaling
from domindex.geometry.transport import moment_bounds
from domindex.tables.predicting import coordinates_of
from domindex_bench.data.real import MORE, REAL, load_real_dataset
from domindex_bench.measuring import Found, Measurement, origin_line
from domindex_bench.suite import TITLES

Floats = NDArray[np.float64]

MIN_DOMAINS = 6
"""Of fewer, a correlation over their pairs is chance, and not in the mean."""

PAPER = ("circle", "dg-15", "dg-60", "tpt-48-w-e", "tpt-48-n-s", "rotating-digits")
TABLES = [name for name in (*REAL, *MORE) if name not in ("rotating-mnist", "produc")]
"""The real ones; without pictures of 784 cells, for time, and domains of 17 rows."""

KINDS = {
    "map": "the map, 2-D",
    "means": "distance of means",
    "means in 2-D": "the same in 2-D",
    "weighted means in 2-D": "means and deviations, columns weighted, 2-D",
    "weighted transport in 2-D": "Gaussian transport, columns weighted, 2-D",
}
"""What is measured, and what the page calls it."""


def in_two_dimensions(distances: Floats) -> Floats:
    points = classical_scaling(distances, 2)
    return cdist(points, points)


def column_weights(dataset: DomainDataset, inputs: Floats) -> Floats:
    """(features,) roots of the importances that trees give columns, for labels of sources only."""
    is_class = dataset.task == "classification"
    kind = ExtraTreesClassifier if is_class else ExtraTreesRegressor
    trees = kind(200, min_samples_leaf=3, n_jobs=1, random_state=0)
    labels = dataset.y[dataset.is_source]
    labels = labels if is_class else labels.astype(np.float64).squeeze()
    importances = trees.fit(inputs[dataset.is_source], labels).feature_importances_
    return np.sqrt(importances * inputs.shape[1])


def plain_distances(dataset: DomainDataset) -> dict[str, Floats]:
    """By kind, between all domains in the order of the dataset."""
    inputs = np.asarray(dataset.X, dtype=np.float64).reshape(len(dataset.X), -1)
    spread = inputs.std(axis=0)
    inputs = (inputs - inputs.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    weighted = inputs * column_weights(dataset, inputs)
    rows = [np.asarray(dataset.sample_domain) == name for name in dataset.domains]
    means = np.stack([inputs[own].mean(axis=0) for own in rows])
    clouds = [weighted[own] for own in rows]
    moments = np.stack([np.append(one.mean(axis=0), one.std(axis=0)) for one in clouds])
    transport = moment_bounds(clouds, clouds)
    transport = (transport + transport.T) * (1 - np.eye(len(rows))) / 2
    return {
        "means": cdist(means, means),
        "means in 2-D": in_two_dimensions(cdist(means, means)),
        "weighted means in 2-D": in_two_dimensions(cdist(moments, moments)),
        "weighted transport in 2-D": in_two_dimensions(transport),
    }


def fitted(dataset: DomainDataset, rows: NDArray) -> CrossDomainClassifier | CrossDomainRegressor:
    """A model of some rows, for its map."""
    kind = CrossDomainClassifier if dataset.task == "classification" else CrossDomainRegressor
    # The map of a table asks the members what labels to expect; one is enough, for time.
    model = kind(candidates=[("raw", "boosting")], random_state=0)
    domains = {"sample_domain": dataset.sample_domain[rows]}
    return model.fit(
        dataset.X[rows], dataset.y[rows], **domains, source_domains=dataset.source_domains
    )


def inside_ellipses(dataset: DomainDataset, share: float = 0.8) -> Found:
    """How often the second half of a target's rows lies in the ellipse of the first, by the map of
    all first halves. Not of sources: their first half has labels, their second has not."""
    rng = np.random.default_rng(0)
    halves: tuple[list[NDArray], list[NDArray]] = ([], [])
    for name in dataset.domains:
        own = rng.permutation(np.flatnonzero(dataset.sample_domain == name))
        for half, rows in zip(halves, np.array_split(own, 2)):
            half.append(rows)
    first, second = (np.sort(np.concatenate(half)) for half in halves)
    model, targets = fitted(dataset, first), set(dataset.target_domains)
    second = second[[name in targets for name in dataset.sample_domain[second]]]
    again = np.array([f"{name}, again" for name in dataset.sample_domain[second]], dtype=object)
    places = model.place_domains(dataset.X[second], sample_domain=again, forecast=False)
    before = {f"{name}, again": number for number, name in enumerate(model.domains_)}
    numbers = [before[name] for name in places["domain"]]
    moved = coordinates_of(places) - model.domain_indices_[numbers]
    deviations = np.maximum(model.domain_index_std_[numbers], 1e-12)
    away = ((moved / deviations) ** 2).sum(axis=1)
    return {"targets": len(away), "inside": float((away <= chi2.ppf(share, moved.shape[1])).mean())}


def measure(load: Callable[[], DomainDataset]) -> Found:
    dataset = load()
    rows = {"sample_domain": dataset.sample_domain, "task": dataset.task}
    losses = transfer_losses(dataset.X, dataset.y, **rows)
    facts: Found = {"domains": len(losses), "of": len(dataset.domains)}
    if len(losses) < 3:
        return facts
    model = fitted(dataset, np.arange(len(dataset.X)))
    places = [dataset.domains.index(name) for name in losses.index]
    square = np.ix_(places, places)
    found = {"map": transfer_correlation(model.domain_index_, losses)}
    for name, distances in plain_distances(dataset).items():
        found[name] = transfer_correlation(distances[square], losses)
    correlation = {name: round(value, 4) for name, value in found.items()}
    return {**facts, "correlation": correlation, "ellipses": inside_ellipses(dataset)}


def transfer_table(content: Found) -> list[str]:
    """A row a dataset, with means over the real tables that have enough domains."""
    heads = ["", "domains", *KINDS.values(), "inside 80 % ellipses, %"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    titles = {name: known.title for name, known in {**REAL, **MORE}.items()}
    titles |= {name: title for name, (title, _) in TITLES.items()}
    shown = {name: one for name, one in content.items() if "correlation" in one}
    for name, one in shown.items():
        values = (f"{one['correlation'][kind]:.2f}" for kind in KINDS)
        held = f"{100 * one['ellipses']['inside']:.0f}"
        lines.append(f"| {titles[name]} | {one['domains']} | {' | '.join(values)} | {held} |")
    real = [one for name, one in shown.items() if name in TABLES and one["domains"] >= MIN_DOMAINS]
    counted = [one["correlation"] for one in real]
    means = (f"**{np.mean([one[kind] for one in counted]):.3f}**" for kind in KINDS)
    lines.append(f"| mean of {len(counted)} real tables | | " + " | ".join(means) + " |")
    held = [(one["ellipses"]["inside"], one["ellipses"]["targets"]) for one in real]
    pooled = 100 * np.average([share for share, _ in held], weights=[n for _, n in held])
    lines[-1] += f" **{pooled:.0f}** of {sum(n for _, n in held)} targets |"
    return [*lines, "", origin_line("transfer", next(iter(shown.values())))]


MEASUREMENT = Measurement(
    parts={
        **{name: partial(measure, partial(load_real_dataset, name)) for name in TABLES},
        **{name: partial(measure, partial(load_dataset, name)) for name in PAPER},
    },
    tables={"transfer": transfer_table},
)
