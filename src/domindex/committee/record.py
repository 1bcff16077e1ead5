"""What a fit leaves for those who want to understand it: figures and counts, no rows. Quality
flatters a little: the weights were chosen on the same held-out rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from domindex.arrays import Floats, Ints
from domindex.committee.candidates import Trial, learn, predict_with
from domindex.committee.context import Workers
from domindex.committee.folds import Fold, HeldOutRows, RepresentedFolds, temper
from domindex.committee.learners.base import Predictor
from domindex.inputs import DomainData
from domindex.inputs.profiles import ColumnProfile, max_profiles
from domindex.persistence.saved import Saved
from domindex.representations import RepresentedRows


@dataclass(frozen=True, eq=False)
class HeldOutRecord(Saved):
    """Quality on held-out sources: scores are accuracy, or root mean squared error in the unit of a
    single output (several: in units of their spread)."""

    domains: NDArray[np.int64]  # (held out,) numbers of domains
    scores: Floats  # (held out,) of the committee
    plain_scores: Floats  # (held out,) of the best plain candidate
    plain: str  # its name; "" where none was tried, and then `plain_scores` repeat `scores`
    by_rows: bool  # whether there was one source, and rows of it were held out
    figures: Mapping[str, float]  # accuracy, log_loss, brier, auc, or rmse, mae, bias, r2
    plain_figures: Mapping[str, float]
    calibration: Floats  # (bins, 3) mean predicted, mean found, share of rows; see `_calibration`
    confusion: Floats  # (classes, classes) shares by true and predicted class; empty for many
    residuals: Floats  # (bins, 3) from, to, share of rows; empty for classes
    coverage: Floats  # (levels, 2) what intervals should hold and held; empty for classes

    @classmethod
    def of(
        cls, predicted: Floats, deviation: Floats | None, trials: Sequence[Trial], rows: HeldOutRows
    ) -> HeldOutRecord:
        """From the committee's predictions (n, columns) of held-out rows, and all trials."""
        plain = [trial for trial in trials if trial.candidate.is_plain]
        best = min(plain, key=lambda trial: trial.loss(rows)) if plain else None
        compared = predicted if best is None else best.predicted
        is_class = rows.n_classes is not None
        return cls(
            domains=np.unique(rows.part_domains),
            scores=_scores(predicted, rows),
            plain_scores=_scores(compared, rows),
            plain="" if best is None else best.candidate.name,
            by_rows=rows.by_rows,
            figures=_figures(predicted, rows),
            plain_figures={} if best is None else _figures(compared, rows),
            calibration=_calibration(predicted, rows),
            confusion=_confusion(predicted, rows),
            residuals=np.empty((0, 3)) if is_class else _residuals(predicted, rows),
            coverage=_coverage(predicted, deviation, rows),
        )

    def in_order(self, order: Ints) -> HeldOutRecord:
        """The same record with domains in the order of these numbers."""
        numbers = np.argsort(order)[self.domains]
        rising = np.argsort(numbers)
        scores, plain = self.scores[rising], self.plain_scores[rising]
        return replace(self, domains=numbers[rising], scores=scores, plain_scores=plain)

    def _check_state(self) -> None:
        if {self.scores.shape, self.plain_scores.shape} != {self.domains.shape}:
            raise ValueError("the scores do not fit the held-out domains")
        curves = (self.calibration, self.residuals, self.coverage)
        if [curve.shape[1:] for curve in curves] != [(3,), (3,), (2,)]:
            raise ValueError("the curves of held-out quality are not usable")


def _scores(predicted: Floats, rows: HeldOutRows) -> Floats:
    """(held-out domains,), near and far alike."""
    if rows.n_classes is not None:
        right = (predicted.argmax(axis=1) == rows.labels).astype(np.float64)
        return rows.by_domain(rows.by_part(right))
    assert rows.unit is not None
    unit = float(rows.unit[0]) if len(rows.unit) == 1 else 1.0
    return unit * np.sqrt(rows.by_domain(rows.by_part(rows.losses(predicted))))


def _figures(predicted: Floats, rows: HeldOutRows) -> dict[str, float]:
    """Means over rows as they are weighed: domains count alike."""
    weights, n = rows.row_weights, rows.n_classes
    if n is None:
        assert rows.unit is not None
        scale = rows.unit if len(rows.unit) > 1 else np.ones(1)
        labels, residuals = rows.labels / scale, (predicted - rows.labels) / scale
        spread = float((weights @ (labels - weights @ labels) ** 2).mean())
        error = float((weights @ residuals**2).mean())
        figures = {
            "rmse": float(np.sqrt(error)),
            "mae": float((weights @ np.abs(residuals)).mean()),
            "bias": float((weights @ residuals).mean()),
        }
        return figures | ({"r2": 1.0 - error / spread} if spread > 0 else {})
    truth = np.eye(n)[rows.labels]
    figures = {
        "accuracy": float(weights @ (predicted.argmax(axis=1) == rows.labels)),
        "log_loss": float(weights @ rows.losses(predicted)),
        "brier": float(weights @ ((predicted - truth) ** 2).sum(axis=1)) / (1 + (n == 2)),
    }
    areas = [
        roc_auc_score(truth[:, k], predicted[:, k], sample_weight=weights)
        for k in range(n)
        if 0 < truth[:, k].sum() < len(truth)
    ]
    return figures | ({"auc": float(np.mean(areas))} if areas else {})


def _calibration(
    predicted: Floats, rows: HeldOutRows, n_bins: int = 10, min_rows: int = 5
) -> Floats:
    """(bins, 3) of equal width for the second of two classes, or the confidence in more, of equal
    rows for the first output. A bin of few rows is not shown: it would be chance."""
    shares = np.linspace(0, 1, n_bins + 1)[1:-1]
    if rows.n_classes is None:
        said, found = predicted[:, 0], rows.labels[:, 0].astype(np.float64)
        edges = np.quantile(said, shares)
    else:
        said, found = predicted.max(axis=1), predicted.argmax(axis=1) == rows.labels
        if rows.n_classes == 2:
            said, found = predicted[:, 1], rows.labels == 1
        edges = shares
    bins, weights = np.digitize(said, edges), rows.row_weights
    mass = np.bincount(bins, weights)
    kept = (np.bincount(bins) >= min_rows) & (mass > 0)
    safe = np.where(mass > 0, mass, 1.0)
    means = [np.bincount(bins, weights * values) / safe for values in (said, found)]
    return np.stack([*means, mass], axis=1)[kept]


def _confusion(predicted: Floats, rows: HeldOutRows, max_classes: int = 12) -> Floats:
    """Empty for values, and for more classes than are legible."""
    if rows.n_classes is None or rows.n_classes > max_classes:
        return np.empty((0, 2))
    table = np.zeros((rows.n_classes, rows.n_classes))
    np.add.at(table, (rows.labels, predicted.argmax(axis=1)), rows.row_weights)
    total = table.sum(axis=1, keepdims=True)
    return table / np.where(total > 0, total, 1.0)


def _residuals(predicted: Floats, rows: HeldOutRows, n_bins: int = 15) -> Floats:
    """(bins, 3) of predicted minus true, the first output; the ends hold all that lies beyond."""
    residuals = predicted[:, 0] - rows.labels[:, 0]
    farthest = float(np.quantile(np.abs(residuals), 0.98)) or 1.0
    edges = np.linspace(-farthest, farthest, n_bins + 1)
    bins = np.clip(np.digitize(residuals, edges) - 1, 0, n_bins - 1)
    shares = np.bincount(bins, rows.row_weights, minlength=n_bins)
    return np.stack([edges[:-1], edges[1:], shares], axis=1)


def _coverage(predicted: Floats, deviation: Floats | None, rows: HeldOutRows) -> Floats:
    """(levels, 2), mean over outputs; empty for classes."""
    if deviation is None:
        return np.empty((0, 2))
    levels = np.array([0.5, 0.8, 0.9, 0.95])
    apart = np.abs(predicted - rows.labels) / deviation
    held = [float((rows.row_weights @ (apart <= norm.ppf((1 + p) / 2))).mean()) for p in levels]
    return np.stack([levels, np.array(held)], axis=1)


@dataclass(frozen=True, eq=False)
class Explained:
    """What column importance is measured on: the heaviest candidate that needs no network."""

    trial: Trial
    represented: RepresentedFolds  # rows in its representation, in any fold
    rows: HeldOutRows  # those on which it was validated

    def importance(self, groups: Sequence[NDArray], seed: int, workers: Workers) -> Floats:
        """(groups, 2), mean and standard error over held-out domains of what shuffling costs: of
        the right class's probability, or the share by which the root mean squared error rises.

        Columns of a group are shuffled together, among the rows of a domain, which stays what it
        is. At most four folds are looked at.
        """
        rng = np.random.default_rng(seed)
        by_domain: dict[int, list[Floats]] = {}
        near = [fold for fold in self.rows.folds if fold.kind != "far"][:4]
        jobs = [(self.trial.candidate, self.represented, fold, seed) for fold in near]
        predictors: Iterator[Predictor] = starmap(learn, jobs)
        if workers.has_threads and self.trial.candidate.in_threads:  # else they had to come back
            predictors = workers.run(learn, jobs, in_threads=True)
        for fold, predictor in zip(near, predictors):
            for domain, costs in self._costs(fold, predictor, groups, rng):
                by_domain.setdefault(domain, []).append(costs)
        costs = np.stack([np.mean(parts, axis=0) for parts in by_domain.values()])
        error = costs.std(axis=0, ddof=1) / np.sqrt(len(costs)) if len(costs) > 1 else 0 * costs[0]
        return np.stack([costs.mean(axis=0), error], axis=1)

    def _costs(
        self, fold: Fold, predictor: Predictor, groups: Sequence[NDArray], rng: np.random.Generator
    ) -> Iterator[tuple[int, Floats]]:
        """For each held-out domain its number and (groups,) costs, from 200 rows at most."""
        data, unit = self.represented.data, self.rows.unit
        chosen = np.sort(rng.permutation(len(fold.held_out))[:200])
        fold = replace(fold, held_out=fold.held_out[chosen])
        representation, placed = self.represented.in_fold(fold)
        parts = [domain.rows for domain in placed.domains]
        versions = [representation.apply(placed)]
        for group in groups:
            flat = np.array(placed.inputs.reshape(len(placed.inputs), -1))
            for part in parts:
                flat[np.ix_(part, group)] = flat[np.ix_(rng.permutation(part), group)]
            shuffled = replace(placed, inputs=flat.reshape(placed.inputs.shape))
            versions.append(representation.apply(shuffled))
        names = ("features", "level", "spread")
        every = (np.concatenate([getattr(one, name) for one in versions]) for name in names)
        rows = RepresentedRows(*every)
        predicted = predict_with(predictor, rows)
        labels = np.concatenate([data.labels[fold.held_out]] * len(versions))
        if unit is None:
            tempered = temper(predicted, self.trial.temperature, self.rows.smoothing)
            quality = tempered[np.arange(len(labels)), labels]
        else:
            quality = (((rows.restore(predicted) - labels) / unit) ** 2).mean(axis=1)
        quality = quality.reshape(len(versions), -1)
        for part in parts:
            before, after = quality[0][part].mean(), quality[1:, part].mean(axis=1)
            cost = before - after
            if unit is not None:  # a share of the error, which is finite
                cost = np.sqrt(after) / max(float(np.sqrt(before)), 1e-12) - 1.0
            yield int(data.row_domains[fold.held_out[part[0]]]), cost


@dataclass(frozen=True, eq=False)
class FitRecord(Saved):
    """How good it was on held-out sources, what it rests on, and what the domains look like."""

    rows: NDArray[np.int64]  # (domains of the fit,) how many each has
    held_out: HeldOutRecord | None  # None where no source was held out
    importance: pd.DataFrame  # column, importance, standard_error; empty where rows are pictures or
    # signals, or nothing but a network predicts
    profiles: tuple[ColumnProfile, ...]  # of the columns of the inputs; empty without a table

    @classmethod
    def of(
        cls,
        held_out: HeldOutRecord | None,
        explained: Explained | None,
        data: DomainData,
        names: Sequence[Hashable] | None,
        seed: int,
        workers: Workers,
        max_groups: int = 60,
    ) -> FitRecord:
        """`names` are those of the columns; None where the inputs are no columns of the user's."""
        is_table = data.inputs.ndim == 2 and not data.layout.is_grid
        labels: list[str] = []
        profiles: tuple[ColumnProfile, ...] = ()
        measured = np.empty((0, 2))
        if names is not None and is_table and len(names) == data.inputs.shape[1]:
            texts = [str(name) for name in names]
            places = data.column_places
            of_domains = (data.row_domains, data.n_domains)
            profiles = profile_features(data.inputs[:, places], texts, *of_domains)
            if explained is not None:
                groups = column_groups(texts)[:max_groups]
                labels = [label for label, _ in groups]
                measured = explained.importance([places[one] for _, one in groups], seed, workers)
        importance = pd.DataFrame(
            {
                "column": pd.Series(labels, dtype=object),
                "importance": measured[:, 0],
                "standard_error": measured[:, 1],
            }
        ).sort_values("importance", ascending=False, kind="stable", ignore_index=True)
        return cls(data.domain_sizes, held_out, importance, profiles)

    def in_order(self, order: Ints) -> FitRecord:
        """The same record with domains in the order of these numbers."""
        profiles = tuple(
            replace(one, counts=one.counts[order], missing=one.missing[order])
            for one in self.profiles
        )
        held_out = None if self.held_out is None else self.held_out.in_order(order)
        return replace(self, rows=self.rows[order], profiles=profiles, held_out=held_out)

    def _check_state(self) -> None:
        if any(len(one.counts) != len(self.rows) for one in self.profiles):
            raise ValueError("the profiles do not fit the domains")
        domains = np.empty(0) if self.held_out is None else self.held_out.domains
        if (domains < 0).any() or (domains >= len(self.rows)).any():
            raise ValueError("the held-out domains are not among the domains")
        if list(self.importance.columns) != ["column", "importance", "standard_error"]:
            raise ValueError("the importance of columns is not usable")


def column_groups(names: Sequence[str]) -> list[tuple[str, NDArray[np.int64]]]:
    """Labels and numbers of columns that belong together: "kind=a", "kind=b" and, of all rare
    categories, "kind (others)" are one, "kind"; so are "age" and "age (missing)"."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for number, name in enumerate(names):
        label, equals, level = name.partition("=")
        is_level = bool(equals and label and level)
        pooled = name.removesuffix(" (others)")
        if pooled != name and (pooled, True) in groups:
            label, is_level = pooled, True
        marked = name.removesuffix(" (missing)")
        if marked != name and (marked, False) in groups:
            name, is_level = marked, False
        groups.setdefault((label if is_level else name, is_level), []).append(number)
    return [(label, np.array(columns)) for (label, _), columns in groups.items()]


def profile_features(
    inputs: NDArray, names: Sequence[str], row_domains: NDArray, n_domains: int
) -> tuple[ColumnProfile, ...]:
    """A profile for each column of the user's, whose categories are one column again."""
    found: list[ColumnProfile] = []
    for label, columns in column_groups(names):
        values = np.asarray(inputs[:, columns], dtype=np.float64)
        of_domains = (row_domains, n_domains)
        named = [names[column] for column in columns]
        levels = [name.removeprefix(f"{label}=") for name in named if name.startswith(f"{label}=")]
        # Of categories most rows have a 1 in one feature; a rare one may have shares in all.
        plain = np.isin(values, (0.0, 1.0)).all(axis=1)
        shares = (values >= 0.0).all() and (values.sum(axis=1) <= 1.0 + 1e-9).all()
        if levels and shares and plain.mean() >= 0.5:
            is_one = values[:, : len(levels)] == 1.0
            codes = np.where(is_one.any(axis=1), is_one.argmax(axis=1), len(levels))
            every = np.ones(len(codes), dtype=bool)
            found.append(ColumnProfile.of_categories(label, levels, codes, every, *of_domains))
        elif len(named) == 2 and named[1] == f"{label} (missing)":
            known = np.where(values[:, 1] == 0.0, values[:, 0], np.nan)
            found.append(ColumnProfile.of_numbers(label, known, *of_domains))
        else:
            pairs = zip(named, values.T)
            found += [ColumnProfile.of_numbers(name, one, *of_domains) for name, one in pairs]
    return tuple(found[: max_profiles(n_domains)])
