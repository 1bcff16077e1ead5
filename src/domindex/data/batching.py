"""Batches with the same number of rows from every domain, whatever the domains' sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from domindex.data.domain_data import DomainData


class DomainBatches:
    """Draws row numbers of shape (domains, batch_size).

    A domain with fewer rows than a batch needs repeats them as evenly as possible; a larger one is
    gone through in a fresh random order before any of its rows comes again. With `weights` (rows,)
    every row of a domain is drawn as often as its weight says instead.

    Attributes
    ----------
    queues : for each domain, the rows that are to come before any comes again
    """

    def __init__(
        self,
        data: DomainData,
        batch_size: int,
        rng: np.random.Generator,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self._rows = data.rows_by_domain()
        self._chances = None if weights is None else [_chances(weights[r]) for r in self._rows]
        self._batch_size = batch_size
        self._rng = rng
        self.queues = [np.empty(0, dtype=np.int64) for _ in self._rows]

    def draw(self, domains: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Row numbers (domains, batch_size), of all domains or of those given."""
        chosen = range(len(self._rows)) if domains is None else domains
        return np.stack([self._draw_domain(int(domain)) for domain in chosen])

    def _draw_domain(self, domain: int) -> NDArray[np.int64]:
        if self._chances is not None:
            rows, chances = self._rows[domain], self._chances[domain]
            return self._rng.choice(rows, self._batch_size, p=chances)
        queue = self.queues[domain]
        while len(queue) < self._batch_size:
            queue = np.concatenate([queue, self._rng.permutation(self._rows[domain])])
        self.queues[domain] = queue[self._batch_size :]
        return queue[: self._batch_size]


def _chances(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights summing to 1; all the same where they sum to nothing."""
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1.0 / len(weights))
