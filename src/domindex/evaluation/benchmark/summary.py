"""Cells gathered over seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from domindex.datasets import list_datasets
from domindex.evaluation.benchmark.cells import CellResult
from domindex.evaluation.benchmark.methods import METHODS
from domindex.evaluation.benchmark.published import Published, published

DIGITS = {"accuracy": 1, "worst": 1, "seconds": 1, "mb": 0}
"""Digits after the point, by the last word of a figure's name; 3 for the others."""


@dataclass(frozen=True)
class Spread:
    """A figure over seeds."""

    values: tuple[float, ...]
    digits: int

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    def __str__(self) -> str:
        """Mean ± deviation; the figure alone where it was measured once."""
        mean = f"{self.mean:.{self.digits}f}"
        if len(self.values) == 1:
            return mean
        return f"{mean} ± {np.std(self.values):.{self.digits}f}"


class Summary:
    """Results by dataset and method."""

    def __init__(self, results: Iterable[CellResult]) -> None:
        self._cells: dict[tuple[str, str], list[CellResult]] = {}
        for result in sorted(results, key=lambda result: result.seed):
            self._cells.setdefault((result.dataset, result.method), []).append(result)

    @property
    def datasets(self) -> list[str]:
        """Those with results, in the order of `list_datasets`, others after them."""
        present = sorted({dataset for dataset, _ in self._cells})
        known = [name for name in list_datasets() if name in present]
        return known + [name for name in present if name not in known]

    @property
    def methods(self) -> list[str]:
        """Those with a figure on any dataset, in the order of `list_methods`."""
        present = {method for (_, method), cells in self._cells.items() if _any_done(cells)}
        return [name for name in METHODS if name in present]

    def spread(self, dataset: str, method: str, figure: str) -> Spread | None:
        """A figure over the seeds that have it; also fit_seconds and peak_mb."""
        values = [_figure(cell, figure) for cell in self._cells.get((dataset, method), [])]
        known = tuple(value for value in values if value is not None)
        return Spread(known, DIGITS.get(figure.split("_")[-1], 3)) if known else None

    def headline(self, dataset: str) -> str:
        """The figure that a dataset is about."""
        cells = [
            cell for (name, _), group in self._cells.items() if name == dataset for cell in group
        ]
        return "error" if any("error" in cell.figures for cell in cells) else "accuracy"

    def text(self, dataset: str, method: str, figure: str) -> str:
        """A figure as tables show it: also where it failed, cannot be, or was not tried."""
        spread = self.spread(dataset, method, figure)
        if spread is not None:
            return str(spread)
        cells = self._cells.get((dataset, method), [])
        statuses = {cell.status for cell in cells}
        if "failed" in statuses:
            return "failed"
        return "n/a" if "not applicable" in statuses else "–"

    def worst_domain(self, dataset: str, method: str) -> str:
        """The target domain that fares worst over all seeds, and how."""
        cells = [cell for cell in self._cells.get((dataset, method), []) if "worst" in cell.figures]
        if not cells:
            return "–"
        sign = 1.0 if self.headline(dataset) == "accuracy" else -1.0
        worst = min(cells, key=lambda cell: sign * float(cell.figures["worst"]))
        digits = 1 if sign > 0 else 3
        return f"{worst.figures['worst']:.{digits}f} ({worst.figures['worst_domain']})"

    def index_figures(self, dataset: str, method: str) -> list[str]:
        """Names of the figures of the map."""
        cells = self._cells.get((dataset, method), [])
        return list(
            dict.fromkeys(name for c in cells for name in c.figures if name.startswith("index_"))
        )

    def failures(self) -> list[CellResult]:
        return [cell for group in self._cells.values() for cell in group if cell.status == "failed"]


def paper_figure(dataset: str, method: str, figure: str) -> Published | None:
    """What the paper printed for a method of ours, None where it did not know it."""
    name = METHODS[method].published_as
    return published(dataset, name, figure) if name else None


def _any_done(cells: list[CellResult]) -> bool:
    return any(cell.status == "done" for cell in cells)


def _figure(cell: CellResult, figure: str) -> float | None:
    if cell.status != "done":
        return None
    value = cell.figures.get(figure, getattr(cell, figure, None))
    return None if value is None else float(value)
