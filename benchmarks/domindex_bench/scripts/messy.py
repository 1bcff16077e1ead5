"""Seven messy files, each with one command and no editing: what it says, and how it predicts.

The files are drawn (`data.messy`), with the flaws of real ones. Labels of targets score, and do
nothing else.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from domindex.tables import predict_table
from domindex_bench.data.messy import messy_files
from domindex_bench.measuring import Found, Measurement, origin_line

FILES = messy_files()


def measure(name: str) -> Found:
    """Fit one file by the command line, and score the rows without labels."""
    file = FILES[name]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / file.name).write_bytes(file.content)
        asked = f"fit {file.name} {file.arguments} --effort quick --out run"
        command = [sys.executable, "-m", "domindex", *shlex.split(asked)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        said = [one for one in done.stderr.splitlines() if "━" not in one and " of " not in one[:3]]
        start = next(n for n, one in enumerate(said) if one.startswith("The run is in"))
        predicted = predict_table(f"{folder}/run", f"{folder}/{file.name}").table
    assert predicted is not None
    target = _target(file.arguments)
    return {
        "flaws": file.flaws,
        "command": f"domindex {asked}",
        "said": [one for one in said[:start] if not one.startswith("This will take")],
    } | _score(predicted, target, file.labels)


def _target(arguments: str) -> str:
    parts = shlex.split(arguments)
    return parts[parts.index("--target") + 1].strip()


def _score(predicted: pd.DataFrame, target: str, labels: np.ndarray) -> Found:
    """Of all rows of targets; beside the commonest class, or the mean, of the labelled rows."""
    if predicted[target].dtype.kind == "f":
        truth = labels.astype(np.float64)
        gaps = predicted[target].to_numpy() - truth
        return {"share of the variance": round(1.0 - float((gaps**2).mean() / truth.var()), 3)}
    hits = predicted[target].to_numpy() == np.array([str(one) for one in labels])
    return {"accuracy": round(float(hits.mean()), 3)}


def lines(content: Found) -> list[str]:
    """A part for each file: its flaws, the command, what it said."""
    found = []
    for name in [one for one in FILES if one in content]:
        row = content[name]
        figure = "accuracy" if "accuracy" in row else "share of the variance"
        found += [
            f"## {FILES[name].name}",
            "",
            f"{row['flaws'][:1].upper()}{row['flaws'][1:]}.",
            "",
        ]
        found += ["```", f"$ {row['command']}", *row["said"], "```", ""]
        found += [f"All rows, labelled ones among them: {figure} {row[figure]}.", ""]
    last = max((content[one] for one in FILES if one in content), key=lambda row: row["date"])
    return [*found, f"One seed each. {origin_line('messy', last)}"]


MEASUREMENT = Measurement(
    {name: partial(measure, name) for name in FILES}, page="messy.md", tables={"messy": lines}
)
