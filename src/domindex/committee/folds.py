"""Source domains held out in turn, near and far along the map, and how predictions are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.model_selection import GroupKFold, KFold

from domindex.arrays import Floats, Ints
from domindex.committee.settings import ChoiceSettings
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.neighbors import PointDistances
from domindex.inputs import DomainData
from domindex.representations import PlacedRows, Representation, RepresentedRows
from domindex.representations.base import DomainRows
from domindex.representations.map_rows import balancing_weights

FoldKind = Literal["near", "far", "rows"]


@dataclass(frozen=True, eq=False)
class Fold:
    """Some sources to learn from, and others, in the role of targets, to predict."""

    kind: FoldKind
    train: Ints  # numbers of rows to learn from
    held_out: Ints  # numbers of rows to predict
    domains: Ints  # (held-out domains,) their numbers
    distance: Floats  # of each, on the map, to the nearest that is learned from


def plan_folds(
    data: DomainData,
    distances: PointDistances,
    target_rows: list[Ints] | None,
    settings: ChoiceSettings,
    seed: int,
) -> list[Fold]:
    """Near folds: groups of sources, each predicted from the others. Far folds: a source predicted
    from the half of the other sources that lies farthest from it. Both are spread over the map.

    `target_rows` says which rows of a domain resemble those of targets, where sources hold more.
    Two sources have near folds only; one has folds of its rows.
    """
    rng = np.random.default_rng(seed)
    sources = np.unique(data.row_domains[data.row_counts])
    if len(sources) == 1:
        return _row_folds(data, sources, settings, rng)
    every = data.rows_by_domain()
    counting = [rows[data.row_counts[rows]] for rows in every]

    like_targets = counting
    if target_rows is not None:
        alike = [
            np.intersect1d(rows[some], counted)
            for rows, some, counted in zip(every, target_rows, counting)
        ]
        like_targets = [some if len(some) else rows for some, rows in zip(alike, counting)]

    def make(kind: FoldKind, train: Ints, held_out: Ints) -> Fold:
        held_out = np.sort(held_out)
        most = max(1, settings.max_held_out_rows // len(held_out))
        to_predict = np.concatenate([_some(like_targets[k], most, rng) for k in held_out])
        known = np.concatenate([counting[k] for k in train])
        known = _some(known, settings.max_train_rows, rng)
        distance = distances.to_nearest(held_out, train)
        return Fold(kind, known, to_predict, held_out, distance)

    targets = np.setdiff1d(np.arange(data.n_domains), sources)
    spread = spread_out(sources, targets if len(targets) else sources, distances)
    groups = [spread[first :: settings.near_folds] for first in range(settings.near_folds)]
    folds = [make("near", np.setdiff1d(sources, one), one) for one in groups if len(one)]
    if len(sources) > 2:
        for held_out in spread[: settings.far_folds]:
            others = np.setdiff1d(sources, [held_out])
            order = others[np.argsort(-distances.row(held_out)[others], kind="stable")]
            folds.append(make("far", order[: (len(order) + 1) // 2], np.array([held_out])))
    return folds


def spread_out(sources: Ints, targets: Ints, distances: PointDistances) -> Ints:
    """The sources, the one nearest to a target first, then always the one farthest from all before:
    the first few of them are spread over the map, and so is every so manieth."""
    left = distances.to_nearest(sources, targets)
    first = int(left.argmin())
    order, gaps = [first], distances.row(sources[first])[sources]
    while len(order) < len(sources):
        gaps[order[-1]] = -1.0
        order.append(int(gaps.argmax()))
        gaps = np.minimum(gaps, distances.row(sources[order[-1]])[sources])
    return sources[order]


def _row_folds(
    data: DomainData, sources: Ints, settings: ChoiceSettings, rng: np.random.Generator
) -> list[Fold]:
    counting = np.flatnonzero(data.row_counts & (data.row_domains == sources[0]))
    rows = _some(counting, settings.max_train_rows, rng)
    parts = [(rows, rows)]
    if len(rows) > 1:
        split = KFold(min(5, len(rows)), shuffle=True, random_state=0).split(rows)
        parts = [(rows[train], rows[test]) for train, test in split]
    return [Fold("rows", train, test, sources, np.zeros(1)) for train, test in parts]


def _some(rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    return rows if len(rows) <= most else np.sort(rng.permutation(rows)[:most])


def held_out_folds(domains: Ints, most: int) -> list[Ints]:
    """Rows to hold out in turn: by domain, at most so many times, or, of one domain, by rows."""
    n_folds = min(len(np.unique(domains)), most)
    if n_folds > 1:
        return [test for _, test in GroupKFold(n_folds).split(domains, groups=domains)]
    if len(domains) > 1:
        return [test for _, test in KFold(min(5, len(domains))).split(domains)]
    return [np.array([0]), np.array([0])]  # nothing else to learn from


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows that are predicted by what never saw their domains, in the order of the folds: twice
    where a domain is held out in a near and in a far one."""

    folds: tuple[Fold, ...]  # the folds
    labels: NDArray  # (n,) classes or (n, outputs) values
    domains: Ints  # (n,) numbers of domains
    parts: Ints  # (n,) numbers of pairs of a domain and a kind of fold
    is_far: NDArray[np.bool_]  # (parts,) whether the fold is a far one
    part_domains: Ints  # (parts,) the domain of each
    part_distances: Floats  # (parts,) how far the domain lay from what was learned from
    part_weights: Floats  # (parts,) summing to 1: near and far count alike, and domains within them
    unit: Floats | None  # (outputs,) spread of the sources' values; None for classes
    n_classes: int | None  # None for values
    smoothing: float  # share of a probability that is spread over all classes

    @classmethod
    def of(cls, folds: Sequence[Fold], data: DomainData, smoothing: float) -> HeldOutRows:
        rows = np.concatenate([fold.held_out for fold in folds])
        kinds = np.concatenate([[fold.kind == "far"] * len(fold.held_out) for fold in folds])
        domains = data.row_domains[rows]
        pairs, parts = np.unique(np.stack([kinds, domains]), axis=1, return_inverse=True)
        distances = {
            (fold.kind == "far", domain): distance
            for fold in folds
            for domain, distance in zip(fold.domains, fold.distance)
        }
        unit = None
        if data.classes is None:
            spread = data.labels[data.row_counts].std(axis=0)
            unit = np.where(spread > 0, spread, 1.0)
        counts = np.bincount(pairs[0], minlength=2)
        weights = 1.0 / counts[pairs[0]] / (counts > 0).sum()
        return cls(
            tuple(folds),
            data.labels[rows],
            domains,
            parts.reshape(-1),
            pairs[0].astype(bool),
            pairs[1],
            np.array([distances[bool(far), domain] for far, domain in pairs.T]),
            weights,
            unit,
            None if data.classes is None else len(data.classes),
            smoothing,
        )

    @cached_property
    def row_weights(self) -> Floats:
        """(n,) summing to 1: parts as they are weighted, rows within them alike."""
        return (self.part_weights / np.bincount(self.parts))[self.parts]

    @property
    def by_rows(self) -> bool:
        """Whether there is a single source, and rows of it are held out, not domains."""
        return self.folds[0].kind == "rows"

    def losses(self, predicted: Floats) -> Floats:
        """(..., n) of predictions (..., n, columns): logarithmic, or squared in units of spread."""
        if self.unit is None:
            taken = np.take_along_axis(
                predicted, np.broadcast_to(self.labels[:, None], (*predicted.shape[:-1], 1)), -1
            )[..., 0]
            return -np.log(np.maximum(taken, 1e-12))  # finite; smoothing leaves nothing that small
        return (((predicted - self.labels) / self.unit) ** 2).mean(axis=-1)

    def by_part(self, of_rows: Floats) -> Floats:
        """(parts,) means of something that every row has, (n,)."""
        return np.bincount(self.parts, of_rows) / np.bincount(self.parts)

    def by_domain(self, of_parts: Floats) -> Floats:
        """(held-out domains,) means over near and far."""
        _, place = np.unique(self.part_domains, return_inverse=True)
        return np.bincount(place, of_parts) / np.bincount(place)

    def temperature(self, probabilities: Floats) -> float:
        """By which the logarithms of smoothed probabilities are divided at the least mean loss."""
        logs = np.log(smooth(probabilities, self.smoothing))

        def loss(log_temperature: float) -> float:
            tempered = softmax(logs / np.exp(log_temperature), axis=1)
            return float(self.row_weights @ self.losses(tempered))

        options = {"xatol": 0.02}
        found = minimize_scalar(loss, bounds=(-1.0, 2.5), method="bounded", options=options)
        return float(np.exp(found.x))


def smooth(probabilities: Floats, smoothing: float) -> Floats:
    """Probabilities (n, classes) of which a share is spread over all classes."""
    return (1 - smoothing) * probabilities + smoothing / probabilities.shape[1]


def temper(probabilities: Floats, temperature: float, smoothing: float) -> Floats:
    """Smoothed probabilities (n, classes), made softer above a temperature of 1."""
    return softmax(np.log(smooth(probabilities, smoothing)) / temperature, axis=1)


@dataclass(frozen=True, eq=False)
class RepresentedFolds:
    """A representation of all rows, and of any fold's: what depends on roles is learned anew there,
    and a held-out domain that is cut to rows like the targets' is measured by those rows alone."""

    data: DomainData
    geometry: DomainGeometry
    representation: Representation  # fitted on all data
    rows: RepresentedRows  # all rows in it
    is_cut: bool
    kept: dict[tuple, tuple[RepresentedRows, RepresentedRows]] = field(default_factory=dict)
    balanced: dict[tuple[bytes, bytes], Floats] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, kind: type[Representation], data: DomainData, geometry: DomainGeometry, is_cut: bool
    ) -> RepresentedFolds:
        representation = kind.fit(data, geometry)
        placed = PlacedRows.of_map(data, geometry.domain_map)
        return cls(data, geometry, representation, representation.apply(placed), is_cut)

    def of(self, fold: Fold) -> tuple[RepresentedRows, RepresentedRows]:
        """The rows to learn from, and those to predict, in the order of the fold."""
        if fold.kind == "rows" or not (self.is_cut or self.representation.uses_roles):
            return self.rows.part(fold.train), self.rows.part(fold.held_out)
        key = (fold.kind, *fold.domains.tolist())
        if key not in self.kept:  # it takes a while, and the next candidate asks again
            representation, held_out = self.in_fold(fold)
            train = self.rows.part(fold.train)
            if self.representation.uses_roles:
                train = representation.apply(self.placed(fold.train))
            self.kept[key] = train, representation.apply(held_out)
        return self.kept[key]

    def balancing(self, fold: Fold) -> Floats:
        """(n,) weights by which known rows look like those to predict; found once for all."""
        key = fold.train.tobytes(), fold.domains.tobytes()
        if key not in self.balanced:
            train, goal = (rows.features for rows in self.of(fold))
            self.balanced[key] = balancing_weights(train, goal) * len(train)
        return self.balanced[key]

    def in_fold(self, fold: Fold) -> tuple[Representation, PlacedRows]:
        """What represents the rows to predict in a fold, and those rows before it does."""
        if fold.kind == "rows" or not self.representation.uses_roles:
            as_new = self.is_cut and fold.kind != "rows"
            return self.representation, self.placed(fold.held_out, as_new=as_new)
        is_source = np.zeros(self.data.n_domains, dtype=bool)
        is_source[np.unique(self.data.row_domains[fold.train])] = True
        rows = np.concatenate([fold.train, fold.held_out])
        data = self.data.select(rows, is_source)
        representation = type(self.representation).fit(data, self.geometry)
        return representation, self.placed(fold.held_out)

    def placed(self, rows: Ints, as_new: bool = False) -> PlacedRows:
        """These rows before they are represented; `as_new` as from domains never seen."""
        numbers = self.data.row_domains[rows]
        places, angles = self.geometry.domain_map.coordinates, self.geometry.domain_map.index.angles
        domains, around = [], {}
        for number in np.unique(numbers):
            name = self.data.domains[number]
            known = ("held out", name) if as_new else name
            domains.append(DomainRows(known, np.flatnonzero(numbers == number), places[number]))
            if angles is not None:
                around[known] = float(angles[number])
        return PlacedRows(self.data.inputs[rows], tuple(domains), around or None)
