"""Columns of the data, one value per domain: what a map can be coloured by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from domindex.data import check_inputs, group_rows
from domindex.data.names import is_missing
from domindex.errors import InputError
from domindex.reporting.report_data import Value

MAX_COLUMNS = 60
"""Columns of X that a reader can choose from; those of images are too many to be any use."""

Columns = dict[str, tuple[Value, ...]]


def aggregate_columns(columns: Any, names: Sequence[Hashable], domains: Sequence[str]) -> Columns:
    """Per domain the mean of each column of numbers, the commonest value of any other.

    Parameters
    ----------
    columns : a data frame, or a mapping of names to sequences, one value per row
    names : the domain of every row
    domains : texts of the domains in the order wanted
    """
    groups = {str(name): rows for name, rows in group_rows(names, len(names))}
    result: Columns = {}
    for label, values in _by_name(columns):
        if len(values) != len(names):
            raise InputError(
                f"columns has {len(values)} values in {label!r}, but there are {len(names)} rows. "
                "Pass one value per row."
            )
        result[label] = tuple(_aggregate(values[groups[domain]]) for domain in domains)
    return result


def aggregate_inputs(
    X: Any, names: Sequence[Hashable], domains: Sequence[str], labels: Sequence[str] | None
) -> tuple[Columns, int]:
    """The mean of each input column per domain, and how many columns were left out."""
    inputs = check_inputs(X)
    if inputs.ndim > 2:
        return {"mean of the inputs": _means(inputs, names, domains)}, 0
    kept = inputs[:, :MAX_COLUMNS]
    titles = labels or [f"input {number + 1}" for number in range(kept.shape[1])]
    table = {str(title): column for title, column in zip(titles, kept.T)}
    return aggregate_columns(table, names, domains), inputs.shape[1] - kept.shape[1]


def _means(inputs: NDArray, names: Sequence[Hashable], domains: Sequence[str]) -> tuple[Value, ...]:
    flat = inputs.reshape(len(inputs), -1).mean(axis=1)
    return aggregate_columns({"mean": flat}, names, domains)["mean"]


def _by_name(columns: Any) -> list[tuple[str, NDArray]]:
    if isinstance(columns, Mapping):
        return [(str(label), _array(values)) for label, values in columns.items()]
    frame = nw.from_native(columns, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise InputError(
            f"columns is a {type(columns).__name__}. Pass a data frame, or a mapping of names to "
            "one value per row."
        )
    return [(label, _array(frame[label].to_list())) for label in frame.columns]


def _array(values: Any) -> NDArray:
    """Numbers as floats, anything else as objects."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64).ravel()
    objects = np.empty(len(values), dtype=object)
    objects[:] = list(values)
    if all(is_missing(one) or isinstance(one, int | float) for one in objects):
        return np.array([np.nan if is_missing(one) else float(one) for one in objects])
    return objects


def _aggregate(values: NDArray) -> Value:
    if values.dtype == object:
        counts = Counter(str(one) for one in values if not is_missing(one))
        return counts.most_common(1)[0][0] if counts else None
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
