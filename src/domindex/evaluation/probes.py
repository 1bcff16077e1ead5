"""How much of one variable can be recovered from another: lower bounds on mutual information.

Fresh models, which know nothing of how the features were made, are trained on some rows and judged
on others. What they recover is there; what they do not may still be, so every figure is a bound
from below, up to sampling error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, StratifiedKFold

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.evaluation.probe_models import (
    class_scores,
    contrast,
    error_whitening,
    fit_regression,
    quiet,
)
from domindex.inputs import check_inputs
from domindex.inputs.messages import preview

FOLDS = 3

MIN_PER_CLASS = 6
"""Rows a class needs to be in every fold, and in both parts of what a fold trains on."""

MIN_ROWS = 30
"""Rows below which cross-validated figures mean nothing."""

MAX_BLOCK = 1000
"""Rows that a row is contrasted with. A bound on values cannot exceed its logarithm."""


@dataclass(frozen=True)
class ClassProbe:
    """How well classes can be predicted from features.

    Attributes
    ----------
    accuracy : cross-validated
    chance : accuracy of always guessing the commonest class
    information : lower bound on I(class; features) in nats
    standard_error : of `information`
    ceiling : the entropy of the classes, which `information` cannot exceed

    Examples
    --------
    >>> from domindex.evaluation import ClassProbe
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
    """How well values can be predicted from features.

    Attributes
    ----------
    r2 : cross-validated share of the variance that is explained; 0 or less is chance
    information : lower bound on I(values; features) in nats
    standard_error : of `information`
    ceiling : the most that the number of rows could show

    Examples
    --------
    >>> from domindex.evaluation import ValueProbe
    >>> ValueProbe(0.8, information=1.2, standard_error=0.1, ceiling=3.0).r2
    0.8
    """

    r2: float
    information: float
    standard_error: float
    ceiling: float


def probe_classes(labels: Any, features: Any, *, random_state: int = 0) -> ClassProbe:
    """Predict classes from features, cross-validated over rows.

    Barber and Agakov's bound I(c; f) ≥ H(c) + E[log q(c|f)], with q a linear or a quadratic
    logistic model or a small neural network, whichever does best on held-back training rows, and
    its confidence t set there too: q ∝ p(c)^(1−t) model(c|f)^t. At t = 0 it knows the frequencies
    alone, so noise counts as zero, not as less.

    Parameters
    ----------
    labels : (rows,), each class at least 6 times
    features : (rows, features) or (rows, ...)
    random_state : seed of the folds and of the network

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.evaluation import probe_classes
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> probe = probe_classes(features[:, 0] > 0, features)
    >>> probe.accuracy > probe.chance
    True
    """
    seed = check_seed(random_state)
    columns = _check_features(features)
    numbers = _check_classes(labels, len(columns))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    scores = np.empty((len(numbers), numbers.max() + 1))
    with quiet():
        for train, test in folds.split(columns, numbers):
            scores[test] = class_scores(columns[train], numbers[train], columns[test], seed)
    shares = np.bincount(numbers) / len(numbers)
    ceiling = float(-(shares * np.log(shares)).sum())
    likelihoods = scores[np.arange(len(numbers)), numbers]
    return ClassProbe(
        accuracy=float((scores.argmax(axis=1) == numbers).mean()),
        chance=float(shares.max()),
        information=max(0.0, ceiling + float(likelihoods.mean())),
        standard_error=_standard_error(likelihoods),
        ceiling=ceiling,
    )


def probe_values(values: Any, features: Any, *, random_state: int = 0) -> ValueProbe:
    """Predict values from features, cross-validated over rows.

    A ridge regression, with quadratic and radial terms if they help, gives q(v|f) = N(μ(f), Σ).
    With rows that it has not seen, in blocks of K, the contrastive bound
    I(v; f) ≥ E[log q(vᵢ|fᵢ) − log (1/K) Σⱼ q(vᵢ|fⱼ)] needs no density of v; it is at most log K.

    Parameters
    ----------
    values : (rows,) or (rows, outputs), whose errors are added up: bring them to one scale
    features : (rows, features) or (rows, ...)
    random_state : seed of the folds and of the radial terms

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.evaluation import probe_values
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> probe_values(features[:, 0] + features[:, 1], features).r2 > 0.9
    True
    """
    seed = check_seed(random_state)
    columns = _check_features(features)
    outputs = _check_values(values, len(columns))
    residuals = np.empty_like(outputs)
    spread = np.empty_like(outputs)
    contrasts, ceiling = np.empty(len(outputs)), np.empty(len(outputs))
    with quiet():
        for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(columns):
            model = fit_regression(columns[train], outputs[train], seed)
            predicted = model.predict(columns[test]).reshape(outputs[test].shape)
            residuals[test] = outputs[test] - predicted
            spread[test] = outputs[test] - outputs[train].mean(axis=0)
            whiten = error_whitening(columns[train], outputs[train], seed)
            for block in np.array_split(np.arange(len(test)), -(-len(test) // MAX_BLOCK)):
                rows = test[block]
                contrasts[rows] = contrast(outputs[rows] @ whiten, predicted[block] @ whiten)
                ceiling[rows] = np.log(len(rows))
    return ValueProbe(
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
    with quiet():
        for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(columns):
            size = min(n_components, len(train))
            summary = PCA(size, random_state=seed).fit(columns[train])
            restored = summary.inverse_transform(summary.transform(columns[test]))
            lost += ((columns[test] - restored) ** 2).sum()
            total += ((columns[test] - summary.mean_) ** 2).sum()
    return float(1.0 - lost / total) if total else 1.0


def _standard_error(contributions: Floats) -> float:
    return float(contributions.std() / np.sqrt(len(contributions)))


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


def _check_classes(labels: Any, n_rows: int) -> Ints:
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
