"""Three messy tables, from the file to scores, by the command line alone; beside plain models.

Plain models learn from the sources' rows as the run has prepared them, and are scored as `domindex
score` does, mean over target domains; the best of them is chosen in hindsight. Labels of targets
score, and do nothing else. The files are looked for in the folder `tables` of $DOMINDEX_DATA.
"""

from __future__ import annotations

import resource
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domindex.datasets.files import data_folder
from domindex.tables import Run, score_table
from domindex.tables.labels import read_labels
from domindex.tables.reading import read_with_notes
from domindex_bench.measuring import Found, Measurement, origin_line


@dataclass(frozen=True)
class Table:
    """A file as it came, the arguments of `domindex fit` after it, and what is measured."""

    title: str
    file: str
    arguments: str
    figure: str


TABLES = {
    # -200 means missing, two columns have no name, times are spelled 18.00.00 (UCI 360).
    "air": Table(
        "Air quality",
        "air_quality.csv",
        '--target "CO(GT)" --domain Date --domain-by month '
        "--sources 2004-03,2004-04,2004-05,2004-06 --na=-200 --dates",
        "root mean squared error, mg/m³",
    ),
    # Put together of two copies of itself, with a mark of a merge between them.
    "california": Table(
        "California housing",
        "california_housing.csv",
        "--target median_house_value --domain latitude --domain-by 0.5 --exclude longitude "
        "--sources 32.5,33,33.5,34,34.5,35",
        "root mean squared error, dollars",
    ),
    # Blanks after its commas and ? for what is not known (UCI 2).
    "adult": Table(
        "Adult",
        "adult.csv",
        "--target classification --domain occupation "
        "--sources Farming-fishing,Other-service,Priv-house-serv,Prof-specialty",
        "accuracy, %",
    ),
}


def measure(table: Table) -> Found:
    """Fit and score by commands, then plain models on the same rows."""
    data = data_folder() / "tables" / table.file
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "run"
        began = _cpu_of_children()
        command = [sys.executable, "-m", "domindex", "fit", str(data), "--out", str(out)]
        subprocess.run([*command, *shlex.split(table.arguments)], check=True)
        seconds = _cpu_of_children() - began
        run = Run.open(out)
        overall = score_table(run, data).overall
        return {"cpu_seconds": seconds, "domindex": overall, "plain": plain_figures(run, data)}


def plain_figures(run: Run, data: Path) -> dict[str, float]:
    """Of each plain model, the mean over target domains."""
    model = run.model()
    table, _ = read_with_notes(data, run.form, texts=[run.domain])
    labels = read_labels(table, run.targets, run.about["task"])
    inputs = model._preparation.apply(table).values
    domains = np.asarray(run.rule.names(table[run.domain]), dtype=object)
    known = np.asarray(labels.known)
    y = np.asarray(labels.values).reshape(len(known), -1)[:, 0]
    is_source = np.isin(domains.astype(str), [str(one) for one in model.source_domains_])
    learned, scored = known & is_source, known & ~is_source
    is_class = run.about["task"] == "classification"
    y = y.astype(str) if is_class else y.astype(np.float64)
    found = {}
    for name, model in _plain_models(is_class).items():
        guess = model.fit(inputs[learned], y[learned]).predict(inputs[scored])
        off = guess == y[scored] if is_class else (guess - y[scored]) ** 2
        means = pd.Series(off).groupby(domains[scored].astype(str)).mean()
        found[name] = float(means.mean() if is_class else np.sqrt(means).mean())
    return found


def _plain_models(is_class: bool) -> dict[str, Any]:
    linear = LogisticRegression(max_iter=2000) if is_class else Ridge()
    boosting = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    trees = ExtraTreesClassifier if is_class else ExtraTreesRegressor
    return {
        "linear": make_pipeline(StandardScaler(), linear),
        "boosting": boosting(random_state=0),
        "trees": trees(random_state=0),
    }


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def lines(content: Found) -> list[str]:
    found = [
        "Mean over target domains, with plain models on the same prepared inputs of the sources (a "
        "ridge or logistic regression,",
        "histogram boosting, extremely randomised trees; scikit-learn's defaults); the best of "
        "them is chosen in hindsight:",
        "",
        "| | figure | domindex | best plain | CPU of the fit |",
        "|---|---|---|---|---|",
    ]
    measured = {name: table for name, table in TABLES.items() if name in content}
    for name, table in measured.items():
        row = content[name]
        is_class, plain = "accuracy" in row["domindex"], row["plain"]
        best = (max if is_class else min)(plain, key=lambda one: plain[one])
        own = _shown(row["domindex"]["accuracy" if is_class else "error"], is_class)
        other = f"{_shown(plain[best], is_class)} ({best})"
        seconds = f"{row['cpu_seconds']:.0f} s"
        found.append(f"| {table.title} | {table.figure} | {own} | {other} | {seconds} |")
    last = max((content[name] for name in measured), key=lambda row: row["date"])
    return [*found, "", f"One seed each. {origin_line('tables', last)}"]


def _shown(value: float, is_class: bool) -> str:
    if is_class:
        return f"{100 * value:.1f}"
    return f"{value:,.0f}" if value > 1000 else f"{value:.3f}"


MEASUREMENT = Measurement(
    {name: partial(measure, table) for name, table in TABLES.items()}, tables={"tables": lines}
)
