"""How long a default fit takes, beside the authors' code, and where its time goes.

Each fit in a process of its own, with the cores the machine has: seconds of `fit` and of the whole
process with its imports, seconds of CPU, and the peak of memory. The paper's datasets are held
against the times of the authors' release on a machine of this kind (its own settings and epochs);
a generated table of 6,000 rows, 50 features and 30 domains is what a user's may look like. There
the seconds of every kind of work are counted as well, in the threads that do it. Writes
results/speed.json, what was measured before stays.

    python -m domindex_bench.scripts.speed                 # all
    python -m domindex_bench.scripts.speed dg-15 classes   # some
    python -m domindex_bench.scripts.speed --table         # for docs/figures.md alone
"""

from __future__ import annotations

import argparse
import json
import resource
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parents[2] / "results" / "speed.json"
AUTHORS = {
    "dg-15": 15 * 60 + 48,
    "circle": 54 * 60 + 36,
    "dg-60": 65 * 60 + 42,
    "tpt-48-w-e": 19 * 500,
    "tpt-48-n-s": 19 * 500,
}
"""Seconds of the authors' release; of TPT-48, of its 500 epochs at the time of one."""

FITS = (*AUTHORS, "classes", "classes quick", "values", "values quick")
N_DOMAINS, N_ROWS, N_FEATURES = 30, 200, 50


class Clock:
    """Seconds of CPU that named functions take, each in its own thread, without those inside."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self._inside = threading.local()

    def watch(self, owner: Any, function: str, name: Callable[..., str] | str) -> None:
        original = getattr(owner, function)

        def watched(*given: Any, **named: Any) -> Any:
            label = name if isinstance(name, str) else name(*given)
            outer, self._inside.spent = getattr(self._inside, "spent", 0.0), 0.0
            start = time.thread_time()
            try:
                return original(*given, **named)
            finally:
                spent = time.thread_time() - start
                self.seconds[label] += spent - self._inside.spent
                self.calls[label] += 1
                self._inside.spent = outer + spent

        setattr(owner, function, watched)

    def found(self) -> dict[str, dict[str, float]]:
        order = sorted(self.seconds, key=lambda one: -self.seconds[one])
        return {one: {"cpu": self.seconds[one], "calls": self.calls[one]} for one in order}


def watch_everything(clock: Clock) -> None:
    """Learners by name, networks by phase, and the stages of the closed form."""
    from domindex.committee import building
    from domindex.committee import network as fitting_members
    from domindex.geometry.domain_geometry import DomainGeometry
    from domindex.vdi.training import Trainer

    for module in (building, fitting_members):
        clock.watch(module, "learn", lambda one, *_: f"learning: {one.learner.name}")
    clock.watch(building, "predict_with", lambda rule, *_: f"predicting: {rule.name}")
    clock.watch(Trainer, "run", lambda _, phase, *__: f"network: {phase.name}")
    clock.watch(building, "measure_separability", "telling sources from targets")
    clock.watch(DomainGeometry, "fit", "map and flow in closed form")


def measure(name: str) -> dict[str, Any]:
    """One fit, in a fresh process."""
    began = time.perf_counter(), time.process_time()
    model, given, clock = prepared(name)
    start = time.perf_counter(), time.process_time()
    model.fit(*given[:2], sample_domain=given[2], source_domains=given[3])
    found: dict[str, Any] = {
        "seconds": time.perf_counter() - start[0],
        "cpu_seconds": time.process_time() - start[1],
        "seconds_with_imports": time.perf_counter() - began[0],
        "cpu_seconds_with_imports": time.process_time() - began[1],
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "stages": dict(zip(model.timings_["stage"], model.timings_["seconds"])),
    }
    if name in AUTHORS:
        found |= {"authors_seconds": AUTHORS[name], "ratio": AUTHORS[name] / found["seconds"]}
    if clock is not None:
        found["work"] = clock.found()
    from domindex_bench.record import origin

    return found | origin()


def prepared(name: str) -> tuple[Any, tuple[Any, ...], Clock | None]:
    """A model, and what it is to be fitted on."""
    from domindex import VDIClassifier, VDIRegressor, load_dataset
    from domindex.datasets import make_drift

    if name in AUTHORS:
        data = load_dataset(name)
        kind = VDIClassifier if data.task == "classification" else VDIRegressor
        given = data.X, data.y, data.sample_domain, data.source_domains
        return kind(random_state=0), given, None
    what, _, effort = name.partition(" ")
    data = make_drift(
        n_domains=N_DOMAINS, samples_per_domain=N_ROWS, n_features=N_FEATURES, random_state=1
    )
    y = data.y if what == "classes" else data.X[:, 0] ** 2 + 0.3 * data.X.sum(axis=1)
    kind = VDIClassifier if what == "classes" else VDIRegressor
    clock = Clock()
    watch_everything(clock)
    model = kind(effort=effort or "full", random_state=0)
    return model, (np.asarray(data.X), y, data.sample_domain, data.source_domains), clock


def tables(found: dict[str, Any]) -> str:
    """For docs/figures.md."""
    lines = ["| fit | here, s | authors' code | times as fast |", "|---|---|---|---|"]
    for name in (one for one in AUTHORS if one in found):
        row = found[name]
        minutes, seconds = divmod(round(row["authors_seconds"]), 60)
        lines.append(
            f"| {name} | {row['seconds']:.1f} | {minutes} min {seconds} s | {row['ratio']:.0f} |"
        )
    lines += ["", "| 6,000 × 50, 30 domains | s | with imports, s | CPU, s | memory, MB |"]
    lines.append("|---|---|---|---|---|")
    for name in (one for one in FITS if one in found and one not in AUTHORS):
        row = found[name]
        lines.append(
            f"| {name} | {row['seconds']:.1f} | {row['seconds_with_imports']:.1f} | "
            f"{row['cpu_seconds']:.1f} | {row['megabytes']:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fits", nargs="*", metavar="FIT", help=f"of {', '.join(FITS)}")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    known = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    for name in () if chosen.table else chosen.fits or FITS:
        if name not in FITS:
            parser.error(f"{name!r} is no fit of {', '.join(FITS)}")
        with get_context("spawn").Pool(1) as pool:
            known[name] = pool.apply(measure, (name,))
        print(name, json.dumps(known[name], indent=1), flush=True)
        chosen.out.write_text(json.dumps(known, indent=1) + "\n")
    print(tables(known))


if __name__ == "__main__":
    main()
