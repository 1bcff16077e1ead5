"""Rows of one suite, gathered over seeds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from domindex_bench.cells import CellResult, Key
from domindex_bench.figures import LOWER_IS_BETTER
from domindex_bench.published import Published, published
from domindex_bench.suite import Suite

DIGITS = {"accuracy": 1, "worst": 1, "neighbours": 1, "seconds": 1, "mb": 0}
"""Digits after the point, by the last word of a figure's name; 3 for the others."""

STALE = "†"
"""Stands beside a figure that was measured with other settings."""


@dataclass(frozen=True)
class Spread:
    """A figure over seeds."""

    values: tuple[float, ...]
    digits: int
    stale: bool = False

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    def __str__(self) -> str:
        """Mean ± deviation; the figure alone where it was measured once."""
        text = f"{self.mean:.{self.digits}f}"
        if len(self.values) > 1:
            text = f"{text} ± {np.std(self.values):.{self.digits}f}"
        return f"{text} {STALE}" if self.stale else text


class Summary:
    """Results of a suite, by dataset and method."""

    def __init__(
        self, suite: Suite, results: Iterable[CellResult], stale: Collection[Key] = ()
    ) -> None:
        self.suite = suite
        self._stale = frozenset(stale)
        self._cells: dict[tuple[str, str], list[CellResult]] = {}
        for result in sorted(results, key=lambda result: result.seed):
            self._cells.setdefault((result.dataset, result.method), []).append(result)

    def of_methods(self, names: Collection[str]) -> Summary:
        """The same, of some methods only."""
        return self._of([cell for cell in self._all_cells() if cell.method in names])

    def of_datasets(self, names: Collection[str]) -> Summary:
        """The same, of some datasets only."""
        return self._of([cell for cell in self._all_cells() if cell.dataset in names])

    def _all_cells(self) -> list[CellResult]:
        return [cell for group in self._cells.values() for cell in group]

    def _of(self, cells: list[CellResult]) -> Summary:
        return Summary(self.suite, cells, self._stale)

    @property
    def datasets(self) -> list[str]:
        """Those with results, in the order of the suite, others after them."""
        return _in_order(self.suite.datasets, {dataset for dataset, _ in self._cells})

    @property
    def methods(self) -> list[str]:
        """Those with a figure on any dataset, in the order of the suite, others after them."""
        done = {method for (_, method), cells in self._cells.items() if _any_done(cells)}
        return _in_order(self.suite.methods, done)

    def results(self, dataset: str, method: str) -> list[CellResult]:
        return self._cells.get((dataset, method), [])

    def spread(self, dataset: str, method: str, figure: str) -> Spread | None:
        """A figure over the seeds that have it; also fit_seconds and peak_mb."""
        known = [
            (value, cell)
            for cell in self.results(dataset, method)
            if (value := _figure(cell, figure)) is not None
        ]
        if not known:
            return None
        stale = any(cell.cell.key in self._stale for _, cell in known)
        digits = DIGITS.get(figure.split("_")[-1], 3)
        return Spread(tuple(value for value, _ in known), digits, stale)

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
        statuses = {cell.status for cell in self.results(dataset, method)}
        if "failed" in statuses:
            return "failed"
        return "n/a" if "not applicable" in statuses else "–"

    def words(self, dataset: str, method: str, figure: str) -> str:
        """A figure that is a word: every one that occurred."""
        found = {cell.figures.get(figure) for cell in self.results(dataset, method)}
        return ", ".join(sorted(str(word) for word in found if word is not None)) or "–"

    def worst_domain(self, dataset: str, method: str) -> str:
        """The domain that fares worst over all seeds, and how."""
        cells = [cell for cell in self.results(dataset, method) if "worst" in cell.figures]
        if not cells:
            return "–"
        lower_is_better = self.headline(dataset) in LOWER_IS_BETTER
        sign, digits = (-1.0, 3) if lower_is_better else (1.0, 1)
        worst = min(cells, key=lambda cell: sign * float(cell.figures["worst"]))
        return f"{worst.figures['worst']:.{digits}f} ({worst.figures['worst_domain']})"

    def index_figures(self, dataset: str, method: str) -> list[str]:
        """Names of the figures of the map."""
        names = (name for cell in self.results(dataset, method) for name in cell.figures)
        return list(dict.fromkeys(name for name in names if name.startswith("index_")))

    def failures(self) -> list[CellResult]:
        return [cell for group in self._cells.values() for cell in group if cell.status == "failed"]

    def paper_figure(self, dataset: str, method: str, figure: str) -> Published | None:
        """What the paper printed for a method of ours, None where it did not know it."""
        known = self.suite.methods.get(method)
        name = known.published_as if known else None
        return published(dataset, name, figure) if name else None


def _in_order(known: Iterable[str], present: set[str]) -> list[str]:
    ordered = [name for name in known if name in present]
    return ordered + sorted(present - set(ordered))


def _any_done(cells: list[CellResult]) -> bool:
    return any(cell.status == "done" for cell in cells)


def _figure(cell: CellResult, figure: str) -> float | None:
    if cell.status != "done":
        return None
    value = cell.figures.get(figure, getattr(cell, figure, None))
    return None if value is None else float(value)
