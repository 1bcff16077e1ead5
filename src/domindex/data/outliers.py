"""Single values of y that are out of all proportion to the others, and what is done about them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from domindex.data.domain_data import DomainData
from domindex.data.messages import frames_inside
from domindex.errors import ExtremeValueWarning

Floats = NDArray[np.float64]

OUT_OF_PROPORTION = 1e8
"""Of the median distance from the median, beyond which a value is no tail of any distribution but
an error: 999999999999 for "not known", a unit that was forgotten. Far beyond whatever one of the
benchmark's columns holds, so that none of its results depends on it; not tuned."""

MOST_SHARE = 0.01
"""Of the rows, and at least one row: more of them are a distribution of their own, and are kept."""


def tame_labels(data: DomainData) -> DomainData:
    """The data with every value of y out of proportion moved to the nearest one that is not.

    A single one would decide on the scale of outputs and every mean. It warns by output and row.
    Data without such values, and classes, come back as they are. Inputs have bounds of their own,
    `InputBounds`.

    Examples
    --------
    >>> import warnings
    >>> from domindex.data import check_domain_data
    >>> X, names = [[0.0]] * 6, ["a", "a", "a", "a", "a", "b"]
    >>> y = [0.5, 1.0, 2.0, 3.0, 1e12, 0.0]
    >>> data = check_domain_data(X, y, names, source_domains=["a"], task="regression")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tame_labels(data).labels[:5].ravel().tolist()
    [0.5, 1.0, 2.0, 3.0, 3.0]
    """
    if data.task != "regression":
        return data
    called = [f"Output {n} of y" for n in range(data.labels.shape[1])]
    labels = _tamed(data.labels, data.row_is_source, called)
    return data if labels is data.labels else replace(data, labels=labels)


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
