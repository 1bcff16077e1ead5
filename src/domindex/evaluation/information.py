"""Entropy and mutual information of discrete tables: exact, in nats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from domindex.arrays import Floats
from domindex.errors import InputError


def entropy(table: ArrayLike, axes: Sequence[int] | None = None) -> float:
    """H(a) = −Σ p(a) log p(a) of the variables on `axes` of a joint distribution; None for all.

    Examples
    --------
    A fair coin holds log 2 nats:

    >>> round(entropy([0.5, 0.5]), 4)
    0.6931
    """
    joint = _check_table(table)
    return _entropy(joint, set(range(joint.ndim)) if axes is None else _check_axes(joint, axes))


def mutual_information(
    table: ArrayLike, first: Sequence[int], second: Sequence[int], given: Sequence[int] = ()
) -> float:
    """I(a; b | c) = H(a, c) + H(b, c) − H(a, b, c) − H(c) of a joint distribution.

    Parameters
    ----------
    table : probabilities, one axis per variable; axes in no group are summed out
    first : axes of a
    second : axes of b
    given : axes of c; may be empty

    Examples
    --------
    Two coins that always agree tell all about each other:

    >>> round(mutual_information([[0.5, 0.0], [0.0, 0.5]], first=[0], second=[1]), 4)
    0.6931
    """
    joint = _check_table(table)
    a, b, c = (_check_axes(joint, group) for group in (first, second, given))
    if not a or not b:
        raise InputError("first and second must each name at least one axis of the table.")
    if a & b or a & c or b & c:
        raise InputError(
            f"first {sorted(a)}, second {sorted(b)} and given {sorted(c)} overlap. "
            "Name each axis in one group only."
        )
    alone = _entropy(joint, a | c) + _entropy(joint, b | c)
    return alone - _entropy(joint, a | b | c) - _entropy(joint, c)


def _entropy(joint: Floats, axes: set[int]) -> float:
    marginal = joint.sum(axis=tuple(set(range(joint.ndim)) - axes))
    positive = marginal[marginal > 0.0]
    return float(-(positive * np.log(positive)).sum())


def _check_table(table: ArrayLike) -> Floats:
    try:
        joint = np.array(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("table is not a rectangular array of numbers.") from None
    if not joint.ndim or not np.isfinite(joint).all() or (joint < 0.0).any():
        raise InputError(
            f"table has shape {joint.shape} and holds negative, NaN or infinite entries, or is a "
            "single number. Pass probabilities with one axis per variable."
        )
    if abs(joint.sum() - 1.0) > 1e-6:
        raise InputError(
            f"table adds up to {joint.sum():.6g}. Divide counts by their sum: "
            "probabilities add up to 1."
        )
    return joint


def _check_axes(joint: Floats, axes: Sequence[int]) -> set[int]:
    unknown = [axis for axis in axes if axis not in range(joint.ndim)]
    if unknown:
        raise InputError(f"{unknown} names no axis of the table, which has 0 to {joint.ndim - 1}.")
    return {int(axis) for axis in axes}
