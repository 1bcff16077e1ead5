"""Three messy tables, from the file to scores, by the command line alone; beside plain models.

What the commands say is kept word for word, but for long lists of notes. Plain models learn from
the sources' rows as the run has prepared them, and are scored as `domindex score` does, mean over
target domains; the best of them is chosen in hindsight. Labels of targets score, and do nothing
else. Writes results/tables.json and the section of docs/figures.md that is made from it.

    python -m domindex_bench.scripts.tables            # all, from ../shared/data/tables or --data
    python -m domindex_bench.scripts.tables adult      # some; the others stay as they were
    python -m domindex_bench.scripts.tables --render   # the page alone
"""

from __future__ import annotations

import argparse
import resource
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
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

from domindex.tables import Run, score_table
from domindex.tables.labels import read_labels
from domindex.tables.reading import read_with_notes
from domindex_bench.scripts.result_files import (
    RESULTS,
    origin_line,
    read_results,
    write_results,
    write_table,
)

DATA = Path(__file__).parents[4] / "shared" / "data" / "tables"
MOST_NOTES = 8
"""Of a command that are shown; the rest is told by three dots."""


@dataclass(frozen=True)
class Table:
    """A file as it came, and the one command that fits it.

    Attributes
    ----------
    title : in the table of figures
    about : what is odd about it
    arguments : of `domindex fit`, after the file
    figure : what is measured, in words
    remark : on what came of it
    """

    title: str
    file: str
    about: str
    arguments: str
    figure: str
    remark: str = ""


TABLES = {
    "air": Table(
        "Air quality",
        "air_quality.csv",
        "`air_quality.csv` (UCI 360): -200 means missing, two columns have no name, times are "
        "spelled 18.00.00, and what is called\n`Date` makes the domains.",
        '--target "CO(GT)" --domain Date --domain-by month '
        "--sources 2004-03,2004-04,2004-05,2004-06 --na=-200 --dates",
        "root mean squared error, mg/m³",
        "Sensors drift: in the later months they have drifted further than the four labelled "
        "months could show,\nand errors are above what was forecast.",
    ),
    "california": Table(
        "California housing",
        "california_housing.csv",
        "`california_housing.csv` was put together of two copies of itself with a mark of a merge "
        "between them. Latitude is cut into\nbands of half a degree, named by their southern ends; "
        "longitude is left out, as coordinates are in the suite `real`.",
        "--target median_house_value --domain latitude --domain-by 0.5 --exclude longitude "
        "--sources 32.5,33,33.5,34,34.5,35",
        "root mean squared error, dollars",
    ),
    "adult": Table(
        "Adult",
        "adult.csv",
        "`adult.csv` (UCI 2) has blanks after its commas and ? for what is not known; the domain "
        "is the occupation.",
        "--target classification --domain occupation "
        "--sources Farming-fishing,Other-service,Priv-house-serv,Prof-specialty",
        "accuracy, %",
    ),
}


def measure(table: Table, folder: Path) -> dict[str, Any]:
    """Fit and score by commands, then plain models on the same rows."""
    with tempfile.TemporaryDirectory() as temporary:
        data, out = folder / table.file, Path(temporary) / "run"
        fit = ["fit", str(data), *shlex.split(table.arguments), "--out", str(out)]
        began = _cpu_of_children()
        said = _run(fit)
        seconds = _cpu_of_children() - began
        scored = _run(["score", str(out), str(data), "--out", str(out.parent / "scores.csv")])
        run = Run.open(out)
        overall = score_table(run, data).overall
        return {
            "fit": _tidied(said, temporary, folder),
            "score": _tidied(scored, temporary, folder),
            "cpu_seconds": seconds,
            "domindex": overall,
            "plain": plain_figures(run, data),
        }


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


def _run(arguments: list[str]) -> str:
    command = [sys.executable, "-m", "domindex", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")
    return done.stderr + done.stdout


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _tidied(said: str, temporary: str, folder: Path) -> list[str]:
    """Lines without bars and without the machine's own paths; long lists of notes cut."""
    lines = [line.split("\r")[-1].rstrip() for line in said.splitlines()]
    for place in (temporary, folder):
        lines = [line.replace(f"{place}/", "") for line in lines if line.strip()]
    lines = [line for line in lines if "━━" not in line]
    notes = [line for line in lines if line.startswith("note:")]
    others = [line for line in lines if not line.startswith("note:")]
    more = ["…"] if len(notes) > MOST_NOTES else []
    return [*notes[:MOST_NOTES], *more, *others]


def page(found: dict[str, Any]) -> list[str]:
    """The section of docs/figures.md, of the tables that were measured."""
    lines: list[str] = []
    tables = {name: table for name, table in TABLES.items() if name in found["tables"]}
    lines += [
        "Mean over target domains, with plain models on the same prepared inputs of the sources (a "
        "ridge or logistic regression,",
        "histogram boosting, extremely randomised trees; scikit-learn's defaults); the best of "
        "them is chosen in hindsight:",
        "",
        "| | figure | domindex | best plain | CPU of the fit |",
        "|---|---|---|---|---|",
    ]
    for name, table in tables.items():
        row = found["tables"][name]
        is_class = "accuracy" in row["domindex"]
        plain = row["plain"]
        best = (max if is_class else min)(plain, key=lambda one: plain[one])
        own = _told(row["domindex"]["accuracy" if is_class else "error"], is_class)
        other = f"{_told(plain[best], is_class)} ({best})"
        seconds = f"{row['cpu_seconds']:.0f} s"
        lines.append(f"| {table.title} | {table.figure} | {own} | {other} | {seconds} |")
    return [
        *lines,
        "",
        f"One seed each, `domindex_bench.scripts.tables`. {origin_line(found)}",
    ]


def _told(value: float, is_class: bool) -> str:
    if is_class:
        return f"{100 * value:.1f}"
    return f"{value:,.0f}" if value > 1000 else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--render", action="store_true")
    asked = parser.parse_args()
    known = (RESULTS / "tables.json").exists()
    found: dict[str, Any] = read_results("tables")["tables"] if known else {}
    for name in () if asked.render else asked.tables or TABLES:
        if name not in TABLES:
            parser.error(f"{name!r} is none of {', '.join(TABLES)}")
        found[name] = measure(TABLES[name], asked.data)
        print(name, found[name]["domindex"], found[name]["plain"], flush=True)
        write_results("tables", {"tables": found})
    write_table("figures.md", "tables", page(read_results("tables")))


if __name__ == "__main__":
    main()
