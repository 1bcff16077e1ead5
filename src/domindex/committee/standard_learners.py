"""Learners that come with the library, each for classes and for values."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domindex.committee.estimator_learner import EstimatorLearner, EstimatorPredictor
from domindex.committee.learner import Floats, Learner, Predictor, weighted_rows

N_TREES = 100
"""Of extra trees, and iterations of boosting: scikit-learn's defaults."""

LEAF_ROWS = 2
"""In a leaf of extra trees, at least: a probability from one row is 0 or 1."""


@dataclass(frozen=True)
class LearnerByTask:
    """One name for a learner of classes and one of values.

    Attributes
    ----------
    in_threads : whether several may be fitted side by side in threads, and gain by it: they spend
        their time in compiled code and share nothing
    """

    name: str
    classes: Learner
    values: Learner
    in_threads: bool = False

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> Predictor:
        learner = self.values if n_classes is None else self.classes
        return learner.fit(features, labels, n_classes, seed, weights)


@dataclass(frozen=True)
class KernelLearner:
    """A Gaussian kernel by a number of its landmarks, and a linear rule on them.

    Attributes
    ----------
    components : landmarks, at most; never more than rows
    strength : of the data against the penalty: C of logistic regression, 1/alpha of ridge
    same_units : whether one number scales all features, as in `LinearLearner`
    """

    components: int = 200
    strength: float = 10.0
    name: str = "kernel"
    same_units: bool = False

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> EstimatorPredictor:
        features, labels, weights = weighted_rows(features, labels, weights)
        if n_classes is None:
            rule = Ridge(alpha=1 / self.strength)
        else:
            rule = LogisticRegression(C=self.strength, max_iter=1000)
        landmarks = Nystroem(n_components=min(self.components, len(features)))
        scaler = StandardScaler(with_std=not self.same_units)
        if self.same_units:
            landmarks.set_params(gamma=1 / (features.var(axis=0).sum() or 1.0))
        learner = EstimatorLearner(self.name, make_pipeline(scaler, landmarks, rule))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return learner.fit(features, labels, n_classes, seed, weights)


def trees() -> LearnerByTask:
    """Extremely randomised trees, on one core."""
    settings = {"n_estimators": N_TREES, "min_samples_leaf": LEAF_ROWS, "n_jobs": 1}
    return LearnerByTask(
        "trees",
        EstimatorLearner("trees", ExtraTreesClassifier(**settings)),
        EstimatorLearner("trees", ExtraTreesRegressor(**settings)),
        in_threads=True,
    )


def boosting() -> LearnerByTask:
    """Gradient boosting of trees on binned features."""
    return LearnerByTask(
        "boosting",
        EstimatorLearner("boosting", HistGradientBoostingClassifier(max_iter=N_TREES)),
        EstimatorLearner("boosting", HistGradientBoostingRegressor(max_iter=N_TREES)),
        in_threads=True,
    )


def kernel() -> KernelLearner:
    """A Gaussian kernel with 200 landmarks."""
    return KernelLearner()
