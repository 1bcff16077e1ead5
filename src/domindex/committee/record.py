"""What a fit leaves for those who want to understand it: figures and counts, no rows.

Quality comes from the folds on which the candidates were weighed, so it costs nothing, and flatters
a little: the weights were chosen on the same rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from domindex.arrays import Floats
from domindex.committee.candidates import Candidate, Trial, learn, predict_with
from domindex.committee.folds import Fold, HeldOutRows, RepresentedFolds, temper
from domindex.committee.learners.base import Predictor
from domindex.committee.parallel import Workers
from domindex.inputs import DomainData
from domindex.inputs.profiles import ColumnProfile, max_profiles
from domindex.persistence.saved import Saved
from domindex.representations import RepresentedRows


@dataclass(frozen=True, eq=False)
class HeldOutRecord(Saved):
    """Quality on held-out sources; a domain held out near and far counts for both.

    Scores are accuracy, or root mean squared error in the unit of a single output (several: in
    units of their spread). Figures are log_loss, brier and auc, or rmse, mae, r2 and bias, where
    they can be computed.
    """

    domains: NDArray[np.int64]  # (held out,) numbers of domains
    scores: Floats  # (held out,) of the committee
    plain_scores: Floats  # (held out,) of the best plain candidate
    plain: str  # its name; "" where none was tried, and then `plain_scores` repeat `scores`
    by_rows: bool  # whether there was one source, and rows of it were held out
    figures: Mapping[str, float]
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
            confusion=_confusion(predicted, rows) if is_class else np.empty((0, 2)),
            residuals=np.empty((0, 3)) if is_class else _residuals(predicted, rows),
            coverage=_coverage(predicted, deviation, rows),
        )

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
    weights = rows.row_weights
    if rows.n_classes is None:
        return _value_figures(predicted, rows)
    n = rows.n_classes
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


def _value_figures(predicted: Floats, rows: HeldOutRows) -> dict[str, float]:
    weights, unit = rows.row_weights, rows.unit
    assert unit is not None
    scale = unit if len(unit) > 1 else np.ones(1)
    residuals = (predicted - rows.labels) / scale
    mean = weights @ (rows.labels / scale)
    spread = float((weights @ (rows.labels / scale - mean) ** 2).mean())
    error = float((weights @ residuals**2).mean())
    figures = {
        "rmse": float(np.sqrt(error)),
        "mae": float((weights @ np.abs(residuals)).mean()),
        "bias": float((weights @ residuals).mean()),
    }
    return figures | ({"r2": 1.0 - error / spread} if spread > 0 else {})


def _calibration(
    predicted: Floats, rows: HeldOutRows, n_bins: int = 10, min_rows: int = 5
) -> Floats:
    """(bins, 3), bins of equal width for probabilities, of equal rows for values.

    For two classes of the second one's probability, for more of the confidence and whether it was
    right; of values the first output. A bin of few rows is not shown: it would be chance.
    """
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
    """Empty for more classes than are legible."""
    assert rows.n_classes is not None
    if rows.n_classes > max_classes:
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

    candidate: Candidate
    temperature: float  # by which its probabilities are softened
    represented: RepresentedFolds  # rows in its representation, in any fold
    folds: tuple[Fold, ...]  # those on which it was validated
    smoothing: float  # share of a probability that is spread over all classes


def column_importance(
    explained: Explained,
    groups: Sequence[NDArray],
    seed: int,
    workers: Workers,
    max_folds: int = 4,
) -> Floats:
    """(groups, 2), mean and standard error over held-out domains of what shuffling costs.

    Columns of a group are shuffled together, among the rows of a domain, so that what a domain is
    like stays as it is. The cost is probability of the right class, or the rise of the root mean
    squared error as a share of it. `groups` hold numbers of columns.
    """
    rng = np.random.default_rng(seed)
    by_domain: dict[int, list[Floats]] = {}
    near = [fold for fold in explained.folds if fold.kind != "far"][:max_folds]
    candidate, known = explained.candidate, explained.represented
    jobs = [(candidate, known, *known.of(fold), fold.train, fold.domains, seed) for fold in near]
    predictors: Iterator[Predictor] = starmap(learn, jobs)
    if workers.has_threads and candidate.in_threads:  # predictors would have to come back
        predictors = workers.run(learn, jobs, in_threads=True)
    for fold, predictor in zip(near, predictors):
        for domain, costs in _costs_in_fold(explained, fold, predictor, groups, rng):
            by_domain.setdefault(domain, []).append(costs)
    costs = np.stack([np.mean(parts, axis=0) for parts in by_domain.values()])
    error = costs.std(axis=0, ddof=1) / np.sqrt(len(costs)) if len(costs) > 1 else 0 * costs[0]
    return np.stack([costs.mean(axis=0), error], axis=1)


def _costs_in_fold(
    explained: Explained,
    fold: Fold,
    predictor: Predictor,
    groups: Sequence[NDArray],
    rng: np.random.Generator,
    max_rows: int = 200,
) -> list[tuple[int, Floats]]:
    """For each held-out domain its number and (groups,) costs."""
    represented = explained.represented
    data = represented.data
    chosen = np.sort(rng.permutation(len(fold.held_out))[:max_rows])
    fold = replace(fold, held_out=fold.held_out[chosen])
    representation, placed = represented.in_fold(fold)
    parts = [domain.rows for domain in placed.domains]
    versions = [placed.inputs]
    for group in groups:
        flat = np.array(placed.inputs.reshape(len(placed.inputs), -1))
        for part in parts:
            flat[np.ix_(part, group)] = flat[np.ix_(rng.permutation(part), group)]
        versions.append(flat.reshape(placed.inputs.shape))
    applied = [representation.apply(replace(placed, inputs=inputs)) for inputs in versions]
    quality = _quality(explained, predictor, applied, data.labels[fold.held_out])
    numbers = data.row_domains[fold.held_out]
    costs = []
    for part in parts:
        before, after = quality[0][part], quality[1:, part]
        if data.classes is not None:
            cost = before.mean() - after.mean(axis=1)
        else:
            base = max(float(np.sqrt(before.mean())), 1e-12)  # a share of it is finite
            cost = np.sqrt(after.mean(axis=1)) / base - 1.0
        costs.append((int(numbers[part[0]]), cost))
    return costs


def _quality(
    explained: Explained, predictor: Predictor, versions: Sequence[RepresentedRows], labels: NDArray
) -> Floats:
    """(versions, rows), of the right class the probability, of values the squared error."""
    names = ("features", "level", "spread")
    every = RepresentedRows(
        *(np.concatenate([getattr(one, name) for one in versions]) for name in names)
    )
    predicted = predict_with(predictor, every)
    repeated = np.concatenate([labels] * len(versions))
    data = explained.represented.data
    if data.classes is None:
        spread = data.labels[data.row_counts].std(axis=0)
        unit = np.where(spread > 0, spread, 1.0)
        errors = ((every.restore(predicted) - repeated) / unit) ** 2
        return errors.mean(axis=1).reshape(len(versions), -1)
    tempered = temper(predicted, explained.temperature, explained.smoothing)
    right: Floats = tempered[np.arange(len(repeated)), repeated]
    return right.reshape(len(versions), -1)


@dataclass(frozen=True, eq=False)
class FitRecord(Saved):
    """How good it was on held-out sources, what it rests on, and what the domains look like.

    `importance` has a row a column of the inputs, the weightiest first: column, importance (what is
    lost in held-out sources when it is shuffled, see `column_importance`), standard_error. It is
    empty where rows are pictures or signals, or nothing but a network predicts.
    """

    rows: NDArray[np.int64]  # (domains of the fit,) how many each has
    held_out: HeldOutRecord
    importance: pd.DataFrame
    profiles: tuple[ColumnProfile, ...]  # of the columns of the inputs; empty without a table

    @classmethod
    def of(
        cls,
        held_out: HeldOutRecord,
        explained: Explained | None,
        data: DomainData,
        names: Sequence[Hashable] | None,
        seed: int,
        workers: Workers,
        max_groups: int = 60,
    ) -> FitRecord:
        """`names` are those of the columns; None where the inputs are no columns of the user's."""
        n_features = int(np.prod(data.inputs.shape[1:]))
        is_table = data.inputs.ndim == 2 and not data.layout.is_grid
        if names is None or not is_table or len(names) != n_features:
            return cls(data.domain_sizes, held_out, _importance([], np.empty((0, 2))), ())
        texts = [str(name) for name in names]
        profiles = profile_features(data.inputs, texts, data.row_domains, data.n_domains)
        labels, measured = [], np.empty((0, 2))
        if explained is not None:
            groups = column_groups(texts)[:max_groups]
            numbers = [columns for _, columns in groups]
            labels = [label for label, _ in groups]
            measured = column_importance(explained, numbers, seed, workers)
        return cls(data.domain_sizes, held_out, _importance(labels, measured), profiles)

    def _check_state(self) -> None:
        if any(len(one.counts) != len(self.rows) for one in self.profiles):
            raise ValueError("the profiles do not fit the domains")
        domains = self.held_out.domains
        if (domains < 0).any() or (domains >= len(self.rows)).any():
            raise ValueError("the held-out domains are not among the domains")
        if list(self.importance.columns) != ["column", "importance", "standard_error"]:
            raise ValueError("the importance of columns is not usable")


def _importance(labels: Sequence[str], measured: Floats) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "column": pd.Series(list(labels), dtype=object),
            "importance": measured[:, 0],
            "standard_error": measured[:, 1],
        }
    )
    return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def column_groups(names: Sequence[str]) -> list[tuple[str, NDArray[np.int64]]]:
    """Labels and numbers of columns that belong together: "kind=a", "kind=b" are one, "kind".

    So is "kind (others)", the feature of all rare categories of that column.
    """
    groups: dict[tuple[str, bool], list[int]] = {}
    for number, name in enumerate(names):
        label, equals, level = name.partition("=")
        is_level = bool(equals and label and level)
        pooled = name.removesuffix(" (others)")
        if pooled != name and (pooled, True) in groups:
            label, is_level = pooled, True
        groups.setdefault((label if is_level else name, is_level), []).append(number)
    return [(label, np.array(columns)) for (label, _), columns in groups.items()]


def profile_features(
    inputs: NDArray, names: Sequence[str], row_domains: NDArray, n_domains: int
) -> tuple[ColumnProfile, ...]:
    """A profile for each column of the user's, whose categories are one column again."""
    found: list[ColumnProfile] = []
    most = max_profiles(n_domains)
    for label, columns in column_groups(names):
        values = np.asarray(inputs[:, columns], dtype=np.float64)
        of_domains = (row_domains, n_domains)
        levels = [
            names[column].removeprefix(f"{label}=")
            for column in columns
            if names[column].startswith(f"{label}=")
        ]
        if levels and _are_categories(values):
            named = values[:, : len(levels)] == 1.0
            codes = np.where(named.any(axis=1), named.argmax(axis=1), len(levels))
            every = np.ones(len(codes), dtype=bool)
            found.append(ColumnProfile.of_categories(label, levels, codes, every, *of_domains))
            continue
        found += [
            ColumnProfile.of_numbers(names[column], one, *of_domains)
            for column, one in zip(columns, values.T)
        ]
    return tuple(found[:most])


def _are_categories(values: Floats) -> bool:
    """Whether features named "kind=a", "kind=b" are of one column of categories.

    Then most rows have a 1 in one of them; a few, whose category is rare, may have shares in all.
    """
    plain = np.isin(values, (0.0, 1.0)).all(axis=1)
    between = (values >= 0.0) & (values <= 1.0)
    alone = values.sum(axis=1) <= 1.0 + 1e-9
    return bool(between.all() and alone.all() and plain.mean() >= 0.5)
