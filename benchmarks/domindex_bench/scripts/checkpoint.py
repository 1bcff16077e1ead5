"""What a checkpoint costs: fits with and without one, in turns, each in its own process.

Seconds of CPU and of the clock, medians, their ratio within each turn, and the size of the folder.
Writes results/checkpoint.json.

    python -m domindex_bench.scripts.checkpoint             # 3 turns of two families
    python -m domindex_bench.scripts.checkpoint --turns 1 --effort quick    # a quick look
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from domindex import Training, VDIClassifier
from domindex.datasets import DomainDataset, make_circle, make_drift
from domindex_bench.provenance import Provenance

RESULTS = Path(__file__).parents[2] / "results" / "checkpoint.json"

FAMILIES: dict[str, Callable[[], DomainDataset]] = {
    "Circle, 30 domains of 100 rows": lambda: make_circle(samples_per_domain=100, random_state=0),
    "drift, 12 domains of 200 rows, 16 features": lambda: make_drift(
        n_domains=12, samples_per_domain=200, n_features=16, noise=0.6, random_state=1
    ),
}


def warm_up() -> None:
    """Whatever is imported late, before the clock runs."""
    data = make_circle(n_domains=6, n_sources=3, samples_per_domain=20, random_state=0)
    roles = {"sample_domain": data.sample_domain, "source_domains": data.source_domains}
    VDIClassifier(training=Training(index_steps=1, steps=1)).fit(data.X, data.y, **roles)


def timed_fit(family: str, effort: str, folder: str | None) -> dict[str, float]:
    """One fit with default settings; the folder's size is that at its end."""
    warm_up()
    data = FAMILIES[family]()
    roles = {"sample_domain": data.sample_domain, "source_domains": data.source_domains}
    wall, cpu = time.perf_counter(), time.process_time()
    VDIClassifier(effort=effort, random_state=0).fit(data.X, data.y, checkpoint=folder, **roles)
    taken = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    if folder is not None:
        files = [one for one in Path(folder).rglob("*") if one.is_file()]
        taken |= {"megabytes": sum(one.stat().st_size for one in files) / 1e6}
    return taken


def in_own_process(family: str, effort: str, folder: str | None) -> dict[str, float]:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(timed_fit, (family, effort, folder))


def measure(family: str, effort: str, n_turns: int) -> dict[str, Any]:
    plain, kept = [], []
    for turn in range(n_turns):
        with tempfile.TemporaryDirectory() as home:
            ways = [(plain, None), (kept, f"{home}/kept")]
            for taken, folder in ways if turn % 2 == 0 else reversed(ways):
                taken.append(in_own_process(family, effort, folder))
    found: dict[str, Any] = {"turns": n_turns, "megabytes": kept[0]["megabytes"]}
    for clock in ("cpu_seconds", "seconds"):
        found[f"plain_{clock}"] = statistics.median(one[clock] for one in plain)
        found[f"kept_{clock}"] = statistics.median(one[clock] for one in kept)
        ratios = [after[clock] / before[clock] for before, after in zip(plain, kept)]
        found[f"ratio_{clock}"] = statistics.median(ratios)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--effort", choices=("full", "quick"), default="full")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    record: dict[str, Any] = {"effort": asked.effort, "families": {}}
    for family in FAMILIES:
        record["families"][family] = measure(family, asked.effort, asked.turns)
        record |= asdict(Provenance.here_and_now())
        asked.out.write_text(json.dumps(record, indent=1) + "\n")
        print(family, record["families"][family], flush=True)


if __name__ == "__main__":
    main()
