"""Source domains held out in turn, near and far along the map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from domindex.committee.choice_settings import ChoiceSettings
from domindex.data import DomainData
from domindex.geometry.point_distances import PointDistances

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
FoldKind = Literal["near", "far", "rows"]

ROW_FOLDS = 5
"""Of the rows of a single source; a common number, not tuned."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Some sources to learn from, and others, in the role of targets, to predict.

    Attributes
    ----------
    kind : "near" where the held-out domains are any; "far" where only the sources far from the
        held-out one are learned from; "rows" where there is a single source, and rows of it are
        held out
    train, held_out : row numbers
    distance : (held-out domains,) from each to the nearest that is learned from, on the map
    domains : (held-out domains,) their numbers
    n_learned_from : how many domains the rows to learn from come from
    """

    kind: FoldKind
    train: Numbers
    held_out: Numbers
    domains: Numbers
    distance: Floats
    n_learned_from: int = 1


def plan_folds(
    data: DomainData,
    distances: PointDistances,
    target_rows: list[Numbers] | None,
    settings: ChoiceSettings,
    seed: int,
) -> list[Fold]:
    """Near folds: groups of sources, each predicted from the others. Far folds: a source predicted
    from the half of the other sources that lies farthest from it.

    `distances` are those of the map. A held-out domain has the rows that targets
    would have: `target_rows` says which of its rows resemble theirs, where sources hold more.
    Two sources have near folds only; one has folds of its rows. Rows that count for nothing are in
    no fold.
    """
    rng = np.random.default_rng(seed)
    sources = np.unique(data.row_domains[data.row_counts])
    if len(sources) == 1:
        return _row_folds(data, sources, settings, rng)
    maker = _FoldMaker(data, distances, target_rows, settings, rng)
    groups = np.array_split(rng.permutation(sources), min(settings.near_folds, len(sources)))
    folds = [maker.make("near", np.setdiff1d(sources, group), group) for group in groups]
    if len(sources) > 2:
        for held_out in rng.permutation(sources)[: settings.far_folds]:
            others = np.setdiff1d(sources, [held_out])
            order = others[np.argsort(-distances.row(held_out)[others], kind="stable")]
            far = order[: (len(order) + 1) // 2]
            folds.append(maker.make("far", far, np.array([held_out])))
    return folds


@dataclass(frozen=True, eq=False)
class _FoldMaker:
    data: DomainData
    distances: PointDistances
    target_rows: list[Numbers] | None
    settings: ChoiceSettings
    rng: np.random.Generator

    def make(self, kind: FoldKind, train: Numbers, held_out: Numbers) -> Fold:
        held_out = np.sort(held_out)
        most = max(1, self.settings.most_held_out_rows // len(held_out))
        held_out_rows = [_some(self._like_targets(k), most, self.rng) for k in held_out]
        train_rows = np.concatenate([self.counting_rows[k] for k in train])
        return Fold(
            kind,
            _some(train_rows, self.settings.most_train_rows, self.rng),
            np.concatenate(held_out_rows),
            held_out,
            self.distances.to_nearest(held_out, train),
            len(train),
        )

    @cached_property
    def rows(self) -> list[Numbers]:
        """Of every domain."""
        return self.data.rows_by_domain()

    @cached_property
    def counting_rows(self) -> list[Numbers]:
        """Of every domain, those that count for something in learning."""
        counts = self.data.row_counts
        return [rows[counts[rows]] for rows in self.rows]

    def _like_targets(self, domain: int) -> Numbers:
        rows = self.counting_rows[domain]
        if self.target_rows is None:
            return rows
        alike = self.rows[domain][self.target_rows[domain]]
        kept = np.intersect1d(alike, rows)
        return kept if len(kept) else rows


def _counting_rows(data: DomainData, domain: int) -> Numbers:
    return np.flatnonzero(data.row_counts & (data.row_domains == domain))


def _row_folds(
    data: DomainData, sources: Numbers, settings: ChoiceSettings, rng: np.random.Generator
) -> list[Fold]:
    rows = _some(_counting_rows(data, sources[0]), settings.most_train_rows, rng)
    zero = np.zeros(1)
    if len(rows) == 1:
        return [Fold("rows", rows, rows, sources, zero)]
    parts = KFold(min(ROW_FOLDS, len(rows)), shuffle=True, random_state=0).split(rows)
    return [Fold("rows", rows[train], rows[test], sources, zero) for train, test in parts]


def _some(rows: Numbers, most: int, rng: np.random.Generator) -> Numbers:
    return rows if len(rows) <= most else np.sort(rng.permutation(rows)[:most])


def held_out_folds(domains: Numbers, most: int) -> list[Numbers]:
    """Rows to hold out in turn: by domain, at most so many times, or, of one domain, by rows.

    A single row is held out of itself: there is nothing else to learn from.
    """
    n_folds = min(len(np.unique(domains)), most)
    if n_folds > 1:
        return [test for _, test in GroupKFold(n_folds).split(domains, groups=domains)]
    if len(domains) > 1:
        return [test for _, test in KFold(min(ROW_FOLDS, len(domains))).split(domains)]
    return [np.array([0]), np.array([0])]
