"""Columns of texts: a feature for every category that is common enough to mean something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.column_facts import ColumnFacts
from domindex.preparation.columns import texts_of
from domindex.preparation.encoded import Encoded

LEAST_SHARE = 0.005
"""Share of the rows that a category has to have for a feature of its own. On the scale on which
domains are compared, a row of a category with share p lies 1 / √p deviations away: at 0.5 % it is
14, and a few rows of a rarer one would outweigh all other columns. Leaves room for 100 categories
of equal size; not tuned."""


@dataclass(frozen=True)
class CategoryColumn:
    """A column of texts, one feature for each category.

    The features of a row always add up to 1. Were they 0 in the few rows of rare categories, their
    sum would be a direction in which nothing ever differs but these rows.

    Attributes
    ----------
    name : of the column
    levels : the categories
    fill : the one that stands in for missing ones
    shares : of the rows in each, which a text that is none of them is given; none for all 0
    has_others : whether a last feature, instead, is for all texts that are none of the levels
    """

    name: str
    levels: tuple[str, ...]
    fill: str
    shares: tuple[float, ...] = ()
    has_others: bool = False

    @property
    def features(self) -> list[str]:
        named = [f"{self.name}={level}" for level in self.levels]
        return [*named, f"{self.name} (others)"] if self.has_others else named

    def encode(self, column: pd.Series) -> Encoded:
        """(rows, levels), where texts were missing, and the texts that are no level."""
        places, distinct = _distinct(column)
        texts = texts_of(distinct)
        is_missing = np.array([text is None for text in texts], dtype=bool)
        position = {level: number for number, level in enumerate(self.levels)}
        filled = [self.fill if text is None else text for text in texts]
        codes = np.array([position.get(text, -1) for text in filled], dtype=np.int64)
        one_hot = np.vstack([np.eye(len(self.features))[: len(self.levels)], self._of_others()])
        return Encoded(
            one_hot[codes[places]],
            is_missing[places],
            unknown=frozenset(text for text, code in zip(filled, codes) if code < 0),
        )

    def _of_others(self) -> NDArray[np.float64]:
        """(features,), what a text that is none of the levels becomes."""
        if self.has_others:
            return np.eye(len(self.features))[-1]
        return np.array(self.shares or np.zeros(len(self.levels)))


def least_count(n_rows: int, floor: int = 2) -> int:
    """Rows that a category, or a change in a column of numbers, takes to count."""
    return max(floor, ceil(LEAST_SHARE * n_rows))


def learn_categories(
    column: pd.Series,
    is_source: NDArray[np.bool_],
    domains: Sequence[str],
    facts: ColumnFacts | None,
    floor: int,
) -> tuple[CategoryColumn | None, int]:
    """The column, None where fewer than two categories are left, and how many were pooled.

    A category counts where it is common enough, and occurs in more than one domain: one that does
    not can only tell the name of its domain.
    """
    texts = texts_of(column)
    counts = Counter(text for text in texts if text is not None)
    homes = _homes(texts, domains)
    if facts is not None and facts.texts:
        counts = facts.texts
    least = least_count(sum(counts.values()), floor)
    many = len(set(domains)) > 1
    levels = sorted(
        text for text, count in counts.items() if count >= least and (homes[text] > 1 or not many)
    )
    n_pooled = len(counts) - len(levels)
    if not levels or len(counts) < 2 or (len(levels) < 2 and not _splits(counts, levels, least)):
        return None, n_pooled
    labelled = Counter(t for t, source in zip(texts, is_source) if source and t in set(levels))
    shown = labelled or Counter({level: counts[level] for level in levels})
    fill = min(shown, key=lambda text: (-shown[text], text))
    has_others = _splits(counts, levels, least) and _spread(texts, domains, set(levels), many)
    if has_others:
        return CategoryColumn(str(column.name), tuple(levels), fill, (), True), n_pooled
    if len(levels) < 2:
        return None, n_pooled
    total = sum(counts[level] for level in levels)
    shares = tuple(counts[level] / total for level in levels)
    return CategoryColumn(str(column.name), tuple(levels), fill, shares), n_pooled


def _splits(counts: Counter[str], levels: Sequence[str], least: int) -> bool:
    """Whether all the texts that are no level, together, are enough for a feature."""
    return sum(counts.values()) - sum(counts[level] for level in levels) >= least


def _spread(
    texts: Sequence[str | None], domains: Sequence[str], levels: set[str], many: bool
) -> bool:
    """Whether the texts that are no level are of more than one domain."""
    homes = {d for text, d in zip(texts, domains) if text is not None and text not in levels}
    return len(homes) > 1 or not many


def _homes(texts: Sequence[str | None], domains: Sequence[str]) -> Counter[str]:
    """In how many domains each text occurs."""
    pairs = {(text, domain) for text, domain in zip(texts, domains) if text is not None}
    return Counter(text for text, _ in pairs)


def _distinct(column: pd.Series) -> tuple[NDArray[np.int64], pd.Series]:
    """(rows,) places in the different values of a column, and these; mixtures stay as they are."""
    kinds = "biuf"
    if column.dtype.kind in kinds or pd.api.types.infer_dtype(column, skipna=True) == "string":
        places, values = pd.factorize(column, use_na_sentinel=False)
        return places, pd.Series(values, name=column.name)
    return np.arange(len(column)), column
