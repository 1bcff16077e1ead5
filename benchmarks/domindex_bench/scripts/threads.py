"""Eight threads that fit and a hundred that predict, all at once: is every result the serial one?

For some time (60 seconds), each of 8 threads fits one model after the other, of several kinds and
seeds, and each of 100 threads asks fitted models for predictions. Every result is compared,
bit for bit, with what one thread alone gave. The memory of the process is measured once a second;
it must not grow from the second quarter of the time to the last. Writes results/threads.json.

    python -m domindex_bench.scripts.threads               # 60 s
    python -m domindex_bench.scripts.threads --seconds 10  # a quick look
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from sklearn.linear_model import LogisticRegression

from domindex import MomentFlow, Training, VDIClassifier, VDIRegressor
from domindex.baselines import DANN
from domindex.datasets import make_circle
from domindex_bench.provenance import Provenance

RESULTS = Path(__file__).parents[2] / "results" / "threads.json"
FITTING, PREDICTING = 8, 100
MOST_GROWTH = 0.05
"""Of the memory, by `growth`."""

SHORT = Training(index_steps=5, steps=8, batch_size=8)
DATA = make_circle(n_domains=6, n_sources=3, samples_per_domain=20, random_state=0)
ROLES = {"sample_domain": DATA.sample_domain, "source_domains": DATA.source_domains}
VALUES = DATA.X.sum(axis=1)

Key = tuple[str, int]


def makers() -> dict[str, tuple[Callable[[int], Any], np.ndarray]]:
    """A model of each kind by its seed, and what it is fitted to."""
    several = [("raw", "trees"), ("flow", "linear"), ("domain_centred", "boosting")]
    return {
        "network": (
            lambda seed: VDIClassifier(predictor="network", training=SHORT, random_state=seed),
            DATA.y,
        ),
        "committee": (
            lambda seed: VDIClassifier(candidates=several, training=SHORT, random_state=seed),
            DATA.y,
        ),
        "values": (
            lambda seed: VDIRegressor(candidates=several, training=SHORT, random_state=seed),
            VALUES,
        ),
        "moment flow": (lambda seed: MomentFlow(LogisticRegression()), DATA.y),
        "DANN": (lambda seed: DANN(training=SHORT, random_state=seed), DATA.y),
    }


def digest(model: Any) -> str:
    """Of what it predicts for all rows."""
    ask = getattr(model, "predict_proba", None) or model.predict
    said = ask(DATA.X, sample_domain=DATA.sample_domain)
    return hashlib.sha256(np.ascontiguousarray(said).tobytes()).hexdigest()


def fitted(key: Key) -> Any:
    make, labels = makers()[key[0]]
    return make(key[1]).fit(DATA.X, labels, **ROLES)


class Run:
    """What the threads share: the serial results, and what came of theirs."""

    def __init__(self, keys: list[Key]) -> None:
        self.keys = keys
        self.models = {key: fitted(key) for key in keys}
        self.expected = {key: digest(model) for key, model in self.models.items()}
        self.fits = self.predictions = 0
        self.wrong: list[str] = []
        self.lock, self.ends = threading.Lock(), threading.Event()

    def fit(self, start: int) -> None:
        for key in itertools.islice(itertools.cycle(self.keys), start, None):
            if self.ends.is_set():
                return
            self._compare("fits", key, lambda key=key: digest(fitted(key)))

    def predict(self, start: int) -> None:
        for key in itertools.islice(itertools.cycle(self.keys), start, None):
            if self.ends.is_set():
                return
            self._compare("predictions", key, lambda key=key: digest(self.models[key]))

    def _compare(self, what: str, key: Key, work: Callable[[], str]) -> None:
        try:
            found = work()
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        with self.lock:
            setattr(self, what, getattr(self, what) + 1)
            if found != self.expected[key]:
                self.wrong.append(f"{what} {key}: {found[:200]}")


def run_threads(run: Run, seconds: float, n_fitting: int, n_predicting: int) -> list[float]:
    """Megabytes of the process, once a second, while all threads work."""
    tasks = [(run.fit, number) for number in range(n_fitting)]
    tasks += [(run.predict, number) for number in range(n_predicting)]
    threads = [threading.Thread(target=work, args=(n,), daemon=True) for work, n in tasks]
    for thread in threads:
        thread.start()
    process, memory, end = psutil.Process(), [], time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(1.0, seconds / 20))
        memory.append(process.memory_info().rss / 1e6)
    run.ends.set()
    for thread in threads:
        thread.join()
    return memory


def growth(memory: list[float]) -> float:
    """Of the median, from the second of four quarters to the last; the first is for starting."""
    quarter = len(memory) // 4
    before, after = memory[quarter : 2 * quarter], memory[3 * quarter :]
    return statistics.median(after) / statistics.median(before) - 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    run = Run([(kind, seed) for seed in (0, 1) for kind in makers()])
    memory = run_threads(run, asked.seconds, FITTING, PREDICTING)
    record = {
        "seconds": asked.seconds,
        "threads_fitting": FITTING,
        "threads_predicting": PREDICTING,
        "fits": run.fits,
        "predictions": run.predictions,
        "wrong": run.wrong[:20],
        "n_wrong": len(run.wrong),
        "memory_growth": growth(memory),
        "megabytes": [round(one, 1) for one in memory],
        **asdict(Provenance.here_and_now()),
    }
    asked.out.write_text(json.dumps(record, indent=1) + "\n")
    print({name: one for name, one in record.items() if name != "megabytes"})
    sys.exit(bool(run.wrong) or record["memory_growth"] > MOST_GROWTH)


if __name__ == "__main__":
    main()
