"""A fit on rows that stand on disk: its peak memory, time and accuracy. Writes a file of results.

Generated: 60 domains of rows with 512 features (float32), a plane in them that turns from domain to
domain, ten domains with labels. The file is read as a memory map, or, with --dataset, as a torch
Dataset by worker processes. Target labels are used to score, nothing else.

    python -m domindex_bench.scripts.beyond_memory                # 200,000 rows; results and docs
    python -m domindex_bench.scripts.beyond_memory --rows 20000   # a look, no file
    python -m domindex_bench.scripts.beyond_memory --page         # the docs again, from the file
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.data import Dataset

from domindex import VDIClassifier
from domindex_bench.running import MemoryMeter
from domindex_bench.scripts.result_files import (
    origin_line,
    read_results,
    write_results,
    write_table,
)

NAME = "beyond_memory"
N_ROWS, N_DOMAINS, N_SOURCES, N_FEATURES = 200_000, 60, 10, 512
CHUNK = 10_000
N_SHOWN = 8
"""Candidates of the committee that are kept with the figures."""


def write_rows(path: Path, n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels and domains of rows that are written to `path`, some at a time."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.normal(size=(N_FEATURES, 4)))[0]
    domains = rng.integers(0, N_DOMAINS, n_rows)
    labels = rng.integers(0, 2, n_rows)
    rows = np.lib.format.open_memmap(path, "w+", dtype=np.float32, shape=(n_rows, N_FEATURES))
    for begin in range(0, n_rows, CHUNK):
        part = slice(begin, begin + CHUNK)
        angle = 1.5 * np.pi * domains[part] / N_DOMAINS
        side = 2.0 * labels[part] - 1.0
        level = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 4.0
        across = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 2.0 * side[:, None]
        latent = np.hstack([level, across]) + rng.normal(0.0, 0.5, (len(side), 4))
        rows[part] = latent @ frame.T + rng.normal(0.0, 0.1, (len(side), N_FEATURES))
    rows.flush()
    return labels, domains


class Rows(Dataset):
    """The same file, an item a row."""

    def __init__(self, path: Path, labels: np.ndarray, domains: np.ndarray) -> None:
        self.path, self.labels, self.domains = path, labels, domains
        self.rows: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, number: int) -> tuple[np.ndarray, int, int]:
        if self.rows is None:
            self.rows = np.load(self.path, mmap_mode="r")
        return self.rows[number], int(self.labels[number]), int(self.domains[number])


def measure(n_rows: int, effort: str, as_dataset: bool) -> dict[str, Any]:
    """Write rows to a file, fit and predict them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        labels, domains = write_rows(path, n_rows)
        sources = list(range(0, N_DOMAINS, N_DOMAINS // N_SOURCES))[:N_SOURCES]
        rows = np.load(path, mmap_mode="r")
        model = VDIClassifier(effort=effort, random_state=0)
        found: dict[str, Any] = {"rows": n_rows, "features": N_FEATURES, "domains": N_DOMAINS}
        found |= {"effort": effort, "dataset": as_dataset, "file_mb": path.stat().st_size >> 20}
        with MemoryMeter() as meter:
            found["before_mb"] = round(meter.now_mb())
            began, wall = time.process_time(), time.monotonic()
            if as_dataset:
                model.fit(Rows(path, labels, domains), source_domains=sources)
            else:
                model.fit(rows, labels, sample_domain=domains, source_domains=sources)
            found["fit_cpu_s"] = round(time.process_time() - began, 1)
            found["fit_wall_s"] = round(time.monotonic() - wall, 1)
            found["fit_peak_mb"] = round(meter.peak_mb)
            began = time.process_time()
            predicted = model.predict(rows, sample_domain=domains)
            found["predict_cpu_s"] = round(time.process_time() - began, 1)
        found["peak_mb"] = round(meter.peak_mb)
        found["ru_maxrss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        targets = ~np.isin(domains, sources)
        found["target_accuracy"] = float((predicted == labels)[targets].mean())
        shown = model.candidates_[["candidate", "loss", "weight"]].head(N_SHOWN)
        return found | {"candidates": shown.round(4).to_dict("records")}


def table(found: dict[str, Any]) -> list[str]:
    """For docs/figures.md."""
    return [
        f"| {found['rows']:,} rows × {found['features']} features on disk, {found['domains']} "
        f"domains | {found['file_mb']:,} MB |",
        "|---|---|",
        f"| peak memory of fit and predict | {found['peak_mb']:,} MB, of which "
        f"{found['before_mb']} are imports |",
        f"| fit | {found['fit_cpu_s']:.0f} s of CPU |",
        f"| predict all rows | {found['predict_cpu_s']:.0f} s of CPU |",
        f"| accuracy in the targets | {100 * found['target_accuracy']:.2f} % |",
        "",
        f"{origin_line(found)} `python -m domindex_bench.scripts.beyond_memory` measures it again.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--effort", default="full", choices=["full", "quick"])
    parser.add_argument("--dataset", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    asked = parser.parse_args()
    if not asked.page:
        found = measure(asked.rows, asked.effort, asked.dataset)
        print(json.dumps(found, indent=1))
        if (asked.rows, asked.effort, asked.dataset) != (N_ROWS, "full", False):
            return
        write_results(NAME, found)
    write_table("figures.md", "beyond memory", table(read_results(NAME)))


if __name__ == "__main__":
    main()
