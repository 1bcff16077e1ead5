"""A linear rule for values, in closed form: it extrapolates where a network would not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Floats = NDArray[np.float64]

LEAST_WEIGHT = 1e-12
"""So that rows which all count for nothing still have a mean."""


@dataclass(frozen=True, eq=False)
class LinearRule:
    """y = z · slopes + intercept, slopes (p, outputs)."""

    slopes: Floats
    intercept: Floats

    def predict(self, rows: Floats) -> Floats:
        return rows @ self.slopes + self.intercept


def solve_rules(
    rows: Floats, values: Floats, weights: Floats, penalties: tuple[float, ...]
) -> list[LinearRule]:
    """Weighted ridge regressions, one a penalty: min Σ wᵢ |yᵢ − zᵢ·C − c|² + λ |C|², Σ w = 1."""
    weights = weights + LEAST_WEIGHT
    weights = weights / weights.sum()
    centre, mean = weights @ rows, weights @ values
    weighted = ((rows - centre) * weights[:, None]).T
    eigenvalues, vectors = eigh(weighted @ (rows - centre))
    products = vectors.T @ (weighted @ (values - mean))
    stretched = np.maximum(eigenvalues, 0.0)
    slopes = [vectors @ (products / (stretched + p)[:, None]) for p in penalties]
    return [LinearRule(slope, mean - centre @ slope) for slope in slopes]
