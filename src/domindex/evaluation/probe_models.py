"""The fresh models by which a variable is probed: classifiers and regressions with a density."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from domindex.arrays import Floats, Ints
from domindex.vdi.threads import one_thread

HELD_BACK = 0.25
"""Share of the training rows on which a model is chosen and its confidence set."""

MAX_COMPONENTS = 30
"""Principal components kept of wide variables. Dropping the rest can only lower the bound."""

CONFIDENCES = (0.0, 0.25, 0.5, 0.75, 1.0)
LEAST_PROBABILITY = 1e-6
LEAST_ERROR = 1e-6
"""Share of the variance below which an error is rounding; keeps a perfect prediction finite."""

RIDGES = np.logspace(-4, 4, 17)
LANDMARKS = 200


def class_scores(features: Floats, numbers: Ints, asked: Floats, seed: int) -> Floats:
    """log q(c|f) of the `asked` rows, by the model that did best on held-back rows."""
    fit, check = train_test_split(
        np.arange(len(numbers)), test_size=HELD_BACK, random_state=seed, stratify=numbers
    )
    prior = np.log(np.bincount(numbers) / len(numbers))
    best, chosen = -np.inf, np.tile(prior, (len(asked), 1))
    for model in _classifiers(features[fit].shape, seed):
        model.fit(features[fit], numbers[fit])
        checked, answered = (_log_shares(model, rows) for rows in (features[check], asked))
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


def _log_shares(model: BaseEstimator, features: Floats) -> Floats:
    return np.log(np.maximum(model.predict_proba(features), LEAST_PROBABILITY))


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


def fit_regression(features: Floats, outputs: Floats, seed: int) -> BaseEstimator:
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


def error_whitening(features: Floats, outputs: Floats, seed: int) -> Floats:
    """(outputs, k) that makes the errors of a regression on unseen rows white.

    Errors on the rows it was trained on would look too small, and a model too sure of itself
    loses its bound.
    """
    fit, check = train_test_split(np.arange(len(outputs)), test_size=HELD_BACK, random_state=seed)
    model = fit_regression(features[fit], outputs[fit], seed)
    errors = outputs[check] - model.predict(features[check]).reshape(len(check), -1)
    n_axes = min(MAX_COMPONENTS, outputs.shape[1], len(fit))
    axes = PCA(n_axes, random_state=seed).fit(outputs[fit]).components_.T
    values, vectors = np.linalg.eigh(ledoit_wolf(errors @ axes)[0])
    floor = LEAST_ERROR * float(outputs.var(axis=0).sum())
    return axes @ vectors / np.sqrt(np.maximum(values, floor))


def contrast(values: Floats, predicted: Floats) -> Floats:
    """log q(vᵢ|fᵢ) − log (1/K) Σⱼ q(vᵢ|fⱼ) of each of K rows, for white errors."""
    scores = -0.5 * cdist(values, predicted, "sqeuclidean")
    return np.diag(scores) - logsumexp(scores, axis=1) + np.log(len(values))


@contextmanager
def quiet() -> Iterator[None]:
    """A probe that stops before it has converged is still a probe."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
