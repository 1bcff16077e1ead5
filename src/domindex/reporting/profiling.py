"""Profiles of a table as its user knows it: numbers, texts, missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.inputs.names import is_missing
from domindex.inputs.profiles import BINS, MOST_CELLS, ColumnProfile
from domindex.reporting.aggregates import columns_by_name

MOST_ROWS = 500
"""Rows of a domain that its profiles rest on: enough for eight bins; for time."""


def profile_table(
    table: Any, row_domains: NDArray[np.int64], n_domains: int, seed: int = 0
) -> tuple[ColumnProfile, ...]:
    """A profile for each column of a data frame or a mapping, one value per row."""
    rows = _some_rows(row_domains, seed)
    columns = columns_by_name(table)
    for name, values in columns:
        if len(values) != len(row_domains):
            raise InputError(
                f"table has {len(values)} values in {name!r}, but X has {len(row_domains)} rows. "
                "Pass one value per row."
            )
    most = max(1, MOST_CELLS // (BINS * max(n_domains, 1)))
    return tuple(
        profile_column(name, values[rows], row_domains[rows], n_domains)
        for name, values in columns[:most]
    )


def profile_column(
    name: str, values: NDArray, row_domains: NDArray[np.int64], n_domains: int
) -> ColumnProfile:
    """Of floats, NaN where missing, or of anything else as texts."""
    if values.dtype.kind == "f":
        return ColumnProfile.of_numbers(name, values, row_domains, n_domains)
    texts: Sequence[Any] = [None if is_missing(one) else str(one) for one in values]
    return ColumnProfile.of_texts(name, texts, row_domains, n_domains)


def _some_rows(row_domains: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """At most `MOST_ROWS` of every domain, in their order."""
    mixed = np.random.default_rng(seed).permutation(len(row_domains))
    order = mixed[np.argsort(row_domains[mixed], kind="stable")]
    sizes = np.bincount(row_domains)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[np.arange(len(order)) - starts < MOST_ROWS])
