"""Families of motions of a grid, from none to the freest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError

Floats = NDArray[np.float64]

PICTURE_FAMILIES = ("none", "shift", "turn", "rigid", "similarity", "affine")
SIGNAL_FAMILIES = ("none", "shift", "stretch", "affine")

_SHIFTS = [[[0, 0, 1], [0, 0, 0]], [[0, 0, 0], [0, 0, 1]]]
_TURN = [[0, 1, 0], [-1, 0, 0]]
_ZOOM = [[1, 0, 0], [0, 1, 0]]
_STRAINS = [[[1, 0, 0], [0, -1, 0]], [[0, 1, 0], [1, 0, 0]]]
_PICTURES = {
    "none": [],
    "shift": _SHIFTS,
    "turn": [_TURN],
    "rigid": [*_SHIFTS, _TURN],
    "similarity": [*_SHIFTS, _TURN, _ZOOM],
    "affine": [*_SHIFTS, _TURN, _ZOOM, *_STRAINS],
}
_SIGNALS = {
    "none": [],
    "shift": [[[0, 1]]],
    "stretch": [[[1, 0]]],
    "affine": [[[0, 1]], [[1, 0]]],
}


def grid_families(n_axes: int) -> tuple[str, ...]:
    """Names, from none to the freest, for signals (1 axis) and pictures (2)."""
    return SIGNAL_FAMILIES if n_axes == 1 else PICTURE_FAMILIES


def grid_generators(family: str, n_axes: int) -> Floats:
    """The blocks [G g] that a family allows, (generators, axes, axes + 1).

    Pictures: shift along either axis, turn and zoom about the middle, two strains. Signals: shift
    and stretch of time. Each moves the edge of the longest axis at about unit speed.

    Examples
    --------
    >>> from domindex.geometry.grid_families import grid_generators
    >>> grid_generators("turn", 2).tolist()
    [[[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]]
    >>> grid_generators("affine", 1).shape
    (2, 1, 2)
    """
    known = _SIGNALS if n_axes == 1 else _PICTURES
    if family not in known:
        raise InputError(f"family is {family!r}. Choose one of {tuple(known)}.")
    return np.array(known[family], dtype=np.float64).reshape(-1, n_axes, n_axes + 1)
