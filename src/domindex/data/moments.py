"""Means and spreads of every domain, added up part by part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(eq=False)
class Moments:
    """Counts, means and sums of squares about them, (domains, columns) each."""

    counts: Floats
    means: Floats
    squares: Floats

    @classmethod
    def none(cls, n_columns: int) -> Moments:
        return cls(*(np.zeros((0, n_columns)) for _ in range(3)))

    @classmethod
    def of(cls, values: Floats, rows: Numbers, n_domains: int) -> Moments:
        """Of values (rows, columns), NaN where missing, in numbered domains (rows,)."""
        n_columns = values.shape[1]
        result = cls(*(np.zeros((n_domains, n_columns)) for _ in range(3)))
        for column in range(n_columns):
            known = np.isfinite(values[:, column])
            used, domains = values[known, column], rows[known]
            counts = np.bincount(domains, minlength=n_domains).astype(np.float64)
            sums = np.bincount(domains, weights=used, minlength=n_domains)
            means = sums / np.maximum(counts, 1.0)
            away = (used - means[domains]) ** 2
            result.counts[:, column], result.means[:, column] = counts, means
            result.squares[:, column] = np.bincount(domains, weights=away, minlength=n_domains)
        return result

    def merge(self, other: Moments, places: Numbers, n_domains: int) -> None:
        """Add those of other rows, whose domains have the numbers `places` here."""
        more = n_domains - len(self.counts)
        self.counts, self.means, self.squares = (
            np.pad(array, ((0, more), (0, 0))) for array in (self.counts, self.means, self.squares)
        )
        old, new = self.counts[places], other.counts
        total = np.maximum(old + new, 1.0)
        apart = other.means - self.means[places]
        self.squares[places] += other.squares + apart**2 * old * new / total
        self.means[places] += apart * new / total
        self.counts[places] = old + new
