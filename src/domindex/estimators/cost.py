"""About how long a default fit will take, within a factor of three, said before it starts.

A few terms, each the size of one kind of work, times seconds for a unit of it, times how slow this
machine is. `domindex-bench measure growth "rule full"` measures the seconds again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from domindex.geometry.settings import MAP
from domindex.inputs import DomainData

COEFFICIENTS = {
    "full": (2.61, 26.9, 0.0, 23.6, 8.0, 7.8, 0.131, 0.712, 0.0),
    "quick": (3.27, 9.84, 0.22, 12.5, 5.4, 0.0, 0.0, 0.0, 0.0),
}
"""Seconds of CPU for a unit of each term of `FitSize.terms`, by `effort`: least relative errors,
none below zero, over 27 fits of `make_drift`, a full fit of 2,000 domains, and the map alone of
1,000 and of 4,000. A zero says that other terms were enough, not that it costs nothing."""


@dataclass(frozen=True)
class FitSize:
    """What the time of a fit depends on."""

    rows: int
    source_rows: int  # those with labels
    features: int  # numbers in a row
    domains: int

    @classmethod
    def of(cls, data: DomainData) -> FitSize:
        n_features = int(np.prod(data.inputs.shape[1:]))
        return cls(data.n_rows, int(data.row_is_source.sum()), n_features, data.n_domains)

    def terms(self) -> dict[str, float]:
        """The sizes of the kinds of work, in units of a thousand or a million operations."""
        trained = min(self.source_rows, 4000)  # by a fold
        points = min(self.rows / self.domains, 200)  # of a domain, in exact distances
        exact = self.domains if self.domains <= 100 else 0
        return {
            "once": 1.0,
            "stepped domains": min(self.domains, 128) / 1e2,  # in a step of training
            "exact pairs": (exact * points) ** 2 / 1e6,
            "pairs": min(self.domains, MAP.max_drawn) ** 2 / 1e6,
            "placed domains": max(self.domains - MAP.max_drawn, 0) / 1e3,
            "trained rows": trained / 1e3,
            "trained numbers": trained * self.features / 1e3,
            "trained pairs": trained**2 / 1e6,
            "numbers": self.rows * self.features / 1e6,
        }


def estimate_seconds(size: FitSize, effort: str, speed: float = 1.0) -> float:
    """Of a default fit with this effort, on a machine `speed` times as slow as the reference."""
    amounts = size.terms().values()
    return speed * sum(one * n for one, n in zip(COEFFICIENTS[effort], amounts, strict=True))


def machine_speed(clock: Callable[[], float] = time.perf_counter, reference: float = 0.02) -> float:
    """How often the `reference` seconds, measured with the coefficients, a little work takes."""
    seconds = []
    for _ in range(3):
        start = clock()
        values = np.random.default_rng(0).normal(size=(300, 300))
        for _ in range(4):
            values = np.sort(values @ values / 300.0, axis=0)
        sum(value * 0.5 for value in values.ravel().tolist())
        seconds.append(clock() - start)
    return float(np.median(seconds)) / reference


def in_words(seconds: float) -> str:
    """About how long, as one would say it."""
    if seconds < 54.0:
        return f"about {max(10, round(seconds, -1)):.0f} seconds"
    one, many, length = ("a minute", "minutes", 60.0)
    if seconds >= 54.0 * 60.0:
        one, many, length = ("an hour", "hours", 3600.0)
    count = round(seconds / length)
    return f"about {one}" if count == 1 else f"about {count} {many}"
