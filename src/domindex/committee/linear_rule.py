"""A linear rule for values, in closed form: it extrapolates where a network would not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from domindex.committee.folds import held_out_folds

Floats = NDArray[np.float64]

RULE_PENALTIES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
"""Tried on held-out domains, for rows of unit mean variance."""

MAX_RULE_FOLDS = 24
"""Of source domains; more domains are held out several at a time."""

LEAST_WEIGHT = 1e-12
"""So that rows which all count for nothing still have a mean."""


@dataclass(frozen=True, eq=False)
class LinearRule:
    """y = z · slopes + intercept, slopes (p, outputs)."""

    slopes: Floats
    intercept: Floats

    def predict(self, rows: Floats) -> Floats:
        return rows @ self.slopes + self.intercept

    def mixed(self, other: LinearRule, share: float) -> LinearRule:
        """This rule with a share of another."""
        return LinearRule(
            (1 - share) * self.slopes + share * other.slopes,
            (1 - share) * self.intercept + share * other.intercept,
        )


def solve_rules(
    rows: Floats, values: Floats, weights: Floats, penalties: tuple[float, ...]
) -> list[LinearRule]:
    """Weighted ridge regressions, one a penalty: min Σ wᵢ |yᵢ − zᵢ·C − c|² + λ |C|², Σ w = 1."""
    return _Sums.of(rows, values, weights + LEAST_WEIGHT).solve(penalties)


def held_out_predictions(
    rows: Floats,
    values: Floats,
    weights: Floats,
    domains: NDArray[np.int64],
    penalties: tuple[float, ...],
) -> list[Floats]:
    """Predictions (rows, outputs) by rules that never saw the row's domain, one a penalty.

    The sums of every fold are taken once, and those of the others added up.
    """
    centre, mean = rows.mean(axis=0), values.mean(axis=0)
    rows, values, weights = rows - centre, values - mean, weights + LEAST_WEIGHT
    predicted = [np.empty_like(values) for _ in penalties]
    folds = held_out_folds(domains, MAX_RULE_FOLDS)
    sums = [_Sums.of(rows[test], values[test], weights[test]) for test in folds]
    for number, test in enumerate(folds):
        others = sums[:number] + sums[number + 1 :]
        for held_out, rule in zip(predicted, reduce(_Sums.plus, others).solve(penalties)):
            held_out[test] = rule.predict(rows[test]) + mean
    return predicted


@dataclass(frozen=True, eq=False)
class _Sums:
    """Σ w, Σ w z, Σ w y, Σ w z zᵀ and Σ w z yᵀ: all that a ridge regression needs of its rows."""

    weight: float
    rows: Floats
    values: Floats
    squares: Floats
    products: Floats

    @classmethod
    def of(cls, rows: Floats, values: Floats, weights: Floats) -> _Sums:
        weighted = (rows * weights[:, None]).T
        return cls(
            float(weights.sum()),
            weighted.sum(axis=1),
            weights @ values,
            weighted @ rows,
            weighted @ values,
        )

    def plus(self, other: _Sums) -> _Sums:
        return _Sums(
            self.weight + other.weight,
            self.rows + other.rows,
            self.values + other.values,
            self.squares + other.squares,
            self.products + other.products,
        )

    def solve(self, penalties: tuple[float, ...]) -> list[LinearRule]:
        centre, mean = self.rows / self.weight, self.values / self.weight
        covariance = self.squares / self.weight - np.outer(centre, centre)
        eigenvalues, vectors = eigh(covariance)
        products = vectors.T @ (self.products / self.weight - np.outer(centre, mean))
        stretched = np.maximum(eigenvalues, 0.0)
        slopes = [vectors @ (products / (stretched + p)[:, None]) for p in penalties]
        return [LinearRule(slope, mean - centre @ slope) for slope in slopes]
