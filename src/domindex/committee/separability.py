"""How well a classifier separates targets from sources in a representation.

Its AUC is 1/2 where the two coincide. What counts for a choice is by how much targets are easier to
separate than held-out sources were: so far, folds do not speak for the targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from sklearn.base import ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domindex.arrays import Floats, Ints
from domindex.cluster import on_this_machine
from domindex.committee.folds import Fold, RepresentedFolds


@dataclass(frozen=True)
class Separability:
    """Of a representation."""

    targets: float  # AUC by which target rows are separated from source rows
    held_out: float  # the same of held-out sources and those learned from, near and far
    noise: float = 0.0  # standard error of the first where the two cannot be separated

    @property
    def passes(self) -> bool:
        """Whether target rows cannot be separated from source rows: a one-sided test at 5 %."""
        return self.targets <= 0.5 + norm.ppf(0.95) * self.noise

    @property
    def gap(self) -> float:
        """Discriminability d' of targets beyond that of held-out sources, 0 where there is none."""
        return max(0.0, discriminability(self.targets) - discriminability(self.held_out))


def discriminability(auc: float) -> float:
    """d': the distance of two unit normals with that AUC; beyond 0.995 no sample says more."""
    return float(np.sqrt(2) * norm.ppf(np.clip(auc, 0.5, 0.995)))


def measure_separability(
    represented: RepresentedFolds, folds: tuple[Fold, ...], most_folds: int, seed: int
) -> Separability:
    """Classifiers on bounded samples of rows, domains alike, in so many folds of each kind."""
    rng = np.random.default_rng(seed)
    data, features = represented.data, represented.rows.features
    sources = np.flatnonzero(data.row_is_source)
    targets = np.flatnonzero(~data.row_is_source)
    first = _sample(sources, data.row_domains, rng)
    second = _sample(targets, data.row_domains, rng)
    noise = _noise(len(first), len(second))
    if any(fold.kind == "rows" for fold in folds):
        return Separability(strictest_auc(features[first], features[second]), 0.5, noise)
    of_targets = two_sample_auc(features[first], features[second])
    by_kind = []
    for kind in ("near", "far"):
        chosen = [fold for fold in folds if fold.kind == kind][:most_folds]
        if chosen:
            by_kind.append(np.mean([_held_out_auc(represented, fold, rng) for fold in chosen]))
    return Separability(of_targets, float(np.mean(by_kind)), noise)


def domain_aucs(
    represented: RepresentedFolds, folds: Sequence[Fold], seed: int
) -> tuple[dict[int, float], list[float]]:
    """By which each target is separated from the sources at least, by number, and each held-out
    source from those learned from, once a fold.

    At least: less what chance does to an AUC of so few rows in one case of twenty."""
    rng, numbers = np.random.default_rng(seed), represented.data.row_domains
    features, is_source = represented.rows.features, represented.data.row_is_source
    sources, targets = np.flatnonzero(is_source), np.flatnonzero(~is_source)
    first, second = (_sample(some, numbers, rng, 1500) for some in (sources, targets))
    found = _by_domain(features[first], features[second], numbers[second])
    rows = np.bincount(numbers[second], minlength=len(is_source))
    of_targets = {k: auc - norm.ppf(0.95) * _noise(len(first), rows[k]) for k, auc in found.items()}
    of_held_out: list[float] = []
    for fold in folds:
        train, held_out = represented.of(fold)
        first, second = _of_fold(fold, numbers, rng)
        domains = numbers[fold.held_out][second]
        of_held_out += _by_domain(
            train.features[first], held_out.features[second], domains
        ).values()
    return of_targets, of_held_out


def _noise(n: int, m: int) -> float:
    """The standard error of the AUC of so many rows that cannot be separated."""
    return float(np.sqrt((n + m + 1) / (12 * n * m)))


def _by_domain(first: Floats, second: Floats, domains: Ints) -> dict[int, float]:
    """The AUC of each domain of the second group."""
    scores = _cross_fitted(first, second, small_boosting(), n_parts=2)
    found = {}
    for domain in np.unique(domains) if scores is not None else ():
        assert scores is not None
        own = scores[len(first) :][domains == domain]
        side = np.repeat([0, 1], [len(first), len(own)])
        found[int(domain)] = float(roc_auc_score(side, np.concatenate([scores[: len(first)], own])))
    return found


def small_boosting() -> HistGradientBoostingClassifier:
    """For time; a forest of 50 trees gives AUCs within a few hundredths."""
    return HistGradientBoostingClassifier(
        max_iter=25, learning_rate=0.2, max_leaf_nodes=8, min_samples_leaf=5, random_state=0
    )


def two_sample_auc(
    first: Floats,
    second: Floats,
    classifier: ClassifierMixin | None = None,
    n_parts: int = 2,
    max_features: int = 2048,
) -> float:
    """Cross-fitted AUC by which rows (n, p) of two groups are separated; 1/2 if there are few.

    Of more features, as large pictures have, so many are looked at, evenly spread.
    """
    chosen = small_boosting() if classifier is None else classifier
    scores = _cross_fitted(first, second, chosen, n_parts, max_features)
    side = np.repeat([0, 1], [len(first), len(second)])
    return 0.5 if scores is None else float(roc_auc_score(side, scores))


def _cross_fitted(
    first: Floats,
    second: Floats,
    classifier: ClassifierMixin,
    n_parts: int,
    max_features: int = 2048,
) -> Floats | None:
    """(n,) how much every row looks like the second group; None if there are few."""
    side = np.repeat([0, 1], [len(first), len(second)])
    if min(len(first), len(second)) < 5 * n_parts:
        return None
    rows, scores = np.concatenate([first, second]), np.empty(len(side))
    if rows.shape[1] > max_features:
        chosen = np.linspace(0, rows.shape[1] - 1, max_features).round().astype(np.int64)
        rows = rows[:, chosen]
    parts = StratifiedKFold(n_parts, shuffle=True, random_state=0).split(rows, side)
    for train, test in parts:
        with on_this_machine():
            fitted = clone(classifier).fit(rows[train], side[train])
            scores[test] = fitted.predict_proba(rows[test])[:, 1]
    return scores


def strictest_auc(first: Floats, second: Floats) -> float:
    """The largest AUC of several classifiers in ten parts, where much hangs on a single test."""
    classifiers = [
        small_boosting(),
        ExtraTreesClassifier(100, min_samples_leaf=5, random_state=0),
        make_pipeline(StandardScaler(), KNeighborsClassifier(25)),
    ]
    return max(two_sample_auc(first, second, one, n_parts=10) for one in classifiers)


def _held_out_auc(represented: RepresentedFolds, fold: Fold, rng: np.random.Generator) -> float:
    train, held_out = represented.of(fold)
    first, second = _of_fold(fold, represented.data.row_domains, rng)
    return two_sample_auc(train.features[first], held_out.features[second])


def _of_fold(fold: Fold, numbers: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Some of the rows that a fold learns from, and of those that it predicts."""
    first = _sample(np.arange(len(fold.train)), numbers[fold.train], rng)
    return first, _sample(np.arange(len(fold.held_out)), numbers[fold.held_out], rng)


def _sample(rows: Ints, domains: Ints, rng: np.random.Generator, max_rows: int = 400) -> Ints:
    """Some of the rows, as many from every domain; `domains` is indexed by row."""
    shuffled = rng.permutation(rows)
    _, place, counts = np.unique(domains[shuffled], return_inverse=True, return_counts=True)
    order = np.argsort(place, kind="stable")
    rank = np.empty(len(shuffled), dtype=np.int64)
    rank[order] = np.arange(len(shuffled)) - np.repeat(np.cumsum(counts) - counts, counts)
    return shuffled[np.argsort(rank, kind="stable")[:max_rows]]
