"""How much of one variable can be read from another: lower bounds on mutual information.

Fresh models, which know nothing of how the features were made, are trained on some rows and judged
on others. What they recover is there; what they do not recover may still be there. So every figure
is a bound from below, up to sampling error.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from scipy.stats import sem
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

from domindex.arrays import Floats, Ints
from domindex.committee.parallel import one_thread
from domindex.errors import InputError
from domindex.inputs import check_inputs
from domindex.inputs.messages import preview

MIN_PER_CLASS = 6  # so that a class is in every fold, and in both parts of what a fold trains on
MIN_ROWS = 30  # below, cross-validated figures mean nothing


@dataclass(frozen=True)
class ClassProbe:
    """How well classes can be predicted from features, cross-validated.

    `chance` is the accuracy of always guessing the commonest class, `information` a lower bound on
    I(class; features) in nats, and `ceiling` the entropy of the classes, which it cannot exceed.

    Examples
    --------
    >>> probe = ClassProbe(0.9, chance=0.5, information=0.4, standard_error=0.05, ceiling=0.69)
    >>> probe.accuracy - probe.chance
    0.4
    """

    accuracy: float
    chance: float
    information: float
    standard_error: float
    ceiling: float


@dataclass(frozen=True)
class ValueProbe:
    """How well values can be predicted from features, cross-validated.

    `r2` of 0 or less is chance. `information` is a lower bound on I(values; features) in nats, and
    `ceiling` the most that the number of rows could show.

    Examples
    --------
    >>> ValueProbe(0.8, information=1.2, standard_error=0.1, ceiling=3.0).r2
    0.8
    """

    r2: float
    information: float
    standard_error: float
    ceiling: float


def probe_classes(labels: Any, features: Any, *, random_state: int = 0) -> ClassProbe:
    """Predict classes from features, cross-validated over rows.

    Barber and Agakov's bound I(c; f) ≥ H(c) + E[log q(c|f)]. q is a linear or a quadratic logistic
    model or a small neural network, whichever does best on held-back training rows. Its confidence
    t is set there too: q ∝ p(c)^(1−t) model(c|f)^t. At t = 0 it knows only how frequent classes
    are, so noise counts as zero and not as less. Every class needs 6 rows.

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> probe = probe_classes(features[:, 0] > 0, features)
    >>> probe.accuracy > probe.chance
    True
    """
    seed = check_seed(random_state)
    columns = _check_features(features)
    numbers = _check_classes(labels, len(columns))
    scores = np.empty((len(numbers), numbers.max() + 1))
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    with _quiet():
        for train, test in folds.split(columns, numbers):
            scores[test] = _class_scores(columns[train], numbers[train], columns[test], seed)
    shares = np.bincount(numbers) / len(numbers)
    ceiling = float(-(shares * np.log(shares)).sum())
    likelihoods = scores[np.arange(len(numbers)), numbers]
    return ClassProbe(
        accuracy=float((scores.argmax(axis=1) == numbers).mean()),
        chance=float(shares.max()),
        information=max(0.0, ceiling + float(likelihoods.mean())),
        standard_error=float(sem(likelihoods, ddof=0)),
        ceiling=ceiling,
    )


def probe_values(values: Any, features: Any, *, random_state: int = 0) -> ValueProbe:
    """Predict values from features, cross-validated over rows.

    A ridge regression, with quadratic and radial terms if they help, gives q(v|f) = N(μ(f), Σ).
    On rows that it has not seen, in blocks of K up to 1000, the contrastive bound
    I(v; f) ≥ E[log q(vᵢ|fᵢ) − log (1/K) Σⱼ q(vᵢ|fⱼ)] needs no density of v; it is at most log K.
    Errors of several outputs are added up: bring them to one scale.

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> probe_values(features[:, 0] + features[:, 1], features).r2 > 0.9
    True
    """
    seed = check_seed(random_state)
    columns = _check_features(features)
    outputs = _check_values(values, len(columns))
    residuals, spread = np.empty_like(outputs), np.empty_like(outputs)
    contrasts, ceiling = np.empty(len(outputs)), np.empty(len(outputs))
    with _quiet():
        for train, test in KFold(3, shuffle=True, random_state=seed).split(columns):
            model = _fit_regression(columns[train], outputs[train], seed)
            predicted = model.predict(columns[test]).reshape(outputs[test].shape)
            residuals[test] = outputs[test] - predicted
            spread[test] = outputs[test] - outputs[train].mean(axis=0)
            whiten = _error_whitening(columns[train], outputs[train], seed)
            for block in np.array_split(np.arange(len(test)), -(-len(test) // 1000)):
                rows = test[block]
                contrasts[rows] = _contrast(outputs[rows] @ whiten, predicted[block] @ whiten)
                ceiling[rows] = np.log(len(rows))
    return ValueProbe(
        r2=float(1.0 - (residuals**2).sum() / (spread**2).sum()),
        information=max(0.0, float(contrasts.mean())),
        standard_error=float(sem(contrasts, ddof=0)),
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
        for train, test in KFold(3, shuffle=True, random_state=seed).split(columns):
            size = min(n_components, len(train))
            summary = PCA(size, random_state=seed).fit(columns[train])
            restored = summary.inverse_transform(summary.transform(columns[test]))
            lost += ((columns[test] - restored) ** 2).sum()
            total += ((columns[test] - summary.mean_) ** 2).sum()
    return float(1.0 - lost / total) if total else 1.0


def check_seed(random_state: Any) -> int:
    """A whole number, so that the same question always gets the same answer."""
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InputError(f"random_state is {random_state!r}. Choose a whole number of 0 or more.")
    return int(random_state)


def _class_scores(features: Floats, numbers: Ints, asked: Floats, seed: int) -> Floats:
    """log q(c|f) of the `asked` rows, by the model that did best on held-back rows."""
    fit, check = _hold_back(len(numbers), seed, stratify=numbers)
    prior = np.log(np.bincount(numbers) / len(numbers))
    best, chosen = -np.inf, np.tile(prior, (len(asked), 1))
    for model in _classifiers(features[fit].shape, seed):
        model.fit(features[fit], numbers[fit])
        checked, answered = (
            np.log(np.maximum(model.predict_proba(rows), 1e-6)) for rows in (features[check], asked)
        )
        for confidence in (0.0, 0.25, 0.5, 0.75, 1.0):
            scores = _tempered(checked, prior, confidence)
            likelihood = scores[np.arange(len(check)), numbers[check]].mean()
            if likelihood > best:
                best, chosen = likelihood, _tempered(answered, prior, confidence)
    return chosen


def _tempered(log_shares: Floats, prior: Floats, confidence: float) -> Floats:
    scores = confidence * log_shares + (1.0 - confidence) * prior
    return scores - logsumexp(scores, axis=1, keepdims=True)


def _classifiers(shape: tuple[int, ...], seed: int) -> Iterator[BaseEstimator]:
    curved = [PolynomialFeatures(2, include_bias=False), StandardScaler()]
    network = MLPClassifier((64, 64), learning_rate_init=3e-3, max_iter=100, random_state=seed)
    logistic = [LogisticRegression(max_iter=300)]
    for steps in (logistic, curved + logistic, [network]):
        yield make_pipeline(*_condense(shape, seed), *steps)


def _fit_regression(features: Floats, outputs: Floats, seed: int) -> BaseEstimator:
    """A plain ridge regression, or one with curved terms if it predicts rows left out better.

    Radial terms keep their own scale: directions in which they hardly vary are rounding errors.
    """
    n_rows, n_features = features.shape
    curved = make_union(
        make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler()),
        Nystroem(gamma=1.0 / n_features, n_components=min(200, n_rows // 3), random_state=seed),
    )
    models = [
        make_pipeline(*_condense(features.shape, seed), *terms, RidgeCV(np.logspace(-4, 4, 17)))
        for terms in ([], [curved])
    ]
    return max((m.fit(features, outputs) for m in models), key=lambda m: m[-1].best_score_)


def _condense(shape: tuple[int, ...], seed: int, max_components: int = 30) -> list[BaseEstimator]:
    """Scale features, and keep the main components of wide ones, which can only lower the bound."""
    n_components = min(max_components, shape[0] // 2)
    wide = shape[1] > n_components
    return [StandardScaler(), *([PCA(n_components, random_state=seed)] if wide else [])]


def _error_whitening(
    features: Floats, outputs: Floats, seed: int, max_components: int = 30
) -> Floats:
    """(outputs, k) that makes the errors of a regression on unseen rows white.

    On the rows it was trained on, errors look too small. Below a millionth of the variance they
    count as rounding.
    """
    fit, check = _hold_back(len(outputs), seed)
    model = _fit_regression(features[fit], outputs[fit], seed)
    errors = outputs[check] - model.predict(features[check]).reshape(len(check), -1)
    n_axes = min(max_components, outputs.shape[1], len(fit))
    axes = PCA(n_axes, random_state=seed).fit(outputs[fit]).components_.T
    values, vectors = np.linalg.eigh(ledoit_wolf(errors @ axes)[0])
    floor = 1e-6 * float(outputs.var(axis=0).sum())
    return axes @ vectors / np.sqrt(np.maximum(values, floor))


def _contrast(values: Floats, predicted: Floats) -> Floats:
    """log q(vᵢ|fᵢ) − log (1/K) Σⱼ q(vᵢ|fⱼ) of each of K rows, for white errors."""
    scores = -0.5 * cdist(values, predicted, "sqeuclidean")
    return np.diag(scores) - logsumexp(scores, axis=1) + np.log(len(values))


def _hold_back(n_rows: int, seed: int, stratify: Any = None) -> list[Ints]:
    """Rows to train on, and a quarter on which a model is chosen and its confidence set."""
    rows = np.arange(n_rows)
    return train_test_split(rows, test_size=0.25, random_state=seed, stratify=stratify)


@contextmanager
def _quiet() -> Iterator[None]:
    """A probe that stops before it has converged is still a probe."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _check_features(features: Any) -> Floats:
    array = check_inputs(features, "features")
    if len(array) < MIN_ROWS:
        raise InputError(
            f"There are {len(array)} rows. Pass {MIN_ROWS} or more: what fewer show may be chance."
        )
    return array.reshape(len(array), -1).astype(np.float64, order="C")


def _check_classes(labels: Any, n_rows: int) -> Ints:
    array = np.asarray(labels)
    if array.shape != (n_rows,):
        raise InputError(
            f"labels has shape {array.shape}, but features has {n_rows} rows. "
            "Pass one class per row."
        )
    classes, numbers, counts = np.unique(array, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise InputError("labels holds one class only, so there is nothing to distinguish.")
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
