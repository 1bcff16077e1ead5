"""What all rows of a table say of a column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.data.arrow_columns import is_blank

Floats = NDArray[np.float64]

MOST_TEXTS = 1_000
"""Different texts of a column that are counted; a column with more has none counted."""


@dataclass(eq=False)
class ColumnFacts:
    """A column as all rows have it.

    Attributes
    ----------
    missing : rows without a value
    low, high : of numbers that are finite; NaN where there are none
    infinite : rows with an infinite number
    texts : how often each text occurs; None where there are more than `MOST_TEXTS`, or numbers
    few : the different numbers, while they are whole and few; None otherwise
    """

    missing: int = 0
    low: float = np.nan
    high: float = np.nan
    infinite: int = 0
    texts: Counter[str] | None = field(default_factory=Counter)
    few: frozenset[float] | None = frozenset()

    def merge(self, other: ColumnFacts) -> None:
        self.missing += other.missing
        self.low, self.high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        self.infinite += other.infinite
        self.texts = _added(self.texts, other.texts)
        self.few = _united(self.few, other.few)


def column_facts(column: Any, is_target: bool) -> ColumnFacts:
    """Of the values in one table; different numbers are told apart in targets only."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        given = values[~np.isnan(values)]
        finite = given[np.isfinite(given)]
        low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
        few = _few(finite) if is_target else None
        n_missing, n_infinite = len(values) - len(given), len(given) - len(finite)
        return ColumnFacts(n_missing, float(low), float(high), n_infinite, None, few)
    counted = pc.value_counts(column.combine_chunks())
    pairs = zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist())
    texts = Counter({value: count for value, count in pairs if not is_blank(value)})
    missing = len(column) - sum(texts.values())
    return ColumnFacts(missing, texts=_limited(texts), few=None)


def _few(values: Floats) -> frozenset[float] | None:
    if (np.mod(values, 1) != 0).any():
        return None
    distinct = np.unique(values)
    return frozenset(distinct.tolist()) if len(distinct) <= MOST_TEXTS else None


def _limited(texts: Counter[str]) -> Counter[str] | None:
    return texts if len(texts) <= MOST_TEXTS else None


def _added(first: Counter[str] | None, second: Counter[str] | None) -> Counter[str] | None:
    return None if first is None or second is None else _limited(first + second)


def _united(
    first: frozenset[float] | None, second: frozenset[float] | None
) -> frozenset[float] | None:
    both = None if first is None or second is None else first | second
    return both if both is not None and len(both) <= MOST_TEXTS else None
