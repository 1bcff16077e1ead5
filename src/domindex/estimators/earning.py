"""Freedom is earned on held-out source domains: never by a target label."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

Floats = NDArray[np.float64]

MAX_ROWS = 2000
MAX_FOLDS = 6

CLEARLY = 2.0
"""Standard errors by which an error must fall to count."""


def class_model(degree: int) -> BaseEstimator:
    """A plain classifier on polynomials of the features: quick, and the same everywhere."""
    return make_pipeline(
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        LogisticRegression(max_iter=500),
    )


def helps_on_held_out_domains(
    base: Floats, extra: Floats, classes: NDArray[np.int64], domains: NDArray[np.int64]
) -> bool:
    """Whether adding `extra` features to `base` clearly lowers the error on held-out domains.

    All arrays hold the source rows only. Clearly: by more than two standard errors of
    the difference, row by row. Without a second domain to hold out, rows are held out instead.
    """
    if len(base) < 2:
        return False
    rows = np.random.default_rng(0).permutation(len(base))[:MAX_ROWS]
    base, extra, classes, domains = base[rows], extra[rows], classes[rows], domains[rows]
    lean = _held_out_errors(base, classes, domains, degree=2)
    full = _held_out_errors(np.hstack([base, extra]), classes, domains, degree=1)
    gain = lean - full
    return bool(gain.mean() > CLEARLY * gain.std() / np.sqrt(len(gain)))


def _held_out_errors(
    features: Floats, classes: NDArray[np.int64], domains: NDArray[np.int64], degree: int
) -> Floats:
    """1 where a row is predicted wrongly by a model that never saw its domain."""
    n_folds = min(len(np.unique(domains)), MAX_FOLDS)
    if n_folds > 1:
        folds = list(GroupKFold(n_folds).split(features, groups=domains))
    else:
        folds = list(KFold(min(5, len(features))).split(features))
    predicted = np.full(len(classes), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for train, test in folds:
            if len(np.unique(classes[train])) > 1:
                model = class_model(degree).fit(features[train], classes[train])
                predicted[test] = model.predict(features[test])
    return (predicted != classes).astype(np.float64)
