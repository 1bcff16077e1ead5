"""Progress bars that can be off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress


class Bar:
    """One bar; silent without a display."""

    def __init__(self, display: RichProgress | None, name: str, total: int) -> None:
        self._display = display
        self._task = None if display is None else display.add_task(name, total=total)

    def advance(self) -> None:
        if self._display is not None and self._task is not None:
            self._display.advance(self._task)


class Progress:
    """Draws one bar per phase unless silent."""

    def __init__(self, display: RichProgress | None = None) -> None:
        self._display = display

    def bar(self, name: str, total: int) -> Bar:
        return Bar(self._display, name, total)


@contextmanager
def show_progress(verbose: int) -> Iterator[Progress]:
    """Bars with the time left on standard error where `verbose` is positive, else nothing."""
    if verbose <= 0:
        yield Progress()
        return
    columns = (
        TextColumn("{task.description:10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True)) as display:
        yield Progress(display)
