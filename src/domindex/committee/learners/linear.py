"""Logistic regression for classes, ridge regression for values, saved as plain arrays."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from domindex.arrays import Floats
from domindex.committee.learners.base import Learner, Predictor, Round, weighted_rows
from domindex.errors import InputError
from domindex.inputs.domain_data import InputLayout
from domindex.persistence.saved import Saved

if TYPE_CHECKING:
    from torch import nn


def solve_ridge(
    rows: Floats, values: Floats, weights: Floats, penalty: float
) -> tuple[Floats, Floats]:
    """Slopes C (p, outputs) and intercept c: min Σ wᵢ |yᵢ − zᵢ·C − c|² + λ |C|², Σ w = 1."""
    weights = weights + 1e-12  # rows which all count for nothing still have a mean
    weights = weights / weights.sum()
    centre, mean = weights @ rows, weights @ values
    weighted = ((rows - centre) * weights[:, None]).T
    eigenvalues, vectors = eigh(weighted @ (rows - centre))
    products = vectors.T @ (weighted @ (values - mean))
    slopes = vectors @ (products / (np.maximum(eigenvalues, 0.0) + penalty)[:, None])
    return slopes, mean - centre @ slopes


@dataclass(frozen=True, eq=False)
class LinearPredictor(Saved, Predictor):
    """y = (x − centre) · slopes + intercept."""

    kind: ClassVar[str] = "linear"
    name: ClassVar[str] = "linear"  # type: ignore[misc]
    centre: Floats  # (p,) the mean of the rows that were learned from
    slopes: Floats  # (p, classes) or (p, outputs)
    intercept: Floats  # (classes,) or (outputs,); −∞ for a class that was not there to learn from
    is_class: bool  # whether the outputs are log-odds

    def predict(self, features: Floats) -> Floats:
        raw = (features - self.centre) @ self.slopes + self.intercept
        return softmax(raw, axis=1) if self.is_class else raw

    def torch_module(self) -> nn.Module:
        import torch
        from torch import nn

        layer = nn.Linear(*self.slopes.shape).double()
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(self.slopes.T))
            layer.bias.copy_(torch.tensor(self.intercept - self.centre @ self.slopes))
        return nn.Sequential(layer, nn.Softmax(dim=1)) if self.is_class else layer

    def _check_state(self) -> None:
        if (
            self.slopes.ndim != 2
            or (*self.centre.shape, *self.intercept.shape) != self.slopes.shape
        ):
            raise ValueError("the slopes do not fit the intercept and the centre")
        usable = np.isfinite(self.slopes).all() and np.isfinite(self.centre).all()
        if self.centre.ndim != 1 or not usable:
            raise ValueError("the slopes are no numbers")


@dataclass(frozen=True)
class LinearLearner(Learner):
    """Features are brought to unit variance; the penalty is relative to the mean loss of a row.

    Classes: min mean(log loss) + penalty/2 · |slopes|². Values: min mean(|error|²) + penalty ·
    |slopes|². Means are weighted where rows are. With `same_units` one number divides all features,
    so that a cell of a picture that is dark in nearly all rows is not blown up; so it does with the
    last features where `together` says that these are one point of the map, however it lies.
    """

    extrapolates: ClassVar[bool] = True
    on_encoding: ClassVar[bool] = True
    may_balance: ClassVar[bool] = True
    rounds: ClassVar[dict[str, Round]] = {"full": Round(0), "quick": Round(0)}

    penalty: float = 1e-3  # of the slopes
    name: str = "linear"
    same_units: bool = False
    together: int = 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.penalty) and self.penalty > 0):
            raise InputError(f"penalty is {self.penalty!r}. Choose a finite number above 0.")

    def for_layout(self, layout: InputLayout) -> LinearLearner:
        return replace(self, same_units=True) if layout.is_grid else self

    def with_map_coordinates(self, count: int) -> LinearLearner:
        return replace(self, together=count)

    def variants(self, penalties: tuple[float, ...]) -> list[Learner]:
        return [replace(self, penalty=penalty) for penalty in penalties]

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> LinearPredictor:
        features, labels, weights = weighted_rows(features, labels, weights)
        weights = np.ones(len(features)) if weights is None else weights
        centre = np.average(features, axis=0, weights=weights)
        scale = np.sqrt(np.average((features - centre) ** 2, axis=0, weights=weights))
        if self.same_units:
            scale = np.full(len(scale), np.sqrt(np.mean(scale**2)))
        if self.together:
            scale[-self.together :] = np.sqrt(np.mean(scale[-self.together :] ** 2))
        size = np.abs(features).max(axis=0)
        scale = np.where(scale > 1e-12 * size, scale, np.inf)  # constant up to rounding
        scaled = (features - centre) / scale
        if n_classes is None:
            slopes, intercept = solve_ridge(scaled, labels, weights, self.penalty)
        else:
            slopes, intercept = self._log_odds(scaled, labels, n_classes, weights)
        return LinearPredictor(centre, slopes / scale[:, None], intercept, n_classes is not None)

    def _log_odds(
        self, scaled: Floats, labels: NDArray, n_classes: int, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Slopes (p, classes) and intercept (classes,) of the classes that are there."""
        slopes, intercept = np.zeros((scaled.shape[1], n_classes)), np.full(n_classes, -np.inf)
        present = np.unique(labels)
        if len(present) == 1:
            intercept[present] = 0.0
            return slopes, intercept
        strength = 1 / (self.penalty * weights.sum())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            logistic = LogisticRegression(C=strength, max_iter=1000)
            logistic.fit(scaled, labels, sample_weight=weights)
        coefficients, offsets = logistic.coef_, logistic.intercept_
        if len(present) == 2:
            coefficients = np.vstack([-coefficients, coefficients]) / 2
            offsets = np.concatenate([-offsets, offsets]) / 2
        slopes[:, present], intercept[present] = coefficients.T, offsets
        return slopes, intercept


@dataclass(frozen=True)
class LinearMixture(Learner):
    """Linear rules that differ in their penalty alone, each with its share: a linear rule again.

    Their slopes are averaged. What it predicts are the rules' mean values, or the geometric mean of
    their probabilities: see `mixed`.
    """

    extrapolates: ClassVar[bool] = True
    rules: tuple[LinearLearner, ...]
    shares: tuple[float, ...]
    name: str = "linear"

    def fit(self, *rows: Any, **weights: Any) -> LinearPredictor:
        fitted = [rule.fit(*rows, **weights) for rule in self.rules]
        slopes, intercept = (
            np.tensordot(self.shares, np.stack([getattr(one, name) for one in fitted]), axes=1)
            for name in ("slopes", "intercept")
        )
        return replace(fitted[0], slopes=slopes, intercept=intercept)

    def mixed(self, predicted: Floats, is_class: bool) -> Floats:
        """(n, columns) what the mixture predicts, from what its rules do (rules, n, columns).

        Rules may be so sure of different classes that none is left: then what is nearly 0 counts.
        """
        if not is_class:
            return np.tensordot(self.shares, predicted, axes=1)
        known = np.maximum(predicted, np.finfo(np.float64).tiny)
        return softmax(np.tensordot(self.shares, np.log(known), axes=1), axis=1)
