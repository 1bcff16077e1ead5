"""Golden predictions: what the default says on sixteen datasets, before and after a change.

    domindex-bench golden write FOLDER     fit, and write an .npz a dataset, effort and seed
    domindex-bench golden compare OLD NEW  list the largest difference of every part

Only the public interface is used, so that this file, run alone, serves any version of the package.
Every dataset is thinned to a fixed sample of its rows, for time. A file that is already there is
not written again. DOMINDEX_DATA names the folder with the data.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import domindex
from domindex.datasets import load_dataset

PAPER = ("circle", "dg-15", "dg-60", "tpt-48-w-e", "tpt-48-n-s", "rotating-digits")
REAL = ("vowel", "gas", "elec2", "gapminder", "produc", "airquality_it")
REAL2 = ("heart", "concrete", "penguins", "garments")
DATASETS = (*PAPER, *REAL, *REAL2)
EFFORTS = ("quick", "full")
MAX_ROWS = 1000


def load(name: str) -> dict[str, Any]:
    """X, y, domains of rows and sources of a dataset, thinned by a fixed draw."""
    if name in PAPER:
        found = load_dataset(name)
        X, y, d, sources = found.X, found.y, found.sample_domain, found.source_domains
        is_class = found.task == "classification"
    else:
        folder = Path(os.environ["DOMINDEX_DATA"]) / ("real" if name in REAL else "real2")
        with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
            X, y, d = arrays["X"], arrays["y"], arrays["d"].astype(str)
            sources = [str(source) for source in arrays["sources"]]
            is_class = str(arrays["task"]) == "class"
    rows = np.arange(len(X))
    if len(rows) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MAX_ROWS, replace=False))
    return {"X": X[rows], "y": y[rows], "d": d[rows], "sources": sources, "is_class": is_class}


def fitted_parts(name: str, effort: str, seed: int) -> dict[str, np.ndarray]:
    """Predictions, map, forecast and weights of the default model."""
    given = load(name)
    classifier = getattr(domindex, "CrossDomainClassifier", None) or domindex.VDIClassifier
    regressor = getattr(domindex, "CrossDomainRegressor", None) or domindex.VDIRegressor
    kind = classifier if given["is_class"] else regressor
    model = kind(effort=effort, random_state=seed, n_jobs=1)
    model.fit(given["X"], given["y"], sample_domain=given["d"], source_domains=given["sources"])
    predict = model.predict_proba if given["is_class"] else model.predict
    weights = model.candidates_.set_index("candidate")["weight"]
    weights = weights[weights > 0].sort_index()
    numbers = model.forecast_.select_dtypes("number")
    return {
        "predictions": np.asarray(predict(given["X"], sample_domain=given["d"])),
        "map": np.asarray(model.domain_indices_),
        "deviations": np.asarray(model.domain_index_std_),
        "forecast": numbers.to_numpy(np.float64),
        "weights": weights.to_numpy(np.float64),
        "members": np.array(weights.index.tolist(), dtype=str),
    }


def write(folder: Path, names: list[str], efforts: list[str], seeds: list[int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for effort in efforts:
        for seed in seeds:
            for name in names:
                path = folder / f"{name}_{effort}_{seed}.npz"
                if path.exists():
                    continue
                start = time.perf_counter()
                parts = fitted_parts(name, effort, seed)
                parts["seconds"] = np.array(time.perf_counter() - start)
                partial = path.with_suffix(".part.npz")
                np.savez_compressed(partial, **parts)
                partial.rename(path)
                print(f"{path.stem}: {float(parts['seconds']):.1f} s", flush=True)


def difference(old: np.ndarray, new: np.ndarray) -> float:
    """The largest difference, relative where values are above 1; infinite where shapes differ."""
    if old.dtype.kind in "US" or new.dtype.kind in "US":
        return 0.0 if old.tolist() == new.tolist() else np.inf
    if old.shape != new.shape:
        return np.inf
    if not old.size:
        return 0.0
    apart = np.abs(old - new) / np.maximum(1.0, np.abs(old))
    apart[np.isnan(old) & np.isnan(new)] = 0.0
    return float(np.nan_to_num(apart, nan=np.inf).max())


def compare(old: Path, new: Path, tolerance: float) -> int:
    """Print a line for each file that differs; the number of those beyond `tolerance`."""
    wrong, seconds = 0, np.zeros(2)
    paths = [path for path in sorted(new.glob("*.npz")) if not path.stem.endswith(".part")]
    for path in paths:
        with np.load(old / path.name) as first, np.load(path) as second:
            apart = {
                name: difference(first[name], second[name]) for name in first if name != "seconds"
            }
            seconds += float(first["seconds"]), float(second["seconds"])
        worst = max(apart.values())
        if worst > 0:
            shown = ", ".join(f"{name} {value:.1e}" for name, value in apart.items() if value > 0)
            print(f"{path.stem}: {shown}")
        wrong += worst > tolerance
    print(f"{len(paths)} fits compared, {wrong} apart by more than {tolerance:g}")
    print(f"seconds in all: {seconds[0]:.0f} before, {seconds[1]:.0f} after")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="domindex-bench golden",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    writing.add_argument("--efforts", nargs="+", choices=EFFORTS, default=list(EFFORTS))
    writing.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--tolerance", type=float, default=1e-9)
    given = parser.parse_args(arguments)
    if given.command == "compare":
        return int(compare(given.old, given.new, given.tolerance) > 0)
    warnings.filterwarnings("ignore")
    write(given.folder, given.datasets, given.efforts, given.seeds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
