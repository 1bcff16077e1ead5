"""Columns of numbers: bounded, so that no row can pull a domain across the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.column_facts import ColumnFacts
from domindex.data.names import group_rows
from domindex.errors import InputError
from domindex.preparation.columns import numbers_of
from domindex.preparation.encoded import Encoded

Floats = NDArray[np.float64]

TRIMMED = 0.05
"""Share of a domain's rows, at each end, that have no say in where its bulk lies; at least one."""

BEYOND = 2.0
"""A value may lie this many median widths of a domain's bulk beyond the bulks of all domains. Wide
enough that a normal column is never touched (8 deviations); not tuned."""

MOSTLY = 0.5
"""Share of rows from which on a column is told by its other values: zeros of an amount."""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers.

    Attributes
    ----------
    name : of the column
    fill : stands in for missing ones
    low : what lies below is drawn in to here
    high : what lies above is drawn in to here
    """

    name: str
    fill: float
    low: float = -np.inf
    high: float = np.inf

    @property
    def features(self) -> list[str]:
        return [self.name]

    def encode(self, column: pd.Series) -> Encoded:
        """(rows, 1), where they were missing, and how many were drawn in."""
        numbers = numbers_of(column)
        missing = np.isnan(numbers)
        bounded = np.clip(numbers, self.low, self.high)
        n_bounded = int(np.sum(bounded[~missing] != numbers[~missing]))
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
    low, high = bounds_of(numbers, domains)
    labelled = numbers[known & is_source]
    middle = labelled if len(labelled) else numbers[known] if known.any() else np.array(ends)
    with np.errstate(over="ignore"):
        halfway = float(np.median(middle))
    if not np.isfinite(halfway):
        halfway = float(middle[0])
    if np.sum(numbers == halfway) == 1:
        halfway = _rounded(halfway, numbers[known])
    return NumberColumn(name, float(np.clip(halfway, low, high)), low, high)


def _rounded(value: float, values: Floats) -> float:
    """To a hundredth of what lies between the quartiles: a value that one row has is not told."""
    with np.errstate(over="ignore"):
        width = float(np.subtract(*np.quantile(values, [0.75, 0.25])))
    if not 0.0 < width < np.inf:
        return value
    unit = 10.0 ** np.floor(np.log10(width) - 2)
    return float(np.round(value / unit) * unit) if unit > 0 else value


def bounds_of(numbers: Floats, domains: Sequence[str]) -> tuple[float, float]:
    """How far a value may lie from the others, by the bulk of every domain.

    The bulk of a domain is what is left without `TRIMMED` of its rows at each end, so that one row
    has no say in it. Bounds are `BEYOND` of the bulks' median width beyond all bulks together:
    however far apart domains lie, their bulks are never touched. In a column that mostly has one
    value, such as 0, the others are looked at. Rounded outwards, so that no row can be read off.
    """
    known = ~np.isnan(numbers)
    common, count = _commonest(numbers[known])
    mostly_one = count > MOSTLY * known.sum()
    told = known & (numbers != common) if mostly_one else known
    if len(np.unique(numbers[told])) < 3:
        return -np.inf, np.inf
    names = np.asarray(domains, dtype=object)[told]
    groups = [numbers[told][rows] for _, rows in group_rows(names.tolist(), len(names))]
    bulks = np.array(
        [_bulk(values) for values in groups if len(values) > 2] or [_bulk(numbers[told])]
    )
    ends = [*bulks.ravel(), *([common] if mostly_one else [])]
    with np.errstate(over="ignore", invalid="ignore"):
        widths = bulks[:, 1] - bulks[:, 0]
        width = np.median(widths) or widths.max()
        low, high = min(ends) - BEYOND * width, max(ends) + BEYOND * width
    if not width or not np.isfinite([low, high]).all():
        return -np.inf, np.inf
    unit = 10.0 ** np.floor(np.log10(max(width, 1e-9 * max(-low, high))) - 1)
    return float(np.floor(low / unit) * unit), float(np.ceil(high / unit) * unit)


def _bulk(values: Floats) -> tuple[float, float]:
    """The ends of what is left when `TRIMMED` of the values, at least one, are cut at each end."""
    ordered = np.sort(values)
    cut = min(max(1, int(np.ceil(TRIMMED * len(ordered)))), (len(ordered) - 1) // 2)
    return float(ordered[cut]), float(ordered[len(ordered) - 1 - cut])


def _commonest(values: Floats) -> tuple[float, int]:
    if not len(values):
        return np.nan, 0
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()]), int(counts.max())
