"""How good quick fits are on four families that come with the library, over seeds.

One turns, one is spread over a plane, one drifts, one runs round the year. Figures are accuracies
in the targets, for scoring. `tests/test_quality.py` holds a fit of each to the mean of these less
three standard deviations, where that is above what plain models reach.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from domindex import CrossDomainClassifier
from domindex.datasets import (
    DomainDataset,
    make_circle,
    make_domain_graph,
    make_drift,
    make_seasonal,
)
from domindex_bench.measuring import Found, Measurement

N_SEEDS = 8
"""Behind a bound: the mean of as many fits less three deviations."""

PLAIN = {"candidates": [("raw", "linear"), ("raw", "trees")]}
FAMILIES: dict[str, Callable[..., DomainDataset]] = {
    "circle": partial(make_circle, n_domains=12, n_sources=6, samples_per_domain=60),
    "graph": partial(make_domain_graph, n_domains=15, samples_per_domain=60),
    "drift": partial(make_drift, n_domains=24, n_sources=12, samples_per_domain=40),
    "seasonal": partial(make_seasonal, samples_per_domain=40),
}


def quality(name: str, seed: int, **how: Any) -> float:
    """Of one quick fit, in the targets."""
    data = FAMILIES[name](random_state=seed)
    names, targets = np.asarray(data.sample_domain), ~data.is_source
    model = CrossDomainClassifier(effort="quick", random_state=seed, **how)
    model.fit(data.X, data.y, sample_domain=names, source_domains=data.source_domains)
    return float(model.score(data.X[targets], data.y[targets], sample_domain=names[targets]))


def measured(name: str) -> Found:
    """Mean and deviation over seeds, and the mean of plain models."""
    fits = [quality(name, seed) for seed in range(N_SEEDS)]
    plain = [quality(name, seed, **PLAIN) for seed in range(N_SEEDS)]
    return {
        "mean": float(np.mean(fits)),
        "deviation": float(np.std(fits, ddof=1)),
        "least": float(min(fits)),
        "plain": float(np.mean(plain)),
        "seeds": N_SEEDS,
    }


MEASUREMENT = Measurement(parts={name: partial(measured, name) for name in FAMILIES})
