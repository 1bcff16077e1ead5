"""The whole way of a table, on a family of domains made up for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from domindex.datasets import DomainDataset, make_domain_graph
from domindex.evaluation import index_correlation
from domindex.persistence.atomic import check_free
from domindex.persistence.paths import usable_path
from domindex.tables.fitting import fit_table
from domindex.tables.mapping import index_table
from domindex.tables.predicting import predict_table
from domindex.tables.reading import write_table
from domindex.tables.run import RUN, Run

N_DOMAINS = 24


@dataclass(frozen=True)
class DemoResult:
    """The run, and how well it did on labels that it was not given."""

    run: Run
    figures: dict[str, float]

    def summary(self) -> str:
        return (
            f"Accuracy in the domains without labels: {self.figures['target_accuracy']:.1%}. "
            "Correlation of the map with the angles that were never given: "
            f"{self.figures['index_correlation']:.3f}."
        )


def run_demo(
    out: str | os.PathLike[str],
    *,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    report: bool = True,
    force: bool = False,
    progress: bool = False,
) -> DemoResult:
    """Write family.csv, run/, predictions.csv and index.csv into the folder `out`.

    Examples
    --------
    >>> from domindex.tables import run_demo
    >>> run_demo("demo", settings={"effort": "much"})
    Traceback (most recent call last):
    domindex.errors.InputError: effort is 'much'...
    """
    folder = usable_path(out)
    check_free(folder / "run", marker=RUN, overwrite=force)
    family = make_domain_graph(n_domains=N_DOMAINS, random_state=seed)
    write_table(_table(family), folder / "family.csv", overwrite=force)
    run = fit_table(
        folder / "family.csv",
        target=["label"],
        domain="domain",
        out=folder / "run",
        seed=seed,
        settings=settings,
        report=report,
        force=force,
        progress=progress,
    )
    predicted = predict_table(run, folder / "family.csv", progress=progress).table
    assert predicted is not None
    index = index_table(run).table
    write_table(predicted, folder / "predictions.csv", overwrite=force)
    write_table(index, folder / "index.csv", overwrite=force)
    right = predicted["label"].to_numpy() == family.y
    assert family.true_index is not None
    numbers = [int(name) for name in index["domain"]]
    figures = {
        "target_accuracy": float(right[~family.is_source].mean()),
        "index_correlation": float(
            index_correlation(index[["x1", "x2"]].to_numpy(), family.true_index[numbers])
        ),
    }
    return DemoResult(run, figures)


def _table(family: DomainDataset) -> pd.DataFrame:
    """As a user would have it: labels of the sources only."""
    table = pd.DataFrame(family.X, columns=[f"input{n}" for n in range(family.X.shape[1])])
    table["domain"] = family.sample_domain
    labels = pd.Series(family.y).astype("Int64")
    table["label"] = labels.mask(np.asarray(~family.is_source))
    return table
