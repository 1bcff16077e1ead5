"""Deviations that mean what they say in a domain that was never seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Floats = NDArray[np.float64]


def conformal_factors(
    residuals: Floats, deviations: Floats, weights: Floats, coverage: float = 0.9
) -> Floats:
    """Factors (outputs,) for the deviations, so that they and their intervals hold what they say.

    A network's variance is learned where it was trained; an unseen domain is further off. The
    residuals (rows, outputs) are of predictions for source domains that were held out. The factor
    is the larger of two. By the first, an interval of probability `coverage` holds that share of
    them. Where errors have heavy tails, most of them are small and that share says nothing about
    the few that are large: by the second, the deviation is no smaller than the root mean square of
    the errors, as the word promises. For errors that are Gaussian the two agree.
    """
    ratios = np.abs(residuals) / deviations
    order = np.argsort(ratios, axis=0)
    shares = np.cumsum(weights[order], axis=0) / weights.sum()
    first = np.minimum((shares < coverage).sum(axis=0), len(ratios) - 1)
    outputs = np.arange(ratios.shape[1])
    by_share = ratios[order[first, outputs], outputs] / norm.ppf(0.5 + coverage / 2)
    by_square = np.sqrt(weights @ ratios**2 / weights.sum())
    return np.maximum(by_share, by_square)
