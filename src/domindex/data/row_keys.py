"""A number for the content of every row, the same wherever and in whatever order rows are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

MISSING = np.uint64(0x9E3779B97F4A7C15)
"""What a missing value counts as, in columns of any kind."""


def row_keys(table: Any, seed: int) -> Keys:
    """A key for every row of a pyarrow table whose columns are float64 or string, (rows,).

    Keys are as good as random in their order, and equal for equal rows: the smallest k are a
    random choice that does not depend on where rows stand. Columns are told apart by their names,
    so their order does not count either. Two different rows share a key with chance 2⁻⁶⁴.
    """
    total = np.zeros(table.num_rows, dtype=np.uint64)
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        total += _mixed(_values(column) + _of_texts([name])[0])
    return _mixed(total ^ _mixed(np.array([seed], dtype=np.uint64)))


def _values(column: Any) -> Keys:
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        numbers = column.to_numpy(zero_copy_only=False) + 0.0  # −0 is 0
        bits = numbers.view(np.uint64)
        return np.where(np.isnan(numbers), MISSING, bits)
    encoded = column.dictionary_encode()
    texts = encoded.dictionary.cast(pa.string()).to_pylist()
    known = np.append(_of_texts(texts), MISSING)
    places = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return known[places]


def _of_texts(texts: list[str]) -> Keys:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return pd.util.hash_array(array, categorize=False)


def _mixed(numbers: Keys) -> Keys:
    """Every bit of the result depends on every bit of a number: the finaliser of SplitMix64."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
