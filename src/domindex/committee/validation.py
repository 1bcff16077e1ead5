"""Every candidate's predictions of source domains that it never saw."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from domindex.committee.candidate import Candidate
from domindex.committee.held_out_rows import HeldOutRows, temper
from domindex.committee.learner import Predictor
from domindex.committee.represented_folds import RepresentedFolds
from domindex.data import DomainData
from domindex.errors import PredictorError
from domindex.geometry.entropy_balancing import balancing_weights
from domindex.progress import Progress
from domindex.representations import RepresentedRows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trial:
    """What a candidate predicted in the folds, and what that cost.

    Attributes
    ----------
    candidate : the candidate
    predicted : (n, columns) for the held-out rows, calibrated, in the user's units
    temperature : by which its probabilities are softened; 1 for values
    losses : (parts,) mean loss of every held-out domain, near and far
    """

    candidate: Candidate
    predicted: Floats
    temperature: float
    losses: Floats

    @classmethod
    def of(cls, candidate: Candidate, predicted: Floats, rows: HeldOutRows) -> Trial:
        """Scored after calibration: probabilities that are too sure are a fault of scale."""
        temperature = 1.0
        if rows.n_classes is not None:
            temperature = rows.temperature(predicted)
            predicted = temper(predicted, temperature, rows.smoothing)
        return cls(candidate, predicted, temperature, rows.by_part(rows.losses(predicted)))

    def near(self, rows: HeldOutRows) -> float:
        return float(self.losses[~rows.is_far].mean())

    def far(self, rows: HeldOutRows) -> float:
        """NaN where there are no far folds."""
        return float(self.losses[rows.is_far].mean()) if rows.is_far.any() else np.nan

    def loss(self, rows: HeldOutRows) -> float:
        return float(rows.part_weights @ self.losses)


def validate(
    candidates: Sequence[Candidate],
    represented: dict[str, RepresentedFolds],
    rows: HeldOutRows,
    data: DomainData,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
) -> list[Trial]:
    """A trial for each candidate; one whose predictor fails is left out with a warning.

    Where all fail, the last failure is raised.
    """
    failures: list[PredictorError] = []
    jobs = (
        delayed(_attempt)(predict_held_out, one, represented[one.representation], rows, data, seed)
        for one in candidates
    )
    with threadpool_limits(1):
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        results = list(progress.each("validating", parallel(jobs), total=len(candidates)))
    trials = []
    for candidate, result in zip(candidates, results):
        if isinstance(result, PredictorError):
            failures.append(result)
            warnings.warn(f"{candidate.name} is left out: {result}", stacklevel=2)
        else:
            trials.append(Trial.of(candidate, result, rows))
    if not trials:
        raise failures[-1]
    return best_penalties(trials, rows)


def best_penalties(trials: Sequence[Trial], rows: HeldOutRows) -> list[Trial]:
    """Of candidates that differ in their penalty alone, the one with the least loss."""
    best: dict[str, Trial] = {}
    for trial in trials:
        name = trial.candidate.name
        if name not in best or trial.loss(rows) < best[name].loss(rows):
            best[name] = trial
    return list(best.values())


def predict_held_out(
    candidate: Candidate,
    represented: RepresentedFolds,
    rows: HeldOutRows,
    data: DomainData,
    seed: int,
) -> Floats:
    """(n, columns) for the rows of all folds, in the user's units."""
    parts = []
    for fold in rows.folds:
        train, held_out = represented.of(fold)
        weights = row_weights(candidate, train, held_out, fold.train, data)
        predictor = fit_candidate(candidate, train, fold.train, data, seed, weights)
        parts.append(held_out.restore(predict_with(predictor, held_out)))
    return np.concatenate(parts)


def fit_candidate(
    candidate: Candidate,
    train: RepresentedRows,
    rows: NDArray[np.int64],
    data: DomainData,
    seed: int,
    weights: Floats | None,
) -> Predictor:
    """The candidate's learner on represented rows, which are the given rows of the data."""
    assert candidate.learner is not None
    labels = data.labels[rows]
    if data.classes is not None:
        arguments = (train.features, labels, len(data.classes), seed)
    else:
        arguments = (train.features, train.normalize(labels), None, seed)
    if weights is None:
        return candidate.learner.fit(*arguments)
    return candidate.learner.fit(*arguments, weights=weights)


def row_weights(
    candidate: Candidate,
    train: RepresentedRows,
    goal: RepresentedRows,
    rows: NDArray[np.int64],
    data: DomainData,
) -> Floats | None:
    """(n,) of the rows to learn from: the user's, times those that make them look like `goal`."""
    own = None if data.weights is None else data.weights[rows]
    if not candidate.balanced or not len(goal.features):
        return own
    balanced = balancing_weights(train.features, goal.features) * len(rows)
    return balanced if own is None else balanced * own


def predict_with(predictor: Predictor, rows: RepresentedRows) -> Floats:
    """One finite row of outputs for every row; anyone may bring a predictor."""
    array = np.asarray(predictor.predict(rows.features), dtype=np.float64)
    if array.ndim != 2 or len(array) != len(rows.features):
        raise PredictorError(
            f"The predictor {predictor.name!r} returned shape {array.shape} for "
            f"{len(rows.features)} rows. Return (rows, classes) or (rows, outputs)."
        )
    if not np.isfinite(array).all():
        raise PredictorError(
            f"The predictor {predictor.name!r} returned NaN or infinity. "
            "Look for extreme values in X, or choose another predictor."
        )
    return array


def _attempt(function: Callable[..., Floats], *arguments: object) -> Floats | PredictorError:
    try:
        return function(*arguments)
    except PredictorError as error:
        return error

