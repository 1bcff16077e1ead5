"""What the columns of every domain look like: counts in bins that all domains share, no rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.persistence.saved import Saved

MIN_COUNT = 5
"""Rows, in all, below which a text is not named, and below which a domain has no counts: what is
kept shows no single row."""


def max_profiles(n_domains: int, n_cells: int = 4_000_000, n_bins: int = 8) -> int:
    """How many columns are profiled: of more, the last are left out."""
    return max(1, n_cells // (n_bins * max(n_domains, 1)))


@dataclass(frozen=True, eq=False)
class ColumnProfile(Saved):
    """One column in all domains."""

    name: str
    edges: Floats  # (bins - 1,) between the bins of numbers, rising; empty for texts
    levels: tuple[str, ...]  # texts that have a bin; the last bin holds all others
    counts: Floats  # (domains, bins) known values; zeros for a domain with too few rows
    missing: Floats  # (domains,) likewise

    @classmethod
    def of_numbers(
        cls, name: str, values: Floats, row_domains: Ints, n_domains: int
    ) -> ColumnProfile:
        """Of (rows,) numbers, NaN where they are missing."""
        known = np.isfinite(values)
        edges = _edges(values[known])
        bins = np.where(known, np.searchsorted(edges, values, side="right"), -1)
        return cls(str(name), edges, (), *_count(bins, len(edges) + 1, row_domains, n_domains))

    @classmethod
    def of_texts(
        cls, name: str, values: Sequence[Any], row_domains: Ints, n_domains: int
    ) -> ColumnProfile:
        """Of texts, one a row, None where they are missing."""
        known = np.array([value is not None for value in values], dtype=bool)
        found, codes = np.unique([str(value) for value in values], return_inverse=True)
        return cls.of_categories(name, found.tolist(), codes, known, row_domains, n_domains)

    @classmethod
    def of_categories(
        cls,
        name: str,
        categories: Sequence[str],
        codes: Ints,
        known: NDArray[np.bool_],
        row_domains: Ints,
        n_domains: int,
    ) -> ColumnProfile:
        """Of (rows,) numbers of categories; one beyond them stands for none of them."""
        n_categories = len(categories)
        counts = np.bincount(codes[known], minlength=n_categories + 1)[:n_categories]
        order = np.argsort(-counts, kind="stable")
        named = [k for k in order if counts[k] >= MIN_COUNT][:7]
        place = np.full(n_categories + 1, len(named))
        place[named] = np.arange(len(named))
        levels = tuple(str(categories[k]) for k in named)
        bins = np.where(known, place[codes], -1)
        counted = _count(bins, len(levels) + 1, row_domains, n_domains)
        return cls(str(name), np.empty(0), levels, *counted)

    @property
    def bin_names(self) -> tuple[str, ...]:
        """What each bin holds, in words."""
        if self.levels:
            return (*self.levels, "others")
        if not len(self.edges):
            return ("all",)
        texts = [f"{edge:.6g}" for edge in self.edges]
        inner = [f"{low} to {high}" for low, high in pairwise(texts)]
        return (f"below {texts[0]}", *inner, f"{texts[-1]} or more")

    @property
    def shares(self) -> Floats:
        """(domains, bins) of the known values; zeros where there are none."""
        total = self.counts.sum(axis=1, keepdims=True)
        return self.counts / np.where(total > 0, total, 1.0)

    def pooled(self, domains: NDArray) -> Floats:
        """(bins,) shares over several domains, by number or by mask, each counting alike."""
        shares = self.shares[domains]
        known = shares.sum(axis=1) > 0
        return shares[known].mean(axis=0) if known.any() else np.zeros(shares.shape[1])

    def distance(self, one: Floats, other: Floats) -> Floats:
        """(...,) between shares (..., bins), from 0, equal, to 1.

        Of texts the share of rows that would have to change; of numbers the mean difference of
        cumulative shares.
        """
        if self.levels or not len(self.edges):
            return np.abs(one - other).sum(axis=-1) / 2.0
        return np.abs(np.cumsum(one - other, axis=-1)[..., :-1]).mean(axis=-1)

    def state(self) -> dict[str, Any]:
        counted = {"counts": self.counts, "missing": self.missing}
        return super().state() | {k: one.astype(np.float32) for k, one in counted.items()}

    def _check_state(self) -> None:
        n_bins = len(self.levels or self.edges) + 1
        n_domains = len(self.missing)
        if self.counts.shape != (n_domains, n_bins) or self.missing.ndim != 1:
            raise ValueError("the counts of a column do not fit its bins")


def _count(bins: Ints, n_bins: int, row_domains: Ints, n_domains: int) -> tuple[Floats, Floats]:
    """(domains, bins) known values and (domains,) missing ones, of bins (rows,), -1 for missing."""
    cells = row_domains * (n_bins + 1) + bins + 1
    counted = np.bincount(cells, minlength=n_domains * (n_bins + 1))
    counts = counted.reshape(n_domains, n_bins + 1).astype(np.float64)
    counts[counts.sum(axis=1) < MIN_COUNT] = 0.0
    return counts[:, 1:], counts[:, 0]


def _edges(known: Floats, n_bins: int = 8) -> Floats:
    """Rising, and rounded, so that none is the value of a row."""
    if not len(known):
        return np.empty(0)
    distinct = np.unique(known)
    if len(distinct) <= n_bins:
        raw = distinct[:-1] / 2.0 + distinct[1:] / 2.0
    else:
        raw = np.unique(np.quantile(known, np.linspace(0, 1, n_bins + 1)[1:-1]))
    if not len(raw):
        return raw
    low, high = np.quantile(known, [0.05, 0.95])
    step = high / 100.0 - low / 100.0 or distinct[-1] / 100.0 - distinct[0] / 100.0
    if not step > 0:
        return raw
    places = -int(np.floor(np.log10(step)))
    return np.unique(np.round(raw, places))
