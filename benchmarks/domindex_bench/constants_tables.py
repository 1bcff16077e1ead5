"""What the constants of the committee are worth, as Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from domindex.errors import InputError
from domindex_bench.constants import (
    GRID,
    Scored,
    choose_without,
    default_of,
    scored_of,
    text,
)
from domindex_bench.rendering import short_commit
from domindex_bench.tables import between, markdown

START = "<!-- sensitivity -->"
END = "<!-- end of sensitivity -->"
HARM = 1.0
"""Points below the best plain candidate that count as worse."""

SENSITIVITY_NOTE = (
    "The first round, run once on each dataset of the suites `paper` and `real` (but the images), "
    "seed 0, and weighed again with one constant changed. The second round, self-training and the "
    "network, is left out here, so scores are not those of the model. A *gain* is counted from the "
    "better of linear and boosting on `raw`, chosen in hindsight: in points of accuracy, mean over "
    "target domains, or as 33 times the logarithm of the ratio of squared errors, so that 3 % is a "
    "point; at most 10 either way, and some datasets lie beyond that with any value: *moves most* "
    "is the dataset whose own score changes most against the defaults, without a bound. *Worse* "
    "are datasets more than a point below plain. Defaults are bold. One seed: how far chance moves "
    "these figures was not measured."
)
LEFT_OUT_NOTE = (
    "Each constant chosen by the mean gain on all other datasets, alone and then all together, and "
    "scored on the one left out; the chosen value in brackets where it is not the default. "
    "Accuracy in %, or squared error over the variance of the targets' values. The defaults were "
    "found with some of these scores in view, and each constant is chosen with the others at their "
    "defaults: only the choice itself has not seen the dataset."
)


def render(report: dict[str, Any]) -> str:
    """Both tables, and where they come from."""
    datasets = scored_of(report)
    origin = f"Measured at commit {short_commit(report['commit'])}, {report['date'][:10]}."
    parts = [SENSITIVITY_NOTE, sensitivity_table(datasets)]
    if len(datasets) > 1:
        parts += ["**Leaving a dataset out.** " + LEFT_OUT_NOTE, left_out_table(report)]
    return "\n\n".join([*parts, origin])


def sensitivity_table(datasets: Sequence[Scored]) -> str:
    """A row per constant and value."""
    rows = []
    for constant, values in GRID.items():
        for value in values:
            bold = "**" if value == default_of(constant) else ""
            gains = [one.gain_with(constant, value) for one in datasets]
            worst = int(np.argmin(gains))
            rows.append(
                [
                    f"`{constant}`" if value == values[0] else "",
                    f"{bold}{text(value)}{bold}",
                    f"{np.mean(gains):+.2f}",
                    f"{gains[worst]:+.2f} ({datasets[worst].title})",
                    str(sum(gain < -HARM for gain in gains)),
                    _moves_most(datasets, constant, value),
                ]
            )
    worse = f"worse, of {len(datasets)}"
    heads = ["constant", "value", "mean gain", "worst dataset", worse, "moves most"]
    return markdown(heads, rows)


def _moves_most(datasets: Sequence[Scored], constant: str, value: float) -> str:
    """The dataset that is farthest from its score under the defaults, and both scores."""

    def distance(one: Scored) -> float:
        return abs(one.points(one.scores[constant][text(value)], one.default))

    one = max(datasets, key=distance)
    if not distance(one):
        return ""
    then = _shown(one, one.scores[constant][text(value)])
    return f"{one.title}: {_shown(one, one.default)} to {then}"


def left_out_table(report: dict[str, Any]) -> str:
    """A row per dataset, a column per constant, and the mean gains below."""
    datasets = scored_of(report)
    together = {row["name"]: row["together"] for row in report["datasets"]}
    choices = {one.name: choose_without(one.name, datasets) for one in datasets}

    def cell(one: Scored, constant: str) -> str:
        value = choices[one.name][constant]
        shown = _shown(one, one.scores[constant][text(value)])
        return shown if value == default_of(constant) else f"{shown} ({text(value)})"

    rows = [
        [
            one.title,
            _shown(one, one.best_plain),
            _shown(one, one.default),
            *(cell(one, constant) for constant in GRID),
            _shown(one, together[one.name]),
        ]
        for one in datasets
    ]

    def mean_gain(score: Callable[[Scored], float]) -> str:
        return f"{np.mean([one.gain(score(one)) for one in datasets]):+.2f}"

    means = [
        mean_gain(lambda one, c=constant: one.scores[c][text(choices[one.name][c])])  # type: ignore[misc]
        for constant in GRID
    ]
    last = mean_gain(lambda one: together[one.name])
    rows.append(["mean gain", "", mean_gain(lambda one: one.default), *means, last])
    heads = ["", "best plain", "defaults", *(f"`{name}`" for name in GRID), "all together"]
    return markdown(heads, rows)


def _shown(one: Scored, score: float) -> str:
    return f"{score:.1f}" if one.task == "classification" else f"{score:#.3g}"


def between_marks(page: str, content: str) -> str:
    """The page with the content between the two marks."""
    written = between(page, content, START, END)
    if written is None:
        raise InputError(f"The page lacks {START!r} and {END!r}. Put them where the tables go.")
    return written


def write_page(page: Path, results: Path) -> None:
    """Write the tables of a file of results into a page."""
    report = json.loads(results.read_text(encoding="utf-8"))
    written = between_marks(page.read_text(encoding="utf-8"), render(report))
    page.write_text(written, encoding="utf-8")
