"""Entropy and mutual information of discrete tables: exact, in nats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from domindex.errors import InputError

ROUNDING = 1e-6
"""How far the entries of a table may add up from one."""


def entropy(table: ArrayLike, axes: Sequence[int] | None = None) -> float:
    """H of the variables on `axes` of a joint distribution, all of them where None.

    H(a) = −Σ p(a) log p(a), with 0 log 0 = 0.

    Examples
    --------
    A fair coin holds log 2 nats:

    >>> from domindex.evaluation import entropy
    >>> round(entropy([0.5, 0.5]), 4)
    0.6931
    """
    joint = _check_table(table)
    kept = range(joint.ndim) if axes is None else _check_axes(joint, axes)
    return _entropy(joint, set(kept))


def mutual_information(
    table: ArrayLike, first: Sequence[int], second: Sequence[int], given: Sequence[int] = ()
) -> float:
    """I(first; second | given), each a group of axes of a joint distribution.

    I(a; b | c) = H(a, c) + H(b, c) − H(a, b, c) − H(c). Axes in no group are summed out.

    Parameters
    ----------
    table : probabilities, one axis per variable
    first : axes of the table
    second : axes of the table, none of them in `first`
    given : axes of the table that are known; may be empty

    Examples
    --------
    Two coins that always agree tell all about each other:

    >>> from domindex.evaluation import mutual_information
    >>> round(mutual_information([[0.5, 0.0], [0.0, 0.5]], first=[0], second=[1]), 4)
    0.6931
    """
    joint = _check_table(table)
    a, b, c = (set(_check_axes(joint, group)) for group in (first, second, given))
    if not a or not b:
        raise InputError("first and second must each name at least one axis of the table.")
    if a & b or a & c or b & c:
        raise InputError(
            f"first {sorted(a)}, second {sorted(b)} and given {sorted(c)} overlap. "
            "Name each axis in one group only."
        )
    return (
        _entropy(joint, a | c)
        + _entropy(joint, b | c)
        - _entropy(joint, a | b | c)
        - _entropy(joint, c)
    )


def _entropy(joint: NDArray[np.float64], kept: set[int]) -> float:
    marginal = joint.sum(axis=tuple(set(range(joint.ndim)) - kept))
    positive = marginal[marginal > 0.0]
    return float(-(positive * np.log(positive)).sum())


def _check_table(table: ArrayLike) -> NDArray[np.float64]:
    try:
        joint = np.array(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("table is not a rectangular array of numbers.") from None
    if not joint.ndim or not np.isfinite(joint).all() or (joint < 0.0).any():
        raise InputError(
            f"table has shape {joint.shape} and holds negative, NaN or infinite entries, or is a "
            "single number. Pass probabilities with one axis per variable."
        )
    if abs(joint.sum() - 1.0) > ROUNDING:
        raise InputError(
            f"table adds up to {joint.sum():.6g}. Divide counts by their sum: "
            "probabilities add up to 1."
        )
    return joint


def _check_axes(joint: NDArray[np.float64], axes: Sequence[int]) -> list[int]:
    wanted = list(axes)
    unknown = [axis for axis in wanted if axis not in range(joint.ndim)]
    if unknown:
        raise InputError(f"{unknown} names no axis of the table, which has 0 to {joint.ndim - 1}.")
    return [int(axis) for axis in wanted]
