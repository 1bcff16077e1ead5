"""Columns of the data, one value per domain: what a map can be coloured by."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.inputs import check_inputs
from domindex.inputs.names import is_missing
from domindex.reporting.records import Value

MAX_COLUMNS = 60
"""Columns of X that a reader can choose from; those of images are too many to be any use."""

LEAST_ROWS = 3
"""Known values below which a domain has no mean: that of one row is the row."""

LEAST_OFTEN = 5
"""Rows, in all, below which a text is not shown: it may be about one person."""

Columns = dict[str, tuple[Value, ...]]


def aggregate_columns(columns: Any, names: Sequence[Hashable], domains: Sequence[str]) -> Columns:
    """Per domain the mean of each column of numbers, the commonest value of any other.

    Nothing is told of a single row: a mean needs three values, and a text must occur in five rows.

    Parameters
    ----------
    columns : a data frame, or a mapping of names to sequences, one value per row
    names : the domain of every row
    domains : texts of the domains in the order wanted
    """
    place = {domain: number for number, domain in enumerate(domains)}
    row_domains = np.array([place[str(name)] for name in names], dtype=np.int64)
    result: Columns = {}
    for label, values in columns_by_name(columns):
        if len(values) != len(names):
            raise InputError(
                f"columns has {len(values)} values in {label!r}, but there are {len(names)} rows. "
                "Pass one value per row."
            )
        of_domains = _commonest if values.dtype == object else _mean
        result[label] = of_domains(values, row_domains, len(domains))
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


def columns_by_name(columns: Any) -> list[tuple[str, NDArray]]:
    """The columns of a data frame or a mapping: floats, NaN where missing, or objects."""
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


def _mean(values: NDArray, row_domains: NDArray, n_domains: int) -> tuple[Value, ...]:
    known = np.isfinite(values)
    counts = np.bincount(row_domains[known], minlength=n_domains)
    means = np.bincount(row_domains[known], values[known], n_domains) / np.maximum(counts, 1)
    return tuple(float(m) if n >= LEAST_ROWS else None for m, n in zip(means, counts))


def _commonest(values: NDArray, row_domains: NDArray, n_domains: int) -> tuple[Value, ...]:
    known = np.array([not is_missing(one) for one in values], dtype=bool)
    frame = pd.DataFrame(
        {"domain": row_domains[known], "text": [str(one) for one in values[known]]}
    )
    often = frame.groupby("text", sort=False)["text"].transform("size") >= LEAST_OFTEN
    counts = frame[often].groupby(["domain", "text"], sort=False).size().reset_index(name="n")
    first = counts.sort_values("n", ascending=False, kind="stable").drop_duplicates("domain")
    found = dict(zip(first["domain"].tolist(), first["text"].tolist()))
    return tuple(found.get(number) for number in range(n_domains))
