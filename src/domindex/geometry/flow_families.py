"""Families of affine flows, from the simplest to the freest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError

FAMILIES = ("shift", "spin", "rigid", "linear", "affine")


def family_basis(
    family: str, n_features: int, origin: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Columns that span the generators [G g] of a family, (p (p + 1), parameters).

    shift: G = 0. spin: G skew, with `origin` (p,) at rest: a rotation about it. rigid: G skew and
    any g. linear: G free, with `origin` at rest. affine: everything. Columns have unit length.
    """
    centre = np.zeros(n_features) if origin is None else origin
    families = {
        "shift": _shifts(n_features),
        "spin": [_about(centre, matrix) for matrix in _rotations(n_features)],
        "rigid": _rotations(n_features) + _shifts(n_features),
        "linear": [_about(centre, matrix) for matrix in _entries(n_features)],
        "affine": _entries(n_features) + _shifts(n_features),
    }
    if family not in families:
        raise InputError(f"family is {family!r}. Choose one of {FAMILIES}.")
    size = n_features * (n_features + 1)
    return np.array([matrix.ravel() for matrix in families[family]]).reshape(-1, size).T


def _about(centre: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The generator [G, −G c], which leaves c where it is."""
    turned = matrix.copy()
    turned[:, -1] = -matrix[:, :-1] @ centre
    return turned / np.linalg.norm(turned)


def _unit(n_features: int, row: int, column: int) -> NDArray[np.float64]:
    matrix = np.zeros((n_features, n_features + 1))
    matrix[row, column] = 1.0
    return matrix


def _shifts(n_features: int) -> list[NDArray[np.float64]]:
    return [_unit(n_features, row, n_features) for row in range(n_features)]


def _entries(n_features: int) -> list[NDArray[np.float64]]:
    return [_unit(n_features, i, j) for i in range(n_features) for j in range(n_features)]


def _rotations(n_features: int) -> list[NDArray[np.float64]]:
    return [
        (_unit(n_features, i, j) - _unit(n_features, j, i)) * 0.5**0.5
        for i in range(n_features)
        for j in range(i)
    ]
