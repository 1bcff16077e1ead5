"""Weights under which the rows of one group look like those of another, to second moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize

Floats = NDArray[np.float64]

BALANCED_DIRECTIONS = 8
"""Principal directions whose moments are balanced: 8 have 44 moments."""

BALANCED_ROWS = 10_000
"""Rows on which the multipliers are found; they weigh all."""

BALANCING_PENALTY = 1e-3
"""Of the squared multipliers, for moments in units of their deviation: moments that only extreme
weights could match are matched in part."""


def balancing_weights(rows: Floats, goal: Floats) -> Floats:
    """Weights (n,) of `rows` (n, p), summing to 1, with the first and second moments of `goal`.

    Of all such weights, those of largest entropy: wᵢ ∝ exp(θ·φ(zᵢ)), with φ the moments along the
    principal directions of `rows`. θ minimises the convex log mean exp(θ·φ) − θ·φ̄(goal).
    """
    directions = _principal_directions(rows)
    moments, wanted = _moments(rows @ directions), _moments(goal @ directions)
    centre, spread = moments.mean(axis=0), moments.std(axis=0)
    spread[spread == 0.0] = 1.0
    moments = (moments - centre) / spread
    wanted_mean = ((wanted - centre) / spread).mean(axis=0)
    some = moments[np.random.default_rng(0).permutation(len(moments))[:BALANCED_ROWS]]

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        weights, log_mean = _tilted(some, multipliers)
        value = (
            log_mean - multipliers @ wanted_mean + BALANCING_PENALTY / 2 * multipliers @ multipliers
        )
        return value, weights @ some - wanted_mean + BALANCING_PENALTY * multipliers

    start = np.zeros(moments.shape[1])
    found = minimize(dual, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return _tilted(moments, found)[0]


def effective_sample_fraction(weights: Floats) -> float:
    """The share of rows that weights summing to 1 really use: 1 where all count the same."""
    return float(1.0 / (len(weights) * (weights @ weights)))


def _tilted(moments: Floats, multipliers: Floats) -> tuple[Floats, float]:
    """Weights ∝ exp(θ·φ), and log mean exp(θ·φ)."""
    exponents = moments @ multipliers
    top = exponents.max()
    tilt = np.exp(exponents - top)
    return tilt / tilt.sum(), float(top + np.log(tilt.mean()))


def _principal_directions(rows: Floats) -> Floats:
    """(p, ≤ 8), without directions along which the rows do not vary."""
    values, vectors = eigh(np.atleast_2d(np.cov(rows.T, bias=True)))
    varying = values > 1e-8 * max(values[-1], 1e-300)
    return vectors[:, varying][:, -BALANCED_DIRECTIONS:]


def _moments(rows: Floats) -> Floats:
    first, second = np.triu_indices(rows.shape[1])
    return np.hstack([rows, rows[:, first] * rows[:, second]])
