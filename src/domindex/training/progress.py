"""A progress bar that can be off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress


class Progress:
    """Wraps ranges of steps; draws one bar per phase unless silent."""

    def __init__(self, bar: RichProgress | None = None) -> None:
        self._bar = bar

    def track(self, name: str, n_steps: int) -> Iterable[int]:
        if self._bar is None:
            return range(n_steps)
        return self._bar.track(range(n_steps), description=name)


@contextmanager
def show_progress(verbose: int) -> Iterator[Progress]:
    """A bar with the time left on standard error where `verbose` is positive, else nothing."""
    if verbose <= 0:
        yield Progress()
        return
    columns = (
        TextColumn("{task.description:9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True)) as bar:
        yield Progress(bar)
