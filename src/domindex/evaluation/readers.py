"""How much of one variable can be read off another: lower bounds on mutual information.

Fresh models, which know nothing of how the features were made, are trained on some rows and judged
on others. What they can tell is there; what they cannot tell may still be, so every figure is a
bound from below, up to sampling error.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from domindex.data import check_inputs
from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.training.threads import one_thread

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

FOLDS = 3
HELD_BACK = 0.25
"""Share of the training rows on which a reader is chosen and its confidence set."""

MIN_PER_CLASS = 6
"""Rows a class needs to be in every fold, and in both parts of what a fold trains on."""

MIN_ROWS = 30
"""Rows below which cross-validated figures mean nothing."""

MAX_COMPONENTS = 30
"""Principal components kept of wide variables. Dropping the rest can only lower the bound."""

CONFIDENCES = (0.0, 0.25, 0.5, 0.75, 1.0)
LEAST_PROBABILITY = 1e-6
LEAST_ERROR = 1e-6
"""Share of the variance below which an error is rounding; keeps a perfect reading finite."""

RIDGES = np.logspace(-4, 4, 17)
LANDMARKS = 200

MAX_BLOCK = 1000
"""Rows that a row is told apart from. A bound on values cannot exceed its logarithm."""


@dataclass(frozen=True)
class ClassReading:
    """How well classes can be told from features.

    Attributes
    ----------
    accuracy : cross-validated
    chance : accuracy of always guessing the commonest class
    information : lower bound on I(class; features) in nats
    standard_error : of `information`
    ceiling : the entropy of the classes, which `information` cannot exceed
    """

    accuracy: float
    chance: float
    information: float
    standard_error: float
    ceiling: float


@dataclass(frozen=True)
class ValueReading:
    """How well values can be told from features.

    Attributes
    ----------
    r2 : cross-validated share of the variance that is explained; 0 or less is chance
    information : lower bound on I(values; features) in nats
    standard_error : of `information`
    ceiling : the most that the number of rows could show
    """

    r2: float
    information: float
    standard_error: float
    ceiling: float


def read_classes(labels: Any, features: Any, *, random_state: int = 0) -> ClassReading:
    """Tell classes from features, cross-validated over rows.

    Barber and Agakov's bound I(c; f) ≥ H(c) + E[log q(c|f)], with q a linear or a quadratic
    logistic model or a small neural network, whichever does best on held-back training rows, and
    its confidence t set there too: q ∝ p(c)^(1−t) model(c|f)^t. At t = 0 it knows the frequencies
    alone, so noise reads as zero, not as less.

    Parameters
    ----------
    labels : (rows,), each class at least 6 times
    features : (rows, features) or (rows, ...)
    random_state : seed of the folds and of the network
    """
    seed = check_seed(random_state)
    columns = _check_features(features)
    numbers = _check_classes(labels, len(columns))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    scores = np.empty((len(numbers), numbers.max() + 1))
    with _quiet():
        for train, test in folds.split(columns, numbers):
            scores[test] = _class_scores(columns[train], numbers[train], columns[test], seed)
    shares = np.bincount(numbers) / len(numbers)
    ceiling = float(-(shares * np.log(shares)).sum())
    likelihoods = scores[np.arange(len(numbers)), numbers]
    return ClassReading(
        accuracy=float((scores.argmax(axis=1) == numbers).mean()),
        chance=float(shares.max()),
        information=max(0.0, ceiling + float(likelihoods.mean())),
        standard_error=_standard_error(likelihoods),
        ceiling=ceiling,
    )


def read_values(values: Any, features: Any, *, random_state: int = 0) -> ValueReading:
    """Tell values from features, cross-validated over rows.

    A ridge regression, with quadratic and radial terms if they help, gives q(v|f) = N(μ(f), Σ).
    With rows that it has not seen, in blocks of K, the contrastive bound
    I(v; f) ≥ E[log q(vᵢ|fᵢ) − log (1/K) Σⱼ q(vᵢ|fⱼ)] needs no density of v; it is at most log K.

    Parameters
    ----------
    values : (rows,) or (rows, outputs), whose errors are added up: bring them to one scale
    features : (rows, features) or (rows, ...)
    random_state : seed of the folds and of the radial terms
    """
    seed = check_seed(random_state)
    columns = _check_features(features)
    outputs = _check_values(values, len(columns))
    residuals = np.empty_like(outputs)
    spread = np.empty_like(outputs)
    contrasts, ceiling = np.empty(len(outputs)), np.empty(len(outputs))
    with _quiet():
        for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(columns):
            model = _regress(columns[train], outputs[train], seed)
            predicted = model.predict(columns[test]).reshape(outputs[test].shape)
            residuals[test] = outputs[test] - predicted
            spread[test] = outputs[test] - outputs[train].mean(axis=0)
            whiten = _whitening(columns[train], outputs[train], seed)
            for block in np.array_split(np.arange(len(test)), -(-len(test) // MAX_BLOCK)):
                rows = test[block]
                contrasts[rows] = _contrast(outputs[rows] @ whiten, predicted[block] @ whiten)
                ceiling[rows] = np.log(len(rows))
    return ValueReading(
        r2=float(1.0 - (residuals**2).sum() / (spread**2).sum()),
        information=max(0.0, float(contrasts.mean())),
        standard_error=_standard_error(contrasts),
        ceiling=float(ceiling.mean()),
    )


def best_linear_r2(values: Any, n_components: int, *, random_state: int = 0) -> float:
    """Held-out R² of the best linear summary of `values` with so many numbers per row."""
    seed = check_seed(random_state)
    columns = _check_features(values)
    if n_components >= columns.shape[1]:
        return 1.0
    lost = total = 0.0
    with _quiet():
        for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(columns):
            size = min(n_components, len(train))
            summary = PCA(size, random_state=seed).fit(columns[train])
            restored = summary.inverse_transform(summary.transform(columns[test]))
            lost += ((columns[test] - restored) ** 2).sum()
            total += ((columns[test] - summary.mean_) ** 2).sum()
    return float(1.0 - lost / total) if total else 1.0


def _class_scores(features: Floats, numbers: Numbers, asked: Floats, seed: int) -> Floats:
    """log q(c|f) of the `asked` rows, by the reader that did best on held-back rows."""
    fit, check = train_test_split(
        np.arange(len(numbers)), test_size=HELD_BACK, random_state=seed, stratify=numbers
    )
    prior = np.log(np.bincount(numbers) / len(numbers))
    best, chosen = -np.inf, np.tile(prior, (len(asked), 1))
    for reader in _classifiers(features[fit].shape, seed):
        reader.fit(features[fit], numbers[fit])
        checked, answered = (_log_shares(reader, rows) for rows in (features[check], asked))
        for confidence in CONFIDENCES:
            likelihood = _tempered(checked, prior, confidence)[
                np.arange(len(check)), numbers[check]
            ].mean()
            if likelihood > best:
                best, chosen = likelihood, _tempered(answered, prior, confidence)
    return chosen


def _tempered(log_shares: Floats, prior: Floats, confidence: float) -> Floats:
    scores = confidence * log_shares + (1.0 - confidence) * prior
    return scores - logsumexp(scores, axis=1, keepdims=True)


def _log_shares(reader: BaseEstimator, features: Floats) -> Floats:
    return np.log(np.maximum(reader.predict_proba(features), LEAST_PROBABILITY))


def _classifiers(shape: tuple[int, ...], seed: int) -> Iterator[BaseEstimator]:
    yield make_pipeline(*_condense(shape, seed), LogisticRegression(max_iter=300))
    yield make_pipeline(
        *_condense(shape, seed),
        PolynomialFeatures(2, include_bias=False),
        StandardScaler(),
        LogisticRegression(max_iter=300),
    )
    yield make_pipeline(
        *_condense(shape, seed),
        MLPClassifier((64, 64), learning_rate_init=3e-3, max_iter=100, random_state=seed),
    )


def _regress(features: Floats, outputs: Floats, seed: int) -> BaseEstimator:
    """A plain ridge regression, or one with curved terms if that leaves less to each row left out.

    Radial terms keep their own scale: directions in which they hardly vary are rounding errors.
    """
    n_rows, n_features = features.shape
    n_landmarks = min(LANDMARKS, n_rows // 3)
    curved = make_union(
        make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler()),
        Nystroem(gamma=1.0 / n_features, n_components=n_landmarks, random_state=seed),
    )
    models = [
        make_pipeline(*_condense(features.shape, seed), *terms, RidgeCV(RIDGES))
        for terms in ([], [curved])
    ]
    return max((m.fit(features, outputs) for m in models), key=lambda m: m[-1].best_score_)


def _condense(shape: tuple[int, ...], seed: int) -> list[BaseEstimator]:
    n_rows, n_features = shape
    n_components = min(MAX_COMPONENTS, n_rows // 2)
    if n_features <= n_components:
        return [StandardScaler()]
    return [StandardScaler(), PCA(n_components, random_state=seed)]


def _whitening(features: Floats, outputs: Floats, seed: int) -> Floats:
    """(outputs, k) that makes the errors of a regression on unseen rows white.

    Errors on the rows it was trained on would look too small, and a model too sure of itself
    loses its bound.
    """
    fit, check = train_test_split(np.arange(len(outputs)), test_size=HELD_BACK, random_state=seed)
    model = _regress(features[fit], outputs[fit], seed)
    errors = outputs[check] - model.predict(features[check]).reshape(len(check), -1)
    n_axes = min(MAX_COMPONENTS, outputs.shape[1], len(fit))
    axes = PCA(n_axes, random_state=seed).fit(outputs[fit]).components_.T
    values, vectors = np.linalg.eigh(ledoit_wolf(errors @ axes)[0])
    floor = LEAST_ERROR * float(outputs.var(axis=0).sum())
    return axes @ vectors / np.sqrt(np.maximum(values, floor))


def _contrast(values: Floats, predicted: Floats) -> Floats:
    """log q(vᵢ|fᵢ) − log (1/K) Σⱼ q(vᵢ|fⱼ) of each of K rows, for white errors."""
    scores = -0.5 * cdist(values, predicted, "sqeuclidean")
    return np.diag(scores) - logsumexp(scores, axis=1) + np.log(len(values))


def _standard_error(contributions: Floats) -> float:
    return float(contributions.std() / np.sqrt(len(contributions)))


@contextmanager
def _quiet() -> Iterator[None]:
    """A reader that stops before it has converged is still a reader."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def check_seed(random_state: Any) -> int:
    """A whole number, so that the same question always gets the same answer."""
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InputError(f"random_state is {random_state!r}. Choose a whole number of 0 or more.")
    return int(random_state)


def _check_features(features: Any) -> Floats:
    array = check_inputs(features, "features")
    if len(array) < MIN_ROWS:
        raise InputError(
            f"There are {len(array)} rows. Pass {MIN_ROWS} or more: what is read from fewer "
            "cannot be told from chance."
        )
    return array.reshape(len(array), -1).astype(np.float64, order="C")


def _check_classes(labels: Any, n_rows: int) -> Numbers:
    array = np.asarray(labels)
    if array.shape != (n_rows,):
        raise InputError(
            f"labels has shape {array.shape}, but features has {n_rows} rows. "
            "Pass one class per row."
        )
    classes, numbers, counts = np.unique(array, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise InputError("labels holds one class only, so there is nothing to tell apart.")
    rare = classes[counts < MIN_PER_CLASS].tolist()
    if rare:
        raise InputError(
            f"The classes {preview(rare)} have fewer than {MIN_PER_CLASS} rows. "
            "Leave them out or merge them: folds need some rows of each."
        )
    return numbers.astype(np.int64)


def _check_values(values: Any, n_rows: int) -> Floats:
    array = np.asarray(values)
    array = check_inputs(array[:, None] if array.ndim == 1 else array, "values")
    if len(array) != n_rows:
        raise InputError(
            f"values has {len(array)} rows, but features has {n_rows}. Pass one value per row."
        )
    outputs = array.reshape(n_rows, -1).astype(np.float64)
    if not np.ptp(outputs, axis=0).any():
        raise InputError("values is the same in every row, so there is nothing to explain.")
    return outputs
