"""Columns of numbers: bounded, so that no row can pull a domain across the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.bounds import bounds_of
from domindex.data.column_facts import ColumnFacts
from domindex.errors import InputError
from domindex.preparation.columns import numbers_of
from domindex.preparation.encoded import Encoded

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers.

    Attributes
    ----------
    name : of the column
    fill : stands in for missing ones
    low, high : what lies beyond is too far out
    reach : values are cut so far beyond these, lest one decides on what gaps are filled with. What
        they count as, an estimator knows: it depends on the domain. 0 in runs of before
    """

    name: str
    fill: float
    low: float = -np.inf
    high: float = np.inf
    reach: float = 0.0

    @property
    def features(self) -> list[str]:
        return [self.name]

    def encode(self, column: pd.Series) -> Encoded:
        """(rows, 1), where they were missing, and how many are too far out."""
        numbers = numbers_of(column)
        missing = np.isnan(numbers)
        bounded = np.clip(numbers, self.low - self.reach, self.high + self.reach)
        n_bounded = int(((numbers < self.low) | (numbers > self.high)).sum())
        return Encoded(np.where(missing, self.fill, bounded)[:, None], missing, n_bounded)


def learn_numbers(
    column: pd.Series,
    is_source: NDArray[np.bool_],
    domains: Sequence[str],
    facts: ColumnFacts | None,
    least: int,
) -> NumberColumn | None:
    """None for a column that never changes, or in fewer than `least` rows."""
    name, numbers = str(column.name), numbers_of(column)
    known = ~np.isnan(numbers)
    ends = (
        [float(end) for end in (numbers[known].min(), numbers[known].max())] if known.any() else []
    )
    if facts is not None:
        if facts.infinite:
            raise InputError(
                f"Column {name!r} is infinite in {facts.infinite} rows. Correct these values, or "
                "leave them empty."
            )
        ends += [end for end in (facts.low, facts.high) if not np.isnan(end)]
    if not ends or min(ends) == max(ends):
        return None
    if facts is None and len(numbers[known]) - _commonest(numbers[known])[1] < least:
        return None
    low, high, reach = bounds_of(numbers, domains)
    labelled = numbers[known & is_source]
    middle = labelled if len(labelled) else numbers[known] if known.any() else np.array(ends)
    with np.errstate(over="ignore"):
        halfway = float(np.median(middle))
    if not np.isfinite(halfway):
        halfway = float(middle[0])
    if np.sum(numbers == halfway) == 1:
        halfway = _rounded(halfway, numbers[known])
    fill = float(np.clip(halfway, low, high))
    if not np.isfinite(low):
        return NumberColumn(name, fill)
    return NumberColumn(name, fill, low, high, reach)


def _rounded(value: float, values: Floats) -> float:
    """To a hundredth of what lies between the quartiles: a value that one row has is not told."""
    with np.errstate(over="ignore"):
        width = float(np.subtract(*np.quantile(values, [0.75, 0.25])))
    if not 0.0 < width < np.inf:
        return value
    unit = 10.0 ** np.floor(np.log10(width) - 2)
    return float(np.round(value / unit) * unit) if unit > 0 else value


def _commonest(values: Floats) -> tuple[float, int]:
    if not len(values):
        return np.nan, 0
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()]), int(counts.max())
