"""How well the committee predicted held-out sources, and which columns that rests on: figures only.

They come from the folds on which the candidates were weighed, so they cost nothing, and flatter a
little: the weights were chosen on the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from domindex.arrays import Floats
from domindex.committee.candidates import Candidate, Trial, learn, predict_with
from domindex.committee.folds import Fold, HeldOutRows, RepresentedFolds, temper
from domindex.committee.learners.base import Predictor
from domindex.committee.parallel import Workers
from domindex.representations import RepresentedRows

CALIBRATION_BINS = 10
RESIDUAL_BINS = 15
LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Bins of the curves and probabilities of the intervals that are shown: definitions."""

LEAST_IN_BIN = 5
"""Rows of a bin below which it is not shown: it would be chance, and close to the rows."""

MOST_CLASSES = 12
"""Classes up to which a confusion matrix is legible; beyond it there is none."""


@dataclass(frozen=True, eq=False)
class HeldOutRecord:
    """Quality on held-out sources; a domain held out near and far counts for both.

    Attributes
    ----------
    domains : (held out,) numbers of domains
    scores, plain_scores : (held out,) accuracy, or root mean squared error in the unit of a single
        output (several: in units of their spread), of the committee and of the best plain candidate
    plain : name of that candidate; "" where no plain one was tried, and then `plain_scores` repeat
        `scores`
    by_rows : whether there was one source, and rows of it were held out
    figures, plain_figures : name to number: log_loss, brier, auc for classes; rmse, mae, r2, bias
        for values; those that cannot be computed are left out
    calibration : (bins, 3), mean of what was predicted, mean of what was found, share of the rows.
        For two classes of the second one's probability, for more of the confidence and whether it
        was right; for values of deciles of the prediction, the first output
    confusion : (classes, classes) share of the rows of each true class by predicted class; empty
        for values and for many classes
    residuals : (bins, 3), from, to, share of rows; empty for classes
    coverage : (levels, 2), what intervals should hold and what they held; empty for classes
    """

    domains: NDArray[np.int64]
    scores: Floats
    plain_scores: Floats
    plain: str
    by_rows: bool
    figures: Mapping[str, float]
    plain_figures: Mapping[str, float]
    calibration: Floats
    confusion: Floats
    residuals: Floats
    coverage: Floats

    @classmethod
    def of(
        cls, predicted: Floats, deviation: Floats | None, trials: Sequence[Trial], rows: HeldOutRows
    ) -> HeldOutRecord:
        """From the committee's predictions (n, columns) of the held-out rows, with their deviations
        where they are values, and all trials, among which the plain ones are looked for."""
        plain = [trial for trial in trials if trial.candidate.is_plain]
        best = min(plain, key=lambda trial: trial.loss(rows)) if plain else None
        compared = predicted if best is None else best.predicted
        none = np.empty((0, 2))
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
            confusion=_confusion(predicted, rows) if is_class else none,
            residuals=np.empty((0, 3)) if is_class else _residuals(predicted, rows),
            coverage=none if deviation is None else _coverage(predicted, deviation, rows),
        )

    def state(self) -> dict[str, Any]:
        return {
            "domains": [int(number) for number in self.domains],
            "scores": self.scores,
            "plain_scores": self.plain_scores,
            "plain": self.plain,
            "by_rows": bool(self.by_rows),
            "figures": dict(self.figures),
            "plain_figures": dict(self.plain_figures),
            "calibration": self.calibration,
            "confusion": self.confusion,
            "residuals": self.residuals,
            "coverage": self.coverage,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> HeldOutRecord:
        domains = np.array(state["domains"], dtype=np.int64)
        shapes = {state[name].shape for name in ("scores", "plain_scores")}
        if domains.ndim != 1 or shapes != {domains.shape}:
            raise ValueError("the scores do not fit the held-out domains")
        widths = {"calibration": 3, "residuals": 3, "coverage": 2}
        if any(state[name].shape[1:] != (width,) for name, width in widths.items()):
            raise ValueError("the curves of held-out quality are not usable")
        given = {name: state[name] for name in ("scores", "plain_scores", "confusion", *widths)}
        figures, plain_figures = (
            {str(name): float(value) for name, value in state[key].items()}
            for key in ("figures", "plain_figures")
        )
        return cls(
            domains=domains,
            plain=str(state["plain"]),
            by_rows=bool(state["by_rows"]),
            figures=figures,
            plain_figures=plain_figures,
            **given,
        )


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


def _calibration(predicted: Floats, rows: HeldOutRows) -> Floats:
    """(bins, 3), bins of equal width for probabilities, of equal rows for values."""
    if rows.n_classes is None:
        told, found = predicted[:, 0], rows.labels[:, 0].astype(np.float64)
        edges = np.quantile(told, np.linspace(0, 1, CALIBRATION_BINS + 1)[1:-1])
    else:
        told, found = predicted.max(axis=1), predicted.argmax(axis=1) == rows.labels
        if rows.n_classes == 2:
            told, found = predicted[:, 1], rows.labels == 1
        edges = np.linspace(0, 1, CALIBRATION_BINS + 1)[1:-1]
    return _binned(np.digitize(told, edges), told, found.astype(np.float64), rows.row_weights)


def _binned(bins: NDArray[np.int64], told: Floats, found: Floats, weights: Floats) -> Floats:
    """(bins with rows enough, 3): weighted means of both, and the share of the rows."""
    counts = np.bincount(bins)
    mass = np.bincount(bins, weights)
    kept = (counts >= LEAST_IN_BIN) & (mass > 0)
    safe = np.where(mass > 0, mass, 1.0)
    means = [np.bincount(bins, weights * values) / safe for values in (told, found)]
    return np.stack([*means, mass], axis=1)[kept]


def _confusion(predicted: Floats, rows: HeldOutRows) -> Floats:
    assert rows.n_classes is not None
    if rows.n_classes > MOST_CLASSES:
        return np.empty((0, 2))
    table = np.zeros((rows.n_classes, rows.n_classes))
    np.add.at(table, (rows.labels, predicted.argmax(axis=1)), rows.row_weights)
    total = table.sum(axis=1, keepdims=True)
    return table / np.where(total > 0, total, 1.0)


def _residuals(predicted: Floats, rows: HeldOutRows) -> Floats:
    """(bins, 3) of predicted minus true, the first output; the ends hold all that lies beyond."""
    residuals = predicted[:, 0] - rows.labels[:, 0]
    reach = float(np.quantile(np.abs(residuals), 0.98)) or 1.0
    edges = np.linspace(-reach, reach, RESIDUAL_BINS + 1)
    bins = np.clip(np.digitize(residuals, edges) - 1, 0, RESIDUAL_BINS - 1)
    shares = np.bincount(bins, rows.row_weights, minlength=RESIDUAL_BINS)
    return np.stack([edges[:-1], edges[1:], shares], axis=1)


def _coverage(predicted: Floats, deviation: Floats, rows: HeldOutRows) -> Floats:
    """(levels, 2), mean over outputs."""
    apart = np.abs(predicted - rows.labels) / deviation
    held = [float((rows.row_weights @ (apart <= norm.ppf((1 + p) / 2))).mean()) for p in LEVELS]
    return np.stack([np.array(LEVELS), np.array(held)], axis=1)


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
