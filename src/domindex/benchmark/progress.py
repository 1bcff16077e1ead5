"""A bar over the cells of a benchmark, and a line for each that is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from domindex.benchmark.cells import CellResult

Teller = Callable[[CellResult], None]


@contextmanager
def show_progress(suite: str, n_cells: int, already: int, *, visible: bool) -> Iterator[Teller]:
    """What to call with every finished cell; draws on standard error where `visible`."""
    if not visible:
        yield lambda result: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(suite),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, highlight=False)
    if already:
        console.print(
            f"{suite}: {n_cells} cells to measure; {already} are known or not applicable."
        )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("cells", total=n_cells)

        def tell(result: CellResult) -> None:
            console.print(describe(result), markup=False, soft_wrap=True)
            bar.advance(task)

        yield tell


def describe(result: CellResult) -> str:
    """A finished cell on one line."""
    if result.status != "done":
        return f"{result.cell}: {result.status}: {result.note}"
    figures = ", ".join(
        f"{name.replace('_', ' ')} {value:.4g}"
        for name, value in result.figures.items()
        if isinstance(value, float) and "level" not in name
    )
    memory = "" if result.peak_mb is None else f", {result.peak_mb:.0f} MB"
    return f"{result.cell}: {figures}; fit {result.fit_seconds:.1f} s{memory}"
