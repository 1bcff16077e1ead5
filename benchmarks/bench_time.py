"""Time one default fit per dataset, and see how much of it is matrix products.

Run on an idle machine. Writes results/time.json.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from torch.profiler import ProfilerActivity, profile

from domindex import VDIClassifier
from domindex.datasets import DomainDataset
from tasks import PAPER

RESULT = Path(__file__).parent / "results" / "time.json"
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}


def fit(dataset: DomainDataset, **settings: int) -> float:
    start = time.perf_counter()
    VDIClassifier(random_state=0, **settings).fit(
        dataset.X,
        dataset.y,
        sample_domain=dataset.sample_domain,
        source_domains=dataset.source_domains,
    )
    return time.perf_counter() - start


def product_share(dataset: DomainDataset) -> dict[str, float]:
    """Seconds in matrix products, and in all operations, of a short profiled fit."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        seconds = fit(dataset, index_steps=20, steps=50)
    events = profiler.key_averages()
    total = sum(event.self_cpu_time_total for event in events) / 1e6
    products = sum(e.self_cpu_time_total for e in events if e.key in PRODUCTS) / 1e6
    return {"wall": seconds, "operations": total, "matrix_products": products}


def main() -> None:
    figures: dict[str, dict[str, float]] = {}
    fit(PAPER["dg-15"](), index_steps=2, steps=2)  # imports and first-time set-up
    for name, load in PAPER.items():
        dataset = load()
        figures[name] = {
            "fit_seconds": fit(dataset),
            "structure_seconds": fit(dataset, index_steps=1, steps=1),
            "index_block_seconds": fit(dataset, steps=1),
            **{f"profiled_{k}": v for k, v in product_share(dataset).items()},
        }
        print(name, figures[name], flush=True)
    rounded = {n: {k: round(v, 2) for k, v in row.items()} for n, row in figures.items()}
    RESULT.write_text(json.dumps(rounded, indent=2) + "\n")


if __name__ == "__main__":
    main()
