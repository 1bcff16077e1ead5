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

Terms of the first 20 steps of every phase are compared between one process and two, and so are
accuracies in the targets, over seeds. A line is printed after every fit. The whole takes a few
minutes; the table of docs/processes.md is written from the file.

    python benchmarks/bench_processes.py
    python benchmarks/bench_processes.py --quick   # a tenth of the steps, no file: does it run?
    python benchmarks/bench_processes.py --page    # the table again, from the file
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from domindex import Network, Training, VDIClassifier
from domindex.datasets import make_circle, make_drift
from domindex.datasets.dataset import DomainDataset
from domindex.vdi.objectives import Terms
from domindex.vdi.shares import Connection
from domindex.vdi.training import Callback, Phase, Trainer
from result_files import origin, read_results, write_results, write_table

NAME = "processes"
N_PROCESSES = 2
N_COMPARED = 20
"""First steps of every phase whose terms are compared."""


@dataclass(frozen=True)
class Case:
    """A family and the size of networks and batches to train on it."""

    name: str
    draw: Callable[[], DomainDataset]
    width: int
    batch_size: int
    steps: int
    n_seeds: int = 1


CASES = (
    Case("Circle, default sizes", make_circle, width=64, batch_size=32, steps=100, n_seeds=3),
    Case(
        "60 domains of 64 features, wide",
        lambda: make_drift(n_domains=60, n_sources=20, samples_per_domain=128, n_features=64),
        width=256,
        batch_size=64,
        steps=20,
    ),
)


class FirstTerms(Callback):
    """Keeps the terms of the first steps."""

    def __init__(self, kept: list[dict[str, float]]) -> None:
        self._kept = kept

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        if step < N_COMPARED:
            self._kept.append({name: float(value.detach()) for name, value in terms.items()})


@dataclass
class Watched:
    """What was seen of a fit: seconds by phase, and the first terms of every phase in turn."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    terms: list[dict[str, float]] = field(default_factory=list)


@contextmanager
def watched() -> Iterator[Watched]:
    """Seconds in every phase, on the clock and of the processor, and in sums over processes."""
    seen = Watched()
    seconds = seen.seconds
    run, add_up = Trainer.run, Connection.add_up

    def timed_run(self: Trainer, phase: Phase, *extra: Any) -> Any:
        if self.processes is not None:
            _ = self.processes.connection  # the start of a helper is not the training's
        kept, self.callbacks = self.callbacks, [*self.callbacks, FirstTerms(seen.terms)]
        start, busy = time.perf_counter(), time.process_time()
        try:
            return run(self, phase, *extra)
        finally:
            self.callbacks = kept
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
        yield seen
    finally:
        Trainer.run, Connection.add_up = run, add_up  # type: ignore[method-assign]


@dataclass(frozen=True)
class Fitted:
    """Of one fit: seconds by phase and of the whole, first terms, accuracy in the targets, %."""

    seconds: dict[str, float]
    terms: list[dict[str, float]]
    accuracy: float


def fit(case: Case, devices: int, batch_size: int, steps: int, seed: int = 0) -> Fitted:
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
    with watched() as seen:
        model.fit(
            data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
        )
    whole = time.perf_counter() - start
    target = ~np.isin(data.sample_domain, list(data.source_domains))
    accuracy = model.score(data.X[target], data.y[target], sample_domain=data.sample_domain[target])
    print(
        f"{case.name}: {devices} process(es), batches of {batch_size}, seed {seed}: "
        f"{whole:.1f} s, {100 * accuracy:.2f} %",
        flush=True,
    )
    return Fitted({**seen.seconds, "fit": whole}, seen.terms, 100 * accuracy)


def compare(case: Case, steps: int) -> dict[str, Any]:
    """One process, two, and one on half batches; accuracies of several seeds beside each other."""
    ones = [fit(case, 1, case.batch_size, steps, seed) for seed in range(case.n_seeds)]
    twos = [fit(case, N_PROCESSES, case.batch_size, steps, seed) for seed in range(case.n_seeds)]
    half = fit(case, 1, case.batch_size // N_PROCESSES, steps)
    one, two = ones[0], twos[0]
    return {
        "case": case.name,
        "steps": steps,
        "batch_size": case.batch_size,
        "width": case.width,
        "phases": [
            phase_facts(name, *(result.seconds for result in (one, two, half)))
            for name in one.seconds
            if name not in ("fit", "sums") and "processor" not in name
        ],
        "sums_seconds": round(two.seconds["sums"], 2),
        "fit_seconds": [round(result.seconds["fit"], 1) for result in (one, two)],
        "first_terms_apart": max(apart(a.terms, b.terms) for a, b in zip(ones, twos)),
        "accuracy": {
            "one process": [round(result.accuracy, 2) for result in ones],
            "two processes": [round(result.accuracy, 2) for result in twos],
        },
    }


def apart(first: list[dict[str, float]], second: list[dict[str, float]]) -> float:
    """The largest difference between terms of the same step."""
    if [list(terms) for terms in first] != [list(terms) for terms in second]:
        raise SystemExit("One process and two did not take the same steps.")
    return max(abs(a[name] - b[name]) for a, b in zip(first, second) for name in a)


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


def table(found: dict[str, Any]) -> list[str]:
    """For docs/processes.md."""
    lines = [
        "| | phase | one process, s | two, s | efficiency | the same in both | together |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in found["cases"]:
        for phase in case["phases"]:
            shares = (phase[name] for name in ("efficiency", "the_same_in_both", "together"))
            lines.append(
                f"| {case['case']} | {phase['phase']} | {phase['one']:.1f} | {phase['two']:.1f} | "
                + " | ".join(f"{100 * share:.0f} %" for share in shares)
                + " |"
            )
    lines += [
        "",
        "| | rows of a batch | whole fit, one and two, s | sums over processes, s | "
        "first 20 steps, terms apart at most | accuracy by seed, one | two |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in found["cases"]:
        seconds = " and ".join(f"{one:.0f}" for one in case["fit_seconds"])
        accuracies = [", ".join(f"{a:.1f}" for a in by) for by in case["accuracy"].values()]
        lines.append(
            f"| {case['case']} | {case['batch_size']} | {seconds} | {case['sums_seconds']:.1f} | "
            f"{case['first_terms_apart']:.0e} | {' | '.join(accuracies)} |"
        )
    return [*lines, "", f"{origin(found)} Load before: {found['load_before']}."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps, no file")
    parser.add_argument("--case", help="the beginning of a case's name: only that, and no file")
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    asked = parser.parse_args()
    if not asked.page:
        cases = [case for case in CASES if case.name.startswith(asked.case or "")]
        load = round(os.getloadavg()[0], 2)
        share = 10 if asked.quick else 1
        found = [compare(one, max(2, one.steps // share)) for one in cases]
        print("\n".join(str(one) for one in found))
        if asked.quick or asked.case:
            return
        write_results(NAME, {"load_before": load, "cases": found})
    write_table("processes.md", NAME, table(read_results(NAME)))


if __name__ == "__main__":
    main()
