"""What predictions rest on: what is lost in held-out sources when a column is shuffled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from domindex.committee.candidate import Candidate
from domindex.committee.folds import Fold
from domindex.committee.held_out_rows import temper
from domindex.committee.learner import Predictor
from domindex.committee.learning import predict_with
from domindex.committee.represented_folds import RepresentedFolds
from domindex.committee.self_training import learn
from domindex.committee.side_by_side import Workers
from domindex.representations import RepresentedRows

Floats = NDArray[np.float64]

MOST_ROWS = 200
MOST_GROUPS = 60
MOST_FOLDS = 4
"""Held-out rows of a fold, groups of columns and folds that are looked at, at most: for time."""

LEAST_ERROR = 1e-12
"""In units of the outputs' spread, so that a share of it is finite; rounding, not tuned."""

PARTS = ("features", "level", "spread")


@dataclass(frozen=True, eq=False)
class Explained:
    """What column importance is measured on: the heaviest candidate that needs no network.

    Attributes
    ----------
    candidate, temperature : which, and by what its probabilities are softened
    represented : rows in its representation, in any fold
    folds : those on which it was validated
    smoothing : share of a probability that is spread over all classes
    """

    candidate: Candidate
    temperature: float
    represented: RepresentedFolds
    folds: tuple[Fold, ...]
    smoothing: float


def column_importance(
    explained: Explained, groups: Sequence[NDArray], seed: int, workers: Workers | None = None
) -> Floats:
    """(groups, 2), mean and standard error over held-out domains of what shuffling costs.

    Columns of a group are shuffled together, among the rows of a domain, so that what a domain is
    like stays as it is. The cost is probability of the right class, or the rise of the root mean
    squared error as a share of it. `groups` hold numbers of columns; those beyond `MOST_GROUPS`
    are not looked at. `workers` learn in the folds side by side, where they are threads.
    """
    rng = np.random.default_rng(seed)
    by_domain: dict[int, list[Floats]] = {}
    near = [fold for fold in explained.folds if fold.kind != "far"][:MOST_FOLDS]
    for fold, predictor in zip(near, _learned_in(near, explained, seed, workers or Workers())):
        for domain, costs in _costs_in_fold(explained, fold, predictor, groups[:MOST_GROUPS], rng):
            by_domain.setdefault(domain, []).append(costs)
    costs = np.stack([np.mean(parts, axis=0) for parts in by_domain.values()])
    error = costs.std(axis=0, ddof=1) / np.sqrt(len(costs)) if len(costs) > 1 else 0 * costs[0]
    return np.stack([costs.mean(axis=0), error], axis=1)


def _learned_in(
    folds: Sequence[Fold], explained: Explained, seed: int, workers: Workers
) -> Iterator[Predictor]:
    """One for each fold; never on another machine, for what was learned would have to come back."""
    jobs = [(explained, fold, seed) for fold in folds]
    if workers.has_threads and explained.candidate.in_threads:
        return workers.run(_learned, jobs, in_threads=True)
    return (_learned(*job) for job in jobs)


def _learned(explained: Explained, fold: Fold, seed: int) -> Predictor:
    """By the rows that a fold learns from."""
    represented, candidate = explained.represented, explained.candidate
    train, goal = represented.of(fold)
    return learn(candidate, represented, train, goal, fold.train, fold.domains, seed)


def _costs_in_fold(
    explained: Explained,
    fold: Fold,
    predictor: Predictor,
    groups: Sequence[NDArray],
    rng: np.random.Generator,
) -> list[tuple[int, Floats]]:
    """For each held-out domain its number and (groups,) costs."""
    represented = explained.represented
    data = represented.data
    chosen = np.sort(rng.permutation(len(fold.held_out))[:MOST_ROWS])
    fold = replace(fold, held_out=fold.held_out[chosen])
    representation, placed = represented.in_fold(fold)
    parts = [domain.rows for domain in placed.domains]
    versions = [placed.inputs, *(_shuffled(placed.inputs, group, parts, rng) for group in groups)]
    told = [representation.apply(replace(placed, inputs=inputs)) for inputs in versions]
    quality = _quality(explained, predictor, told, data.labels[fold.held_out])
    is_class = data.classes is not None
    numbers = data.row_domains[fold.held_out]
    return [
        (int(numbers[part[0]]), _costs(quality[0][part], quality[1:, part], is_class))
        for part in parts
    ]


def _shuffled(
    inputs: NDArray, group: NDArray, parts: Sequence[NDArray], rng: np.random.Generator
) -> NDArray:
    """The inputs (rows, ...) with some columns in another order within every domain."""
    flat = np.array(inputs.reshape(len(inputs), -1))
    for part in parts:
        flat[np.ix_(part, group)] = flat[np.ix_(rng.permutation(part), group)]
    return flat.reshape(inputs.shape)


def _quality(
    explained: Explained, predictor: Predictor, told: Sequence[RepresentedRows], labels: NDArray
) -> Floats:
    """(versions, rows), of the right class the probability, of values the squared error."""
    every = RepresentedRows(
        *(np.concatenate([getattr(one, name) for one in told]) for name in PARTS)
    )
    predicted = predict_with(predictor, every)
    repeated = np.concatenate([labels] * len(told))
    if explained.represented.data.classes is None:
        errors = ((every.restore(predicted) - repeated) / _unit(explained)) ** 2
        return errors.mean(axis=1).reshape(len(told), -1)
    tempered = temper(predicted, explained.temperature, explained.smoothing)
    right: Floats = tempered[np.arange(len(repeated)), repeated]
    return right.reshape(len(told), -1)


def _unit(explained: Explained) -> Floats:
    """(outputs,) spread of the sources' values."""
    data = explained.represented.data
    spread = data.labels[data.row_counts].std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _costs(before: Floats, after: Floats, is_class: bool) -> Floats:
    """(groups,) of a domain's rows: `before` (rows,), `after` (groups, rows)."""
    if is_class:
        return before.mean() - after.mean(axis=1)
    base = max(float(np.sqrt(before.mean())), LEAST_ERROR)
    return np.sqrt(after.mean(axis=1)) / base - 1.0
