"""Freedom is earned on held-out source domains: never by a target label."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from domindex.committee.folds import held_out_folds

Floats = NDArray[np.float64]

GAIN_ROWS = 2000
GAIN_FOLDS = 6
"""Source rows that are looked at, and folds of their domains: for seconds, not tuned."""


def plain_model(degree: int, is_class: bool) -> BaseEstimator:
    """A plain model on polynomials of the features: quick, and the same everywhere."""
    return make_pipeline(
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        LogisticRegression(max_iter=500) if is_class else Ridge(),
    )


def helps_on_held_out_domains(
    base: Floats,
    extra: Floats,
    labels: NDArray,
    domains: NDArray[np.int64],
    clear_gain: float = 2.0,
) -> bool:
    """Whether adding `extra` features to `base` clearly lowers the error on held-out domains.

    All arrays hold the source rows only; `labels` are whole numbers for classes, (rows,), or
    values, (rows, outputs). Clearly: by more than `clear_gain` standard errors of the difference,
    row by row. Without a second domain to hold out, rows are held out instead.
    """
    if len(base) < 2:
        return False
    rows = np.random.default_rng(0).permutation(len(base))[:GAIN_ROWS]
    base, extra, labels, domains = base[rows], extra[rows], labels[rows], domains[rows]
    lean = _held_out_errors(base, labels, domains, degree=2)
    full = _held_out_errors(np.hstack([base, extra]), labels, domains, degree=1)
    gain = lean - full
    return bool(gain.mean() > clear_gain * gain.std() / np.sqrt(len(gain)))


def _held_out_errors(
    features: Floats, labels: NDArray, domains: NDArray[np.int64], degree: int
) -> Floats:
    """Error of every row under a model that never saw its domain: a wrong class, or squares."""
    is_class = labels.dtype.kind in "iu"
    predicted = np.full(labels.shape, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for test in held_out_folds(domains, GAIN_FOLDS):
            train = np.setdiff1d(np.arange(len(labels)), test)
            if not is_class or len(np.unique(labels[train])) > 1:
                model = plain_model(degree, is_class).fit(features[train], labels[train])
                predicted[test] = model.predict(features[test]).reshape(labels[test].shape)
    if is_class:
        return (predicted != labels).astype(np.float64)
    spread = labels.std(axis=0)
    return (((predicted - labels) / np.where(spread > 0, spread, 1.0)) ** 2).sum(axis=1)
