"""About how long a default fit will take, said before it starts.

A rule with few terms, each the size of one kind of work, with seconds for a unit of it; a tiny
timing says how much slower this machine is. `domindex-bench measure growth "rule full"` measures
them again. Right within a factor of three: what is tried depends on what the data say.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from domindex.geometry.settings import MAP
from domindex.inputs import DomainData

COEFFICIENTS: dict[str, dict[str, float]] = {
    "full": {
        "once": 2.61,
        "stepped domains": 26.9,
        "exact pairs": 0.0,
        "pairs": 23.6,
        "placed domains": 8.0,
        "trained rows": 7.8,
        "trained numbers": 0.131,
        "trained pairs": 0.712,
        "numbers": 0.0,
    },
    "quick": {
        "once": 3.27,
        "stepped domains": 9.84,
        "exact pairs": 0.22,
        "pairs": 12.5,
        "placed domains": 5.4,
        "trained rows": 0.0,
        "trained numbers": 0.0,
        "trained pairs": 0.0,
        "numbers": 0.0,
    },
}
"""Seconds of CPU for a unit of each term of `FitSize.terms`, by `effort`: least relative errors,
none below zero, over 27 fits of `make_drift`, a full fit of 2,000 domains, and the map alone of
1,000 and of 4,000; off by a factor of 1.6 at most on these. Domains beyond 500 are placed: half as
much again in a full fit as in a quick one was not measured. A zero says that other terms were
enough, not that it costs nothing."""


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
        """The sizes of the kinds of work, in units of a thousand or a million operations.

        A fold learns from 4,000 rows at most; distances are exact up to 100 domains, over 200 rows
        of each; a step of training sees 128 domains.
        """
        trained = min(self.source_rows, 4000)
        points = min(self.rows / self.domains, 200)
        exact = self.domains if self.domains <= 100 else 0
        return {
            "once": 1.0,
            "stepped domains": min(self.domains, 128) / 1e2,
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
    terms, coefficients = size.terms(), COEFFICIENTS[effort]
    return speed * sum(coefficients[name] * amount for name, amount in terms.items())


def machine_speed(
    clock: Callable[[], float] = time.perf_counter, repeats: int = 3, reference: float = 0.02
) -> float:
    """How many times as long as on the reference machine a little work takes here, now.

    `reference` is the seconds that it took where the coefficients were measured.
    """
    seconds = []
    for _ in range(repeats):
        start = clock()
        values = np.random.default_rng(0).normal(size=(300, 300))
        for _ in range(4):
            values = np.sort(values @ values / 300.0, axis=0)
        sum(value * 0.5 for value in values.ravel().tolist())
        seconds.append(clock() - start)
    return float(np.median(seconds)) / reference


def in_words(seconds: float) -> str:
    """About how long, as one would say it."""
    for unit, length in (("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 0.9 * length:
            count = round(seconds / length)
            one = "an hour" if unit == "hour" else "a minute"
            return f"about {one}" if count == 1 else f"about {count} {unit}s"
    return f"about {max(10, round(seconds, -1)):.0f} seconds"
