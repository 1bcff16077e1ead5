"""Rows of one suite, gathered over seeds, and the Markdown that suites make of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from domindex_bench.figures import LOWER_IS_BETTER
from domindex_bench.published import Published, published
from domindex_bench.record import CellResult
from domindex_bench.suite import Suite

DIGITS = {"accuracy": 1, "worst": 1, "neighbours": 1, "seconds": 1, "mb": 0}
"""Digits after the point, by the last word of a figure's name; 3 for the others."""

OTHER_TREE = "†"
"""Stands beside a figure that was measured with another tree of `src/domindex`."""


@dataclass(frozen=True)
class Spread:
    """A figure over seeds, and whether any of its rows is of another tree."""

    values: tuple[float, ...]
    digits: int
    other_tree: bool = False

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    def difference(self, printed: float) -> str:
        return f"{self.mean - printed:+.{self.digits}f}"

    def __str__(self) -> str:
        """Mean ± deviation; the figure alone where it was measured once."""
        text = f"{self.mean:.{self.digits}f}"
        if len(self.values) > 1:
            text = f"{text} ± {np.std(self.values):.{self.digits}f}"
        return f"{text} {OTHER_TREE}" if self.other_tree else text


class Summary:
    """Results of a suite, by dataset and method; those of another tree than `tree` are marked."""

    def __init__(self, suite: Suite, results: Iterable[CellResult], tree: str) -> None:
        self.suite, self.tree = suite, tree
        self.rows = sorted(results, key=lambda result: result.seed)
        self._cells: dict[tuple[str, str], list[CellResult]] = {}
        for result in self.rows:
            self._cells.setdefault((result.dataset, result.method), []).append(result)

    def of_methods(self, names: Collection[str]) -> Summary:
        """The same, of some methods only."""
        return Summary(self.suite, [row for row in self.rows if row.method in names], self.tree)

    def of_datasets(self, names: Collection[str]) -> Summary:
        """The same, of some datasets only."""
        return Summary(self.suite, [row for row in self.rows if row.dataset in names], self.tree)

    def is_of_other_tree(self, row: CellResult) -> bool:
        return row.tree[:12] != self.tree[:12]

    @property
    def datasets(self) -> list[str]:
        """Those with results, in the order of the suite, others after them."""
        return _in_order(self.suite.datasets, {row.dataset for row in self.rows})

    @property
    def methods(self) -> list[str]:
        """Those with a figure on any dataset, in the order of the suite, others after them."""
        return _in_order(
            self.suite.methods, {row.method for row in self.rows if row.status == "done"}
        )

    def results(self, dataset: str, method: str) -> list[CellResult]:
        return self._cells.get((dataset, method), [])

    def spread(self, dataset: str, method: str, figure: str) -> Spread | None:
        """A figure over the seeds that have it; also fit_seconds and peak_mb."""
        known = [
            (float(value), self.is_of_other_tree(row))
            for row in self.results(dataset, method)
            if row.status == "done"
            and (value := row.figures.get(figure, getattr(row, figure, None))) is not None
        ]
        if not known:
            return None
        values, other = zip(*known)
        return Spread(values, DIGITS.get(figure.split("_")[-1], 3), any(other))

    def headline(self, dataset: str) -> str:
        """The figure that a dataset is about."""
        known = self.suite.datasets.get(dataset)
        if known is not None:
            return self.suite.headline[known.task]
        return next(iter(self.suite.headline.values()))

    def text(self, dataset: str, method: str, figure: str) -> str:
        """A figure as tables show it: also where it failed, cannot be, or was not tried."""
        spread = self.spread(dataset, method, figure)
        if spread is not None:
            return str(spread)
        statuses = {row.status for row in self.results(dataset, method)}
        if "failed" in statuses:
            return "failed"
        return "n/a" if "not applicable" in statuses else "–"

    def words(self, dataset: str, method: str, figure: str) -> str:
        """A figure that is a word: every one that occurred."""
        found = {row.figures.get(figure) for row in self.results(dataset, method)}
        return ", ".join(sorted(str(word) for word in found if word is not None)) or "–"

    def best_plain(self, dataset: str) -> str:
        """The best plain method of all, chosen in hindsight: a bar that no honest choice passes."""
        figure, methods = self.headline(dataset), self.suite.methods
        spreads = {
            name: spread
            for name in self.methods
            if name in methods
            and methods[name].group == "plain"
            and (spread := self.spread(dataset, name, figure))
        }
        if not spreads:
            return "–"
        pick = min if figure in LOWER_IS_BETTER else max
        best = pick(spreads, key=lambda name: spreads[name].mean)
        return f"{spreads[best]} (`{best}`)"

    def paper_figure(self, dataset: str, method: str, figure: str) -> Published | None:
        """What the paper printed for a method of ours, None where it did not know it."""
        known = self.suite.methods.get(method)
        name = known.published_as if known else None
        return published(dataset, name, figure) if name else None


def _in_order(known: Iterable[str], present: set[str]) -> list[str]:
    ordered = [name for name in known if name in present]
    return ordered + sorted(present - set(ordered))


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by_method(summary: Summary, figure: str | None = None) -> str:
    """A row per method, a column per dataset; without `figure`, what each dataset is about."""
    suite, datasets = summary.suite, summary.datasets
    rows = [
        [
            suite.method_title(method),
            *(summary.text(name, method, figure or summary.headline(name)) for name in datasets),
        ]
        for method in summary.methods
    ]
    return markdown(["", *map(suite.title_of, datasets)], rows)


def by_dataset(summary: Summary, figure: str) -> str:
    """A row per dataset, a column per method."""
    suite, methods = summary.suite, summary.methods
    rows = [
        [suite.title_of(name), *(summary.text(name, method, figure) for method in methods)]
        for name in summary.datasets
    ]
    return markdown(["", *map(suite.method_title, methods)], rows)


def by_figure(summary: Summary, figures: Mapping[str, str], words: Sequence[str] = ()) -> str:
    """For suites of one method: a row per dataset, a column per figure, `figures` with titles."""
    rows = [
        [
            summary.suite.title_of(name),
            *(summary.text(name, method, figure) for figure in figures),
            *(summary.words(name, method, word) for word in words),
        ]
        for name in summary.datasets
        for method in summary.methods
    ]
    return markdown(["", *figures.values(), *words], rows)
