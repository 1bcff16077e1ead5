"""Weights of a committee: what mixture would have predicted the held-out domains best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from domindex.committee.held_out_rows import LEAST_PROBABILITY, HeldOutRows

Floats = NDArray[np.float64]
Gradient = Callable[[Floats], Floats]

STEP = 0.25
"""Of exponentiated gradients, relative to the scale of the loss; small enough to be stable."""

MOST_STEP = 2.0
"""Of the logarithm of a weight: where one row outvotes all others a step has no end."""

MOST_STACKED = 3000
"""Held-out rows on which a mixture of classes is found; for time, not tuned."""


def stack(
    predicted: Floats,
    prices: Floats,
    rows: HeldOutRows,
    scale: float,
    *,
    draws: int,
    steps: int,
    seed: int,
) -> Floats:
    """Weights (candidates,), not negative, summing to 1, of predictions (candidates, n, columns).

    They minimise the loss of the mixture plus what each candidate costs beyond its losses
    (`prices`, per unit of weight), by exponentiated gradients from equal weights. `scale` is the
    size of a loss that matters. Held-out domains are few: the weights are averaged over draws of
    them (Bayesian bootstrap), so that what a single domain decides is shared out.
    """
    rng = np.random.default_rng(seed)
    domains, place = np.unique(rows.domains, return_inverse=True)
    of_rows = draw_domains(len(domains), draws, rng)[:, place] * rows.row_weights
    of_rows /= of_rows.sum(axis=1, keepdims=True)
    gradient = (
        _log_gradient(predicted, rows, of_rows, rng)
        if rows.unit is None
        else _square_gradient(predicted, rows, of_rows)
    )
    weights = np.full((len(of_rows), len(predicted)), 1.0 / len(predicted))
    for _ in range(steps):
        slope = gradient(weights) + prices
        slope -= (weights * slope).sum(axis=1, keepdims=True)
        weights *= np.exp(np.clip(-STEP * slope / scale, -MOST_STEP, MOST_STEP))
        weights /= weights.sum(axis=1, keepdims=True)
    return weights.mean(axis=0)


def draw_domains(n_domains: int, draws: int, rng: np.random.Generator) -> Floats:
    """(draws, n_domains) how much domains count, 1 on average; all alike in the first draw."""
    drawn = rng.dirichlet(np.ones(n_domains), size=max(draws - 1, 0)) * n_domains
    return np.vstack([np.ones(n_domains), drawn])


def _log_gradient(
    predicted: Floats, rows: HeldOutRows, of_rows: Floats, rng: np.random.Generator
) -> Gradient:
    """Of the mean −log Σ w p(label), for weights (draws, candidates)."""
    some = rng.permutation(predicted.shape[1])[:MOST_STACKED]
    labels = rows.labels[some]
    known = np.maximum(predicted[:, some, labels], LEAST_PROBABILITY)
    share = of_rows[:, some]
    share = share / share.sum(axis=1, keepdims=True)

    def gradient(weights: Floats) -> Floats:
        return -(share / (weights @ known)) @ known.T

    return gradient


def _square_gradient(predicted: Floats, rows: HeldOutRows, of_rows: Floats) -> Gradient:
    """Of the mean squared error of the mixture, by the errors' products."""
    errors = (predicted - rows.labels) / rows.unit
    n_outputs = errors.shape[2]
    products = np.stack(
        [
            sum((errors[:, :, k] * share) @ errors[:, :, k].T for k in range(n_outputs)) / n_outputs
            for share in of_rows
        ]
    )

    def gradient(weights: Floats) -> Floats:
        return 2 * np.einsum("bcd,bd->bc", products, weights)

    return gradient
