"""Twenty million rows of Parquet: fit, predict, and the same fit on two Dask workers.

A table of 12 columns and 500 domains is generated in a folder for temporary files, 1.5 GB, which
the last part deletes. Every step runs in a process of its own; peaks of memory are those of that
process and of those it starts. Labels are scored after everything was predicted. The committee of
the default predicts two parts of the table; what all rows would take is extrapolated from the two.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from domindex.tables import Run
from domindex_bench.measuring import Found, Measurement

FOLDER = Path(tempfile.gettempdir()) / "streaming"
N_ROWS, N_DOMAINS, N_FILES = 20_000_000, 500, 20
NAMES = [f"s{n:03d}" for n in range(N_DOMAINS)]
SOURCES = [name for number, name in enumerate(NAMES) if number % 10 < 3]
"""Domains with labels: three of ten, all along the family."""

KINDS = pa.array(["plain", "red", "green", "blue", "none"])


def rows_of(rng: np.random.Generator, n_rows: int) -> dict[str, Any]:
    """A family that turns: two classes in a plane that is rotated from domain to domain, two
    inputs that drift with it, four that say nothing, a count and a text."""
    domains = rng.integers(0, N_DOMAINS, n_rows)
    share = domains / (N_DOMAINS - 1)
    classes = rng.integers(0, 2, n_rows)
    centre = np.column_stack([2.0 * classes - 1.0, np.full(n_rows, 2.0)])
    plane = centre + 0.35 * rng.normal(size=(n_rows, 2))
    angle = 1.5 * np.pi * share
    x1 = np.cos(angle) * plane[:, 0] - np.sin(angle) * plane[:, 1]
    x2 = np.sin(angle) * plane[:, 0] + np.cos(angle) * plane[:, 1]
    noise = rng.normal(size=(n_rows, 6))
    columns = {
        "store": pa.array(NAMES).take(pa.array(domains)),
        "label": classes,
        "x1": x1,
        "x2": x2,
        "drift1": noise[:, 0] + share,
        "drift2": 0.5 * noise[:, 1] - 2.0 * share,
    }
    columns |= {f"noise{n}": noise[:, n] for n in range(2, 6)}
    columns["count"] = rng.poisson(3, n_rows)
    columns["kind"] = KINDS.take(pa.array(rng.integers(0, len(KINDS), n_rows)))
    return columns


def write_table() -> Found:
    """Parquet files of many row groups; labels of targets are there, and named as no sources."""
    data = FOLDER / "table"
    data.mkdir(parents=True)
    for number in range(N_FILES):
        rng = np.random.default_rng([0, number])
        left = N_ROWS // N_FILES
        with pq.ParquetWriter(data / f"part-{number:02d}.parquet", _schema()) as writer:
            while left > 0:
                size = min(left, 100_000)
                writer.write_table(pa.table(rows_of(rng, size), schema=_schema()))
                left -= size
    size = sum(path.stat().st_size for path in data.iterdir())
    return {"rows": N_ROWS, "columns": 12, "domains": N_DOMAINS, "gigabytes": round(size / 1e9, 2)}


def _schema() -> pa.Schema:
    names = ["x1", "x2", "drift1", "drift2", *(f"noise{n}" for n in range(2, 6))]
    return pa.schema(
        [("store", pa.string()), ("label", pa.int64())]
        + [(name, pa.float64()) for name in names]
        + [("count", pa.int64()), ("kind", pa.string())]
    )


def measured(arguments: list[str]) -> dict[str, float]:
    """Seconds, and the peak of memory of a process and of those it started."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "domindex.cli", *arguments])
    watched, peak, busy = psutil.Process(process.pid), 0, 0.0
    while process.poll() is None:
        try:
            family = [watched, *watched.children(recursive=True)]
            peak = max(peak, sum(one.memory_info().rss for one in family))
            times = watched.cpu_times()
            busy = times.user + times.system
        except psutil.Error:
            pass
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"domindex {arguments[0]} ended with code {process.returncode}")
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(busy, 1),
        "peak_mb": round(peak / 1e6),
    }


def fit(effort: str, out: str, *more: str) -> Found:
    config = FOLDER / f"{effort}.toml"
    config.write_text(f'effort = "{effort}"\n')
    roles = ["--target", "label", "--domain", "store", "--sources", ",".join(SOURCES)]
    files = [str(FOLDER / "table"), "--out", str(FOLDER / out), "--config", str(config)]
    spent: Found = measured(["fit", *files, *roles, "--no-report", *more])
    about = json.loads((FOLDER / out / "run.json").read_text())
    return spent | {"stages": about.get("stages"), "summary": about.get("summary")}


def fit_on_two_workers() -> Found:
    """The quick fit on a local cluster."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        spent = fit("quick", "far", "--dask", cluster.scheduler_address)
    return spent | {"same": same_model(FOLDER / "quick", FOLDER / "far")}


def predict(effort: str, data: Path = FOLDER / "table", n_rows: int = N_ROWS) -> Found:
    out = FOLDER / f"{effort}.parquet"
    spent: Found = {"rows": n_rows}
    spent |= measured(["predict", str(FOLDER / effort), str(data), "--out", str(out)])
    spent["rows_a_second"] = round(n_rows / spent["seconds"])
    spent["accuracy"] = round(accuracy_of(data, out), 4)
    out.unlink()
    return spent


def predict_parts() -> Found:
    """The default's rate on two sizes: what a row costs once everything is imported."""
    found: Found = {}
    files = sorted((FOLDER / "table").iterdir())
    for n_files in (1, 2):
        part = FOLDER / f"part-of-{n_files}"
        part.mkdir(exist_ok=True)
        for path in files[:n_files]:
            (part / path.name).unlink(missing_ok=True)
            (part / path.name).symlink_to(path)
        rows = n_files * (N_ROWS // N_FILES)
        found[f"{n_files} of {N_FILES} files"] = predict("full", part, rows)
    small, large = found.values()
    rate = (large["rows"] - small["rows"]) / (large["seconds"] - small["seconds"])
    found["rows_a_second_without_start"] = round(rate)
    found["seconds_of_all_rows_extrapolated"] = round(
        large["seconds"] + (N_ROWS - large["rows"]) / rate
    )
    return found


def clean() -> Found:
    shutil.rmtree(FOLDER)
    return {}


def accuracy_of(data: Path, predictions: Path) -> float:
    """On rows of targets, both read side by side in parts."""
    truth = ds.dataset(data).to_batches(columns=["store", "label"])
    said = ds.dataset(predictions).to_batches(columns=["label"])
    hits = total = 0
    true_left, said_left = _Joined(truth), _Joined(said)
    while (table := true_left.take(100_000)) is not None:
        other = said_left.take(table.num_rows)
        targets = ~np.isin(table.column("store").to_numpy().astype(str), SOURCES)
        right = table.column("label").to_numpy() == other.column("label").to_numpy()
        hits, total = hits + int(right[targets].sum()), total + int(targets.sum())
    return hits / total


class _Joined:
    """Batches of any sizes, handed out in given sizes."""

    def __init__(self, batches) -> None:
        self.batches, self.left = batches, None

    def take(self, n_rows: int):
        while self.left is None or self.left.num_rows < n_rows:
            batch = next(self.batches, None)
            if batch is None:
                break
            table = pa.Table.from_batches([batch])
            self.left = table if self.left is None else pa.concat_tables([self.left, table])
        if self.left is None or not self.left.num_rows:
            return None
        result, self.left = self.left.slice(0, n_rows), self.left.slice(n_rows)
        return result


def same_model(first: Path, second: Path) -> bool:
    """Whether two runs prepare rows alike, have the same map, and predict the same to the bit."""
    models = [Run.open(folder).model() for folder in (first, second)]
    if models[0]._preparation != models[1]._preparation:
        return False
    rows = np.random.default_rng(0).normal(size=(1000, models[0].n_features_in_))
    names = models[0].domains_[:1] * len(rows)
    frames = [pd.DataFrame(rows, columns=model.feature_names_in_) for model in models]
    said = [m.predict_proba(rows, sample_domain=names) for m, rows in zip(models, frames)]
    places = [model.domain_indices_ for model in models]
    return np.array_equal(*said) and np.array_equal(*places)


MEASUREMENT = Measurement(
    parts={
        "table": write_table,
        "fit quick": partial(fit, "quick", "quick"),
        "predict quick": partial(predict, "quick"),
        "fit quick on two workers": fit_on_two_workers,
        "fit full": partial(fit, "full", "full"),
        "predict full": predict_parts,
        "clean": clean,
    }
)
