"""One process against two with half of every batch each. Writes results/processes.json.

For every phase of training: seconds of one process, of two, and of one process on batches of half
the size. The last is what each of the two has to compute, so that the time which two processes
lose, against half the time of one, falls into two parts:

- the same in both: a step on half the rows takes more than half the time, because calls, optimiser
  and draws do not grow with the rows;
- together: sums over processes, and waiting for the other.

Seconds are wall-clock and mean something where as many cores are idle as there are processes; the
machine's load stands beside them. Processor time of the leading process means something on a busy
machine too, but knows nothing of waiting. The contrastive loss of the indices compares rows in
pairs: on half batches a quarter of them, in a share half, and the difference counts as together.
`--quick` takes a tenth of the steps, to see that it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from domindex import Network, Training, VDIClassifier
from domindex.datasets import make_circle, make_drift
from domindex.datasets.dataset import DomainDataset
from domindex.networks.shares import Connection
from domindex.training.trainer import Phase, Trainer

RESULTS = Path(__file__).parent / "results" / "processes.json"
N_PROCESSES = 2
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Case:
    """A family and the size of networks and batches to train on it."""

    name: str
    draw: Callable[[], DomainDataset]
    width: int
    batch_size: int
    steps: int


CASES = (
    Case("Circle, default sizes", make_circle, width=64, batch_size=32, steps=300),
    Case(
        "60 domains of 64 features, wide",
        lambda: make_drift(n_domains=60, n_sources=20, samples_per_domain=128, n_features=64),
        width=256,
        batch_size=64,
        steps=60,
    ),
)


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Seconds in every phase, on the clock and of the processor, and in sums over processes."""
    seconds: dict[str, float] = defaultdict(float)
    run, add_up = Trainer.run, Connection.add_up

    def timed_run(self: Trainer, phase: Phase, *extra: Any) -> Any:
        if self.processes is not None:
            _ = self.processes.connection  # the start of a helper is not the training's
        start, busy = time.perf_counter(), time.process_time()
        try:
            return run(self, phase, *extra)
        finally:
            seconds[phase.name] += time.perf_counter() - start
            seconds[f"{phase.name}, processor"] += time.process_time() - busy

    def timed_sum(self: Connection, tensor: Any) -> Any:
        start = time.perf_counter()
        try:
            return add_up(self, tensor)
        finally:
            seconds["sums"] += time.perf_counter() - start

    Trainer.run, Connection.add_up = timed_run, timed_sum  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        Trainer.run, Connection.add_up = run, add_up  # type: ignore[method-assign]


def fit(case: Case, devices: int, batch_size: int, steps: int, seed: int = 0) -> dict[str, Any]:
    """Seconds by phase, of the whole fit, and the accuracy in the targets."""
    data = case.draw()
    model = VDIClassifier(
        representation="flow",
        predictor="network",
        network=Network(width=case.width),
        training=Training(steps=steps, index_steps=steps, batch_size=batch_size),
        devices=devices,
        random_state=seed,
    )
    start = time.perf_counter()
    with stopwatch() as seconds:
        model.fit(
            data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
        )
    whole = time.perf_counter() - start
    target = ~np.isin(data.sample_domain, list(data.source_domains))
    accuracy = model.score(data.X[target], data.y[target], sample_domain=data.sample_domain[target])
    return {"seconds": {**seconds, "fit": whole}, "accuracy": 100 * accuracy}


def compare(case: Case, steps: int) -> dict[str, Any]:
    """One process, two, and one on half batches; accuracies of several seeds beside each other."""
    one = fit(case, 1, case.batch_size, steps)
    two = fit(case, N_PROCESSES, case.batch_size, steps)
    half = fit(case, 1, case.batch_size // N_PROCESSES, steps)
    seeds = [
        one["accuracy"],
        *(fit(case, 1, case.batch_size, steps, s)["accuracy"] for s in SEEDS[1:]),
    ]
    return {
        "case": case.name,
        "steps": steps,
        "phases": [
            phase_facts(name, *(result["seconds"] for result in (one, two, half)))
            for name in one["seconds"]
            if name not in ("fit", "sums") and "processor" not in name
        ],
        "sums_seconds": round(two["seconds"]["sums"], 2),
        "fit_seconds": [round(result["seconds"]["fit"], 1) for result in (one, two)],
        "accuracy": {
            "one process, by seed": [round(value, 2) for value in seeds],
            "two processes, first seed": round(two["accuracy"], 2),
        },
    }


def phase_facts(
    name: str, one: dict[str, float], two: dict[str, float], half: dict[str, float]
) -> dict[str, Any]:
    """Efficiency, and where the rest of two processes' time went, in shares of that time."""
    spent, busy = two[name], f"{name}, processor"
    return {
        "phase": name,
        "one": round(one[name], 2),
        "two": round(spent, 2),
        "half_batches": round(half[name], 2),
        "efficiency": round(one[name] / (N_PROCESSES * spent), 3),
        "the_same_in_both": round((half[name] - one[name] / N_PROCESSES) / spent, 3),
        "together": round((spent - half[name]) / spent, 3),
        "processor": [round(seconds[busy], 2) for seconds in (one, two, half)],
        "processor_efficiency": round(one[busy] / (N_PROCESSES * two[busy]), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps, no file")
    parser.add_argument("--case", help="the beginning of a case's name: only that, and no file")
    asked = parser.parse_args()
    cases = [case for case in CASES if case.name.startswith(asked.case or "")]
    report = {
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "cases": [compare(one, max(2, one.steps // (10 if asked.quick else 1))) for one in cases],
    }
    text = json.dumps(report, indent=1)
    if not (asked.quick or asked.case):
        RESULTS.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
