"""Wild rows: which values of known datasets are too far out, and how far one such row moves a map.

Writes results/wild_rows.json. Every table of the suites `paper` and `real` is looked at for values
that the bounds of a fit would draw in. Then one row of a domain is made a thousand or a million
times as large, in sources and targets, and the map of `MomentFlow` is held against the clean one:
how far domains move, in median spacings of the map, with the bounds and without. A fit with a wild
row is the fit without that row, so the former is what one row is worth on that map.

    python -m domindex_bench.scripts.wild_rows
"""

from __future__ import annotations

import argparse
import json
import warnings
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression, Ridge

from domindex import MomentFlow, load_dataset
from domindex.datasets import DomainDataset
from domindex.errors import ExtremeValueWarning
from domindex.geometry import procrustes_align
from domindex.inputs.bounds import InputBounds, column_bounds
from domindex.inputs.names import number_names
from domindex_bench.data.real import list_real_datasets, load_real_dataset
from domindex_bench.provenance import Provenance

RESULTS = Path(__file__).parents[2] / "results" / "wild_rows.json"
PAPER = ("circle", "dg-15", "dg-60", "tpt-48-w-e", "tpt-48-n-s")
FACTORS = (1e3, -1e6)

Floats = NDArray[np.float64]


def too_far_out(dataset: DomainDataset) -> dict[str, Any] | None:
    """How many values are, and of which columns; None for pictures."""
    X = np.asarray(dataset.X, dtype=np.float64)
    if X.ndim != 2:
        return None
    low, high, _ = column_bounds(X, number_names(list(dataset.sample_domain), dataset.domains))
    counts = np.sum(~((low <= X) & (high >= X)), axis=0)
    return {
        "values": int(X.size),
        "too_far_out": int(counts.sum()),
        "columns": {str(column): int(counts[column]) for column in np.flatnonzero(counts)},
    }


def coordinates(dataset: DomainDataset, X: Floats, *, bounded: bool = True) -> Floats:
    """The map in closed form."""
    is_class = dataset.task == "classification"
    model = MomentFlow(LogisticRegression() if is_class else Ridge())
    unbounded = patch.object(InputBounds, "apply", lambda self, inputs, groups: inputs)
    with warnings.catch_warnings(), nullcontext() if bounded else unbounded:
        warnings.simplefilter("ignore", ExtremeValueWarning)
        model.fit(
            X,
            dataset.y,
            sample_domain=dataset.sample_domain,
            source_domains=dataset.source_domains,
        )
    return np.asarray(model.domain_indices_)


def moves(found: Floats, clean: Floats) -> Floats:
    """(domains,) in median spacings: the median distance of a domain to its nearest neighbour."""
    places = clean - clean.mean(axis=0)
    gaps = cdist(places, places) + np.diag(np.full(len(places), np.inf))
    moved = np.linalg.norm(procrustes_align(found, places) - places, axis=1)
    return np.asarray(moved / np.median(gaps.min(axis=1)))


def spoiled_maps(dataset: DomainDataset, n_domains: int) -> dict[str, Any]:
    """Of single rows, first and last of domains all over the map, turned wild."""
    X, names = np.asarray(dataset.X, dtype=np.float64), np.asarray(dataset.sample_domain)
    clean, own, largest, without = coordinates(dataset, X), [], [], []
    chosen = np.linspace(0, len(dataset.domains) - 1, n_domains).astype(int)
    for number in chosen:
        rows = np.flatnonzero(names == dataset.domains[number])
        for row, factor in zip((rows[0], rows[-1]), FACTORS):
            wild = X.copy()
            wild[row] *= factor
            found = moves(coordinates(dataset, wild), clean)
            own.append(float(found[number]))
            largest.append(float(found.max()))
            without.append(float(moves(coordinates(dataset, wild, bounded=False), clean).max()))
    return {
        "spoiled_rows": len(own),
        "median_move_of_its_domain": float(np.median(own)),
        "largest_move_of_its_domain": max(own),
        "largest_move_of_any_domain": max(largest),
        "median_of_the_largest_without_bounds": float(np.median(without)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=4)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    datasets = {name: load_dataset(name) for name in PAPER}
    datasets |= {name: load_real_dataset(name) for name in list_real_datasets()}
    found: dict[str, Any] = {"datasets": {}, "one_wild_row": {}}
    for name, dataset in datasets.items():
        counted = too_far_out(dataset)
        if counted is not None:
            found["datasets"][name] = counted
            print(name, counted, flush=True)
    found |= asdict(Provenance.here_and_now())
    for name in PAPER:
        found["one_wild_row"][name] = spoiled_maps(datasets[name], arguments.domains)
        print(name, found["one_wild_row"][name], flush=True)
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
