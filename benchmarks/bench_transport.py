"""Exact distances of 60 domains x 100 points x 4 dimensions against a plain loop over POT.

Both sides run here, one after the other, so that only the ratio matters. Writes
results/transport.json.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import ot

from domindex.geometry import transport_distances

RESULT = Path(__file__).parent / "results" / "transport.json"


def plain_loop(clouds: list[np.ndarray]) -> np.ndarray:
    distances = np.zeros((len(clouds), len(clouds)))
    for first, second in combinations(range(len(clouds)), 2):
        cost = ot.dist(clouds[first], clouds[second])
        distances[first, second] = distances[second, first] = np.sqrt(ot.emd2([], [], cost))
    return distances


def best_of(function: Callable[[], np.ndarray], repeats: int = 5) -> tuple[float, np.ndarray]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def main() -> None:
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(100, 4)) + rng.normal(size=4) for _ in range(60)]
    loop, reference = best_of(lambda: plain_loop(clouds))
    figures: dict[str, float] = {"plain_loop_seconds": loop}
    for n_jobs in (1, 2):
        seconds, distances = best_of(partial(transport_distances, clouds, n_jobs=n_jobs))
        np.testing.assert_allclose(distances, reference, atol=1e-9)
        figures[f"{n_jobs}_jobs_seconds"] = seconds
        figures[f"{n_jobs}_jobs_speedup"] = loop / seconds
    RESULT.write_text(json.dumps({k: round(v, 3) for k, v in figures.items()}, indent=2) + "\n")
    for name, value in figures.items():
        print(f"{name:22s} {value:.3f}")


if __name__ == "__main__":
    main()
