"""How well a classifier separates targets from sources in a representation.

Its AUC is 1/2 where the two coincide. What counts for a choice is by how much targets are easier to
separate than held-out sources were: so far, folds do not speak for the targets.
"""

from __future__ import annotations

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

TOLD_ROWS = 400
"""Of each side, at most, that a classifier is given; for time, not tuned."""

TOLD_FEATURES = 2048
"""Of more features, as large pictures have, so many are looked at, evenly spread; for time."""

STRICT_PARTS = 10
"""In which a two-sample test is cross-fitted; not tuned."""

LEAF_ROWS = 5
BOOSTING = {"max_iter": 25, "learning_rate": 0.2, "max_leaf_nodes": 8, "random_state": 0}
"""A small classifier, for time; a forest of 50 trees gives AUCs within a few hundredths."""

MOST_AUC = 0.995
"""Beyond which no sample of this size tells more."""


@dataclass(frozen=True)
class Separability:
    """Of a representation.

    Attributes
    ----------
    targets : AUC by which target rows are told from source rows
    held_out : AUC by which held-out sources are told from those learned from; near and far alike
    noise : standard error of the first where the two cannot be told apart
    """

    targets: float
    held_out: float
    noise: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether target rows cannot be told from source rows: a one-sided test at 5 %."""
        return self.targets <= 0.5 + norm.ppf(0.95) * self.noise

    @property
    def error(self) -> float:
        """Standard error of the first where it is (Hanley and McNeil), for sides of equal size."""
        if not self.noise:
            return 0.0
        n, auc = 1 / (6 * self.noise**2), self.targets
        pairs = auc / (2 - auc) + 2 * auc**2 / (1 + auc) - 2 * auc**2
        return float(np.sqrt(max(auc * (1 - auc) + (n - 1) * pairs, 0.0))) / n

    @property
    def gap(self) -> float:
        """Discriminability d' of targets beyond that of held-out sources, 0 where there is none."""
        return max(0.0, discriminability(self.targets) - discriminability(self.held_out))


def discriminability(auc: float) -> float:
    """d': the distance of two unit normals with that AUC."""
    return float(np.sqrt(2) * norm.ppf(np.clip(auc, 0.5, MOST_AUC)))


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
    n, m = len(first), len(second)
    noise = float(np.sqrt((n + m + 1) / (12 * n * m)))
    if any(fold.kind == "rows" for fold in folds):
        return Separability(strictest_auc(features[first], features[second]), 0.5, noise)
    told = two_sample_auc(features[first], features[second])
    by_kind = []
    for kind in ("near", "far"):
        chosen = [fold for fold in folds if fold.kind == kind][:most_folds]
        if chosen:
            by_kind.append(np.mean([_told_in(represented, fold, rng) for fold in chosen]))
    return Separability(told, float(np.mean(by_kind)), noise)


def two_sample_auc(
    first: Floats, second: Floats, teller: ClassifierMixin | None = None, n_parts: int = 2
) -> float:
    """Cross-fitted AUC by which rows (n, p) of two groups are told apart; 1/2 if there are few."""
    side = np.repeat([0, 1], [len(first), len(second)])
    if min(len(first), len(second)) < n_parts * LEAF_ROWS:
        return 0.5
    if teller is None:
        teller = HistGradientBoostingClassifier(min_samples_leaf=LEAF_ROWS, **BOOSTING)
    rows, scores = _thinned(np.concatenate([first, second])), np.empty(len(side))
    parts = StratifiedKFold(n_parts, shuffle=True, random_state=0).split(rows, side)
    for train, test in parts:
        with on_this_machine():
            fitted = clone(teller).fit(rows[train], side[train])
            scores[test] = fitted.predict_proba(rows[test])[:, 1]
    return float(roc_auc_score(side, scores))


def _thinned(rows: Floats) -> Floats:
    """Rows with at most `TOLD_FEATURES` of their features."""
    n_features = rows.shape[1]
    if n_features <= TOLD_FEATURES:
        return rows
    return rows[:, np.linspace(0, n_features - 1, TOLD_FEATURES).round().astype(np.int64)]


def strictest_auc(first: Floats, second: Floats) -> float:
    """The largest AUC of several classifiers in ten parts, where much hangs on a single test."""
    tellers = [
        HistGradientBoostingClassifier(min_samples_leaf=LEAF_ROWS, **BOOSTING),
        ExtraTreesClassifier(100, min_samples_leaf=LEAF_ROWS, random_state=0),
        make_pipeline(StandardScaler(), KNeighborsClassifier(LEAF_ROWS**2)),
    ]
    return max(two_sample_auc(first, second, teller, STRICT_PARTS) for teller in tellers)


def _told_in(represented: RepresentedFolds, fold: Fold, rng: np.random.Generator) -> float:
    train, held_out = represented.of(fold)
    numbers = represented.data.row_domains
    first = _sample(np.arange(len(fold.train)), numbers[fold.train], rng)
    second = _sample(np.arange(len(fold.held_out)), numbers[fold.held_out], rng)
    return two_sample_auc(train.features[first], held_out.features[second])


def _sample(rows: Ints, domains: Ints, rng: np.random.Generator) -> Ints:
    """At most `TOLD_ROWS` of the rows, as many from every domain; `domains` is indexed by row."""
    shuffled = rng.permutation(rows)
    _, place, counts = np.unique(domains[shuffled], return_inverse=True, return_counts=True)
    order = np.argsort(place, kind="stable")
    rank = np.empty(len(shuffled), dtype=np.int64)
    rank[order] = np.arange(len(shuffled)) - np.repeat(np.cumsum(counts) - counts, counts)
    return shuffled[np.argsort(rank, kind="stable")[:TOLD_ROWS]]
