"""How long a fit takes, and where the time goes. To be run on a machine that does nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from domindex.arrays import Floats
from domindex.datasets import DomainDataset
from domindex.vdi.settings import Training
from domindex_bench.figures import timing_figures
from domindex_bench.methods import Method, some_methods, vdi
from domindex_bench.suite import Suite
from domindex_bench.suites.datasets import library_datasets
from domindex_bench.summary import Summary
from domindex_bench.tables import by_method

if TYPE_CHECKING:
    from typing_extensions import Self


REPEATS = 5
SHORTEST = Training(index_steps=1, steps=1)


class TransportTimer(BaseEstimator):
    """Times exact distances between all domains, in the dress of an estimator.

    Parameters
    ----------
    n_jobs : of `transport_distances`; None for a plain loop over POT instead
    repeats : how often

    Attributes
    ----------
    seconds_ : of each repeat
    distances_ : (domains, domains)
    """

    def __init__(self, n_jobs: int | None = None, repeats: int = REPEATS) -> None:
        self.n_jobs = n_jobs
        self.repeats = repeats

    def fit(self, X: Floats, y: Any, *, sample_domain: NDArray, source_domains: Any) -> Self:
        clouds = [X[sample_domain == name] for name in np.unique(sample_domain)]
        measure = _plain_loop if self.n_jobs is None else partial(_distances, n_jobs=self.n_jobs)
        self.seconds_: list[float] = []
        for _ in range(self.repeats):
            start = time.perf_counter()
            self.distances_ = measure(clouds)
            self.seconds_.append(time.perf_counter() - start)
        return self

    def predict(self, X: Floats, *, sample_domain: NDArray) -> Floats:
        """Nothing: distances predict no class."""
        return np.full(len(X), np.nan)


def _distances(clouds: list[Floats], n_jobs: int) -> Floats:
    from domindex.geometry import transport_distances

    return transport_distances(clouds, n_jobs=n_jobs)


def _plain_loop(clouds: list[Floats]) -> Floats:
    import ot

    distances = np.zeros((len(clouds), len(clouds)))
    for first, second in combinations(range(len(clouds)), 2):
        cost = ot.dist(clouds[first], clouds[second])
        distances[first, second] = distances[second, first] = np.sqrt(ot.emd2([], [], cost))
    return distances


def _timer(n_jobs: int | None, dataset: DomainDataset, seed: int) -> TransportTimer:
    return TransportTimer(n_jobs)


def _part(name: str, title: str, build: Callable[[DomainDataset, int], Any]) -> Method:
    return Method(name, title, "a part alone", build=build, seeded=False)


PARTS = (
    _part(
        "vdi-map", "VDI, map and flow only", partial(vdi, training=Training(index_steps=1, steps=1))
    ),
    _part("vdi-indices", "VDI, map, flow and indices", partial(vdi, training=Training(steps=1))),
)
TRANSPORT = (
    _part("transport-loop", "plain loop over POT", partial(_timer, None)),
    _part("transport-1", "transport_distances, 1 process", partial(_timer, 1)),
    _part("transport-2", "transport_distances, 2 processes", partial(_timer, 2)),
)


def _warm_up(dataset: DomainDataset) -> None:
    """The shortest fit: imports and what torch sets up once."""
    vdi(dataset, 0, training=SHORTEST).fit(
        dataset.X,
        dataset.y,
        sample_domain=dataset.sample_domain,
        source_domains=dataset.source_domains,
    )


def _document(summary: Summary) -> str:
    fits = summary.of_methods(["vdi", "vdi-no-flow", *(part.name for part in PARTS)])
    distances = summary.of_methods([part.name for part in TRANSPORT])
    parts = [
        "## Fit, s",
        by_method(fits, "fit_seconds"),
        f"## Transport distances between all domains, s, best of {REPEATS}",
        by_method(distances, "best_time"),
    ]
    return "\n\n".join(parts)


SUITE = Suite(
    name="time",
    title="Where the time goes",
    about="Wall clock, one thread, one cell at a time, first-time set-up left out.",
    datasets=library_datasets("dg-15", "dg-60", "circle"),
    methods={
        **some_methods("vdi", "vdi-no-flow"),
        **{part.name: part for part in (*PARTS, *TRANSPORT)},
    },
    seeds=2,
    figures=(timing_figures,),
    headline={"classification": "fit_seconds"},
    render=_document,
    alone=True,
    warm_up=_warm_up,
)
