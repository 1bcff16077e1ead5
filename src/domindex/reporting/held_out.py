"""How well source domains are predicted by models that did not see their labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domindex.data import DomainData
from domindex.evaluation import accuracy, squared_error
from domindex.reporting.model_facts import QuickTraining, quick_training
from domindex.reporting.report_data import HeldOutQuality, HeldOutScore

REFIT_ROWS = 100
REFIT_DOMAINS = 40
"""Rows of a domain, and domains, that a refit sees at most, so that it takes seconds."""

REGRESSION_SCORE = "root mean squared error"


def held_out_quality(
    model: Any, data: DomainData, *, folds: int = 3, random_state: int = 0
) -> HeldOutQuality | None:
    """Refit a fitted model with some of its sources as targets, and score it there.

    Sources are left out in stretches along the map, so that a model has to go on beyond what it
    was taught, as it does for targets. None where the sources are too few, or no stretch leaves
    labels of two classes.

    Parameters
    ----------
    model : fitted; refits have its settings, but try fewer candidates and train shortly
    data : what it was fitted on
    folds : how many stretches at most, one refit each
    """
    small = _smaller(data, np.random.default_rng(random_state))
    quick = quick_training(model)
    refits = [
        list(_scores_without(model, quick, small, left_out))
        for left_out in _stretches(model, small, folds)
    ]
    scores = [score for refit in refits for score in refit]
    if not scores:
        return None
    classifies = small.classes is not None
    order = {str(name): number for number, name in enumerate(model.domains_)}
    return HeldOutQuality(
        score_name="accuracy" if classifies else REGRESSION_SCORE,
        higher_is_better=classifies,
        method=_method(len(list(filter(None, refits))), quick.steps, small.n_rows < data.n_rows),
        baseline=("A logistic regression" if classifies else "A ridge regression")
        + " on the rows of the remaining sources, without any adaptation.",
        scores=tuple(sorted(scores, key=lambda one: order[one.name])),
    )


def _method(n_refits: int, steps: int, sampled: bool) -> str:
    sample = (
        f" To stay quick, at most {REFIT_ROWS} rows of a domain and {REFIT_DOMAINS} domains were "
        "used."
        if sampled
        else ""
    )
    return (
        f"The model was fitted {n_refits} more times, each time with the labels of some source "
        "domains hidden: neighbours on the map together, so that it had to go on beyond what it "
        "was taught. These fits are quick: where there is a choice they try linear rules and "
        f"trees only, and networks take at most {steps} training steps, so the full model may do "
        f"better.{sample} No label of a target was used."
    )


def _smaller(data: DomainData, rng: np.random.Generator) -> DomainData:
    """At most `REFIT_ROWS` rows of at most `REFIT_DOMAINS` domains, sources first."""
    numbers = np.arange(data.n_domains)
    sources, targets = (
        rng.permutation(numbers[mask]) for mask in (data.is_source, ~data.is_source)
    )
    sources = sources[: REFIT_DOMAINS // 2]
    chosen = np.sort(np.concatenate([sources, targets[: REFIT_DOMAINS - len(sources)]]))
    of_domain = data.rows_by_domain()
    rows = np.concatenate([np.sort(rng.permutation(of_domain[n])[:REFIT_ROWS]) for n in chosen])
    renumbered = np.searchsorted(chosen, data.row_domains[rows])
    return DomainData(
        inputs=data.inputs[rows],
        labels=data.labels[rows],
        row_domains=renumbered,
        domains=tuple(data.domains[n] for n in chosen),
        is_source=data.is_source[chosen],
        task=data.task,
        classes=data.classes,
        single_output=data.single_output,
    )


def _stretches(model: Any, data: DomainData, folds: int) -> list[list[Hashable]]:
    """Sources in their order along the map, cut into pieces of nearly equal length."""
    sources = list(data.source_domains)
    n_pieces = min(folds, len(sources))
    if n_pieces < 2:
        return []
    points = np.array([model.domain_index_.find(name) for name in sources])
    centred = points - points.mean(axis=0)
    along = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    ordered = [sources[number] for number in np.argsort(along, kind="stable")]
    return [
        [ordered[number] for number in piece]
        for piece in np.array_split(np.arange(len(ordered)), n_pieces)
    ]


def _scores_without(
    model: Any, quick: QuickTraining, data: DomainData, left_out: list[Hashable]
) -> Iterator[HeldOutScore]:
    remaining = [name for name in data.source_domains if name not in left_out]
    names = np.array([data.domains.index(name) for name in (*remaining, *left_out)])
    taught = np.isin(data.row_domains, names[: len(remaining)])
    labels = _user_labels(data)
    if data.classes is not None and len(np.unique(labels[taught])) < 2:
        return
    refit = clone(model).set_params(**quick.parameters)
    refit.fit(data.inputs, labels, sample_domain=data.row_names, source_domains=remaining)
    flat = data.inputs.reshape(data.n_rows, -1)
    plain = make_pipeline(StandardScaler(), _plain_model(data)).fit(flat[taught], labels[taught])
    score = _root_error if data.classes is None else accuracy
    for name in left_out:
        rows = np.flatnonzero(data.row_domains == data.domains.index(name))
        predicted = refit.predict(data.inputs[rows], sample_domain=[name] * len(rows))
        yield HeldOutScore(
            str(name),
            score(labels[rows], predicted),
            score(labels[rows], plain.predict(flat[rows])),
        )


def _user_labels(data: DomainData) -> NDArray:
    """Labels as the user spells them; some class, or zero, where they are hidden anyway."""
    if data.classes is not None:
        return data.classes[np.maximum(data.labels, 0)]
    values = np.nan_to_num(data.labels)
    return values[:, 0] if data.single_output else values


def _plain_model(data: DomainData) -> Any:
    return Ridge() if data.classes is None else LogisticRegression(max_iter=1000)


def _root_error(truth: NDArray, predicted: NDArray) -> float:
    """The error of one output of one row, in the units of y."""
    return float(np.sqrt(squared_error(truth, predicted) * len(truth) / truth.size))
