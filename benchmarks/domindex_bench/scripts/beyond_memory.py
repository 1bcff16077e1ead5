"""A fit on rows that stand on disk: its peak memory, time and accuracy.

Generated: 60 domains of rows with 512 features (float32), a plane in them that turns from domain to
domain, ten domains with labels. The file is read as a memory map. Target labels are used to score,
nothing else.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from domindex import CrossDomainClassifier
from domindex_bench.measuring import Found, Measurement, origin_line
from domindex_bench.running import MemoryMeter

PART = "200,000 rows"


def write_rows(path: Path, n_rows: int, n_domains: int, n_features: int) -> tuple[np.ndarray, ...]:
    """Labels and domains of rows that are written to `path`, some at a time."""
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.normal(size=(n_features, 4)))[0]
    domains = rng.integers(0, n_domains, n_rows)
    labels = rng.integers(0, 2, n_rows)
    rows = np.lib.format.open_memmap(path, "w+", dtype=np.float32, shape=(n_rows, n_features))
    for begin in range(0, n_rows, 10_000):
        part = slice(begin, begin + 10_000)
        angle = 1.5 * np.pi * domains[part] / n_domains
        side = 2.0 * labels[part] - 1.0
        direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        latent = np.hstack([4.0 * direction, 2.0 * side[:, None] * direction])
        latent += rng.normal(0.0, 0.5, (len(side), 4))
        rows[part] = latent @ frame.T + rng.normal(0.0, 0.1, (len(side), n_features))
    rows.flush()
    return labels, domains


def measure(n_rows: int = 200_000, n_domains: int = 60, n_features: int = 512) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        labels, domains = write_rows(path, n_rows, n_domains, n_features)
        sources = list(range(0, n_domains, n_domains // 10))[:10]
        rows = np.load(path, mmap_mode="r")
        found: Found = {"rows": n_rows, "features": n_features, "domains": n_domains}
        found["file_mb"] = path.stat().st_size >> 20
        with MemoryMeter() as meter:
            found["before_mb"] = round(meter.now_mb())
            began = time.process_time()
            model = CrossDomainClassifier(random_state=0)
            model.fit(rows, labels, sample_domain=domains, source_domains=sources)
            found["fit_cpu_s"] = round(time.process_time() - began, 1)
            began = time.process_time()
            predicted = model.predict(rows, sample_domain=domains)
            found["predict_cpu_s"] = round(time.process_time() - began, 1)
        found["peak_mb"] = round(meter.peak_mb)
        targets = ~np.isin(domains, sources)
        found["target_accuracy"] = float((predicted == labels)[targets].mean())
        return found


def table(content: Found) -> list[str]:
    found = content[PART]
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
        origin_line("beyond_memory", found),
    ]


MEASUREMENT = Measurement({PART: measure}, fresh=True, tables={"beyond memory": table})
