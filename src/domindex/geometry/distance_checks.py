"""Checks shared by the functions that take a distance matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from domindex.errors import InputError


def check_distances(distances: ArrayLike) -> NDArray[np.float64]:
    """A finite, symmetric, non-negative (N, N) matrix with zero diagonal, as a new array."""
    matrix = np.array(distances, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise InputError(
            f"distances has shape {matrix.shape}. Pass a square matrix with a row per domain."
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InputError(
            "distances holds NaN, infinite or negative entries. "
            "Pass finite distances, for example from transport_distances."
        )
    tolerance = 1e-8 * max(float(matrix.max()), np.finfo(float).tiny)
    if np.abs(matrix - matrix.T).max() > tolerance or np.abs(np.diag(matrix)).max() > tolerance:
        raise InputError(
            "distances is not symmetric with a zero diagonal. "
            "Symmetrise it with (D + D.T) / 2 and set its diagonal to zero."
        )
    return matrix
