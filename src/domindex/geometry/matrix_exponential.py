"""The exponential of many small matrices at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DEGREE = 16
LARGEST_NORM = 0.78
"""Taylor's polynomial of this degree is exact to double precision up to this norm (Higham, 2008,
table 10.2, gives 0.78 for degree 16)."""

_COEFFICIENTS = 1.0 / np.cumprod([1.0, *range(1, DEGREE + 1)])


def exponentials(matrices: Floats) -> Floats:
    """exp(A) of every matrix of a stack (n, p, p), by scaling and squaring.

    NaN where any entry is not finite. All are scaled alike, and the polynomial is evaluated by
    products of whole stacks: six of them, and one for every squaring. SciPy's `expm` goes through
    a stack matrix by matrix, which for matrices of this size takes several times as long.
    """
    norm = float(np.abs(matrices).sum(axis=-2).max(initial=0.0))
    if not np.isfinite(norm):
        return np.full_like(matrices, np.nan)
    squarings = int(np.ceil(np.log2(max(norm / LARGEST_NORM, 1.0))))
    result = _taylor(matrices / 2.0**squarings)
    for _ in range(squarings):
        result = result @ result
    return result


def _taylor(matrices: Floats) -> Floats:
    """Σ Aᵏ/k! up to `DEGREE`, in powers of A⁴ (Paterson and Stockmeyer)."""
    second = matrices @ matrices
    third = second @ matrices
    fourth = second @ second
    identity = np.eye(matrices.shape[-1])
    c = _COEFFICIENTS
    result = c[DEGREE] * fourth
    for k in range(DEGREE - 4, -1, -4):
        result += c[k + 3] * third + c[k + 2] * second + c[k + 1] * matrices + c[k] * identity
        if k:
            result = result @ fourth
    return result
