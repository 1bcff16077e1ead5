"""Predictors that learn from represented rows of the sources, and their names."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV

from domindex.data.registry import Registry

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]

RIDGE_PENALTIES = tuple(np.logspace(-3, 4, 15))
"""Ridge penalties that cross-validation over rows chooses from."""


class Predictor(ABC):
    """Learns on the source rows of a representation, predicts anywhere.

    To add one: subclass, give it a `name`, and call `register_predictor`. Everything learned must
    come back through `state` and `from_state`: plain values and float arrays, nested in
    dictionaries at will.
    """

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def fit(cls, features: Floats, labels: NDArray, n_classes: int | None, seed: int) -> Self:
        """Learn from features (rows, p) and labels.

        Labels are class numbers (rows,) from 0 to `n_classes` − 1, not necessarily all present, or
        values (rows, outputs) where `n_classes` is None.
        """

    @abstractmethod
    def predict(self, features: Floats) -> Floats:
        """Probabilities (rows, n_classes), or values (rows, outputs)."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that `from_state` needs."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """What `state` described; ValueError where that is damaged."""


@dataclass(frozen=True, eq=False)
class LinearPredictor(Predictor):
    """Logistic regression for classes, ridge regression for values.

    Attributes
    ----------
    slopes : (p, classes) or (p, outputs)
    intercept : (classes,) or (outputs,)
    is_class : whether the outputs are log-odds
    """

    name: ClassVar[str] = "linear"
    slopes: Floats
    intercept: Floats
    is_class: bool

    @classmethod
    def fit(cls, features: Floats, labels: NDArray, n_classes: int | None, seed: int) -> Self:
        if n_classes is None:
            ridge = RidgeCV(RIDGE_PENALTIES).fit(features, labels)
            slopes = np.atleast_2d(ridge.coef_).T
            return cls(slopes, np.atleast_1d(ridge.intercept_).astype(np.float64), False)
        slopes = np.zeros((features.shape[1], n_classes))
        intercept = np.full(n_classes, -np.inf)
        present = np.unique(labels)
        if len(present) == 1:
            intercept[present] = 0.0
            return cls(slopes, np.maximum(intercept, MIN_LOG_ODDS), True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            logistic = LogisticRegression(max_iter=1000).fit(features, labels)
        coefficients, offsets = logistic.coef_, logistic.intercept_
        if len(present) == 2:
            coefficients = np.vstack([-coefficients, coefficients]) / 2
            offsets = np.concatenate([-offsets, offsets]) / 2
        slopes[:, present], intercept[present] = coefficients.T, offsets
        return cls(slopes, np.maximum(intercept, MIN_LOG_ODDS), True)

    def predict(self, features: Floats) -> Floats:
        raw = features @ self.slopes + self.intercept
        return softmax(raw, axis=1) if self.is_class else raw

    def state(self) -> dict[str, Any]:
        return {"slopes": self.slopes, "intercept": self.intercept, "is_class": self.is_class}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        slopes, intercept = state["slopes"], state["intercept"]
        if slopes.ndim != 2 or intercept.shape != slopes.shape[1:]:
            raise ValueError("the slopes do not fit the intercept")
        return cls(slopes, intercept, bool(state["is_class"]))


MIN_LOG_ODDS = -30.0
"""Of a class that was not there to learn from: never, as far as double precision goes."""

PREDICTORS: Registry[type[Predictor]] = Registry("predictor")
PREDICTORS.add(LinearPredictor.name, LinearPredictor)


def register_predictor(kind: type[Predictor]) -> type[Predictor]:
    """Make a predictor known by its `name`; usable as a decorator."""
    return PREDICTORS.add(kind.name, kind)


def predictor_named(name: str) -> type[Predictor]:
    """The class of that name; refused with the known names where there is none."""
    return PREDICTORS[name]


def list_predictors() -> list[str]:
    """The names that can be asked for, beside the variational network itself."""
    return PREDICTORS.names()
