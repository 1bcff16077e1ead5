"""Single numbers that are out of all proportion to their column, and what is done about them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from domindex.data.domain_data import DomainData
from domindex.data.messages import frames_inside, shortened
from domindex.errors import ExtremeValueWarning

Floats = NDArray[np.float64]

OUT_OF_PROPORTION = 1e8
"""Of the median distance from the median, beyond which a value is no tail of any distribution but
an error: 999999999999 for "not known", a unit that was forgotten. Far beyond whatever one of the
benchmark's columns holds, so that none of its results depends on it; not tuned."""

MOST_SHARE = 0.01
"""Of the rows, and at least one row: more of them are a distribution of their own, and are kept."""


def tame_outliers(data: DomainData, names: Sequence[str] | None = None) -> DomainData:
    """The data with every value out of proportion moved to the nearest one that is not.

    A single one would decide on the scale, the map and every mean. It warns by the name of the
    column, or its number, and by the row. Data without such values come back as they are. Pictures
    and signals are not looked at.

    Examples
    --------
    >>> import warnings
    >>> from domindex.data import check_domain_data
    >>> X, names = [[0.0], [1.0], [2.0], [3.0], [1e12]], ["a", "a", "a", "b", "b"]
    >>> data = check_domain_data(X, [0, 1, 0, 0, 0], names, source_domains=["a"])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tame_outliers(data).inputs.ravel().tolist()
    [0.0, 1.0, 2.0, 3.0, 3.0]
    """
    inputs, labels = data.inputs, data.labels
    if inputs.ndim == 2:
        told = range(inputs.shape[1]) if names is None else list(names)
        called = [f"The column {shortened(n)} of X" for n in told]
        inputs = _tamed(inputs, np.ones(len(inputs), dtype=bool), called)
    if data.task == "regression":
        called = [f"Output {n} of y" for n in range(labels.shape[1])]
        labels = _tamed(labels, data.row_is_source, called)
    if inputs is data.inputs and labels is data.labels:
        return data
    return replace(data, inputs=inputs, labels=labels)


def _tamed(values: NDArray, looked_at: NDArray[np.bool_], called: Sequence[str]) -> NDArray:
    """The same array where nothing is out of proportion, else a copy."""
    known = values[looked_at]
    away = np.abs(known - np.median(known, axis=0))
    usual = np.median(away, axis=0)
    result = values
    for column in np.flatnonzero(away.max(axis=0) > OUT_OF_PROPORTION * usual).tolist():
        odd = _out_of_proportion(away[:, column])
        if not odd.any():
            continue
        result = values.copy() if result is values else result
        ordinary = known[~odd, column]
        rows = np.flatnonzero(looked_at)[odd]
        tamed = np.clip(values[rows, column], ordinary.min(), ordinary.max())
        warnings.warn(
            f"{called[column]} holds {values[rows[0], column]:.6g} in row {rows[0]}"
            f"{f' and {len(rows) - 1} more such values' if len(rows) > 1 else ''}, out of all "
            f"proportion to the others ({ordinary.min():.6g} to {ordinary.max():.6g}). It counts "
            f"as {tamed[0]:.6g} in learning. Correct it, or leave the row out.",
            ExtremeValueWarning,
            stacklevel=frames_inside(),
        )
        result[rows, column] = tamed
    return result


def _out_of_proportion(away: Floats) -> NDArray[np.bool_]:
    """(rows,) of one column; none where the others do not vary, or where they are many."""
    varying = away[away > 0]
    usual = float(np.median(varying)) if len(varying) else 0.0
    odd = np.asarray(away > OUT_OF_PROPORTION * usual)
    few = odd.sum() <= max(1, int(MOST_SHARE * len(odd)))
    return odd if usual > 0 and few else np.zeros(len(away), dtype=bool)
