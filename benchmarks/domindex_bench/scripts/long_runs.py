"""Whether a process that runs for long grows: predictions, fits, and a page that is asked for long.

`predictions` and `fits` repeat one call in one process and compare memory (resident, after garbage
was collected) after a tenth of the repetitions, when caches are filled, with that at the end.
`serving` lets clients send tables to a served run side by side: DOMINDEX_SERVE_SECONDS says for
how long, 180 without it.
"""

from __future__ import annotations

import gc
import os
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from domindex import CrossDomainClassifier, CrossDomainRegressor
from domindex.datasets import make_circle
from domindex_bench.measuring import Found, Measurement
from domindex_bench.scripts.bombs import Memory, send, served, small_table

SECONDS = float(os.environ.get("DOMINDEX_SERVE_SECONDS", "180"))
N_CLIENTS = 8
"""That ask a served run at once."""

DATA = make_circle(n_domains=8, n_sources=4, samples_per_domain=40, random_state=0)
ROLES = {"sample_domain": DATA.sample_domain, "source_domains": DATA.source_domains}


def resident() -> float:
    """Megabytes of this process."""
    gc.collect()
    return float(psutil.Process().memory_info().rss / 1e6)


def repeated(call: Callable[[int], Any], n_calls: int) -> Found:
    """Megabytes after a tenth of the calls and after all, and by how many per cent they grew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        for number in range(n_calls // 10):
            call(number)
        early = resident()
        for number in range(n_calls // 10, n_calls):
            call(number)
    end = resident()
    return {
        "calls": n_calls,
        "megabytes_early": round(early, 1),
        "megabytes_end": round(end, 1),
        "growth_percent": round(100 * (end / early - 1), 2),
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def predictions(n_calls: int = 1000) -> Found:
    """Known and new domains in turn, of the default candidates but the network."""
    model = CrossDomainClassifier(effort="quick", random_state=0).fit(DATA.X, DATA.y, **ROLES)
    rng = np.random.default_rng(0)

    def call(number: int) -> None:
        rows = rng.integers(len(DATA.X), size=50)
        names = DATA.sample_domain[rows]
        model.predict_proba(DATA.X[rows], sample_domain=names if number % 2 else [number] * 50)

    return repeated(call, n_calls)


def fits(n_fits: int = 50) -> Found:
    """Quick ones, classes and values in turn."""

    def call(number: int) -> None:
        kind: Any = CrossDomainRegressor if number % 2 else CrossDomainClassifier
        y = DATA.X[:, 0] if number % 2 else DATA.y
        kind(effort="quick", random_state=number).fit(DATA.X, y, **ROLES)

    return repeated(call, n_fits)


def serving() -> Found:
    """Clients that each send a table, wait for the answer and send the next."""
    codes, waits, ended = Counter[int](), list[float](), threading.Event()
    table = small_table(1).drop(columns="outcome").to_csv(index=False).encode()

    def ask(address: str) -> None:
        while not ended.is_set():
            start = time.perf_counter()
            try:
                code = send(address, "good.csv", table).status_code
            except httpx.HTTPError:
                code = 0
            codes[code] += 1
            waits.append(time.perf_counter() - start)

    with tempfile.TemporaryDirectory() as name, served(Path(name)) as (address, process):
        clients = [threading.Thread(target=ask, args=(address,)) for _ in range(N_CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(SECONDS / 10)
        early = process.memory_info().rss / 1e6
        with Memory(process) as memory:
            time.sleep(0.9 * SECONDS)
        end = process.memory_info().rss / 1e6
        ended.set()
        for client in clients:
            client.join()
        after = send(address, "good.csv", table).status_code
    return {
        "clients": N_CLIENTS,
        "seconds": SECONDS,
        "answers": {str(code): number for code, number in sorted(codes.items())},
        "median_seconds": round(float(np.median(waits)), 2),
        "most_seconds": round(max(waits), 2),
        "megabytes_early": round(early, 1),
        "megabytes_end": round(end, 1),
        "most_megabytes": round(memory.alone, 1),
        "growth_percent": round(100 * (end / early - 1), 2),
        "served_after": after,
    }


MEASUREMENT = Measurement(
    parts={"predictions": predictions, "fits": fits, "serving": serving}, fresh=True
)
