"""What long work shows on standard error: named stages with a bar, and lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from domindex.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

Item = TypeVar("Item")


class Progress:
    """Lines and bars on standard error; silent unless `visible`. Bars stop with the last open
    stage, so that stages of another `Progress` may come in between."""

    def __init__(self, visible: bool = False) -> None:
        self._console: Console | None = None
        if visible:
            from rich.console import Console

            self._console = Console(stderr=True)
        self._bars: Bars | None = None
        self._n_open = 0

    def say(self, line: str) -> None:
        """A line of text, above the bars."""
        if self._console is not None:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def track(self, name: str, n_steps: int) -> Iterable[int]:
        """Numbers of steps, with a bar that stays where it ended."""
        return self.each(name, range(n_steps), keep=True)

    def each(
        self, name: str, items: Iterable[Item], *, total: int | None = None, keep: bool = False
    ) -> Iterable[Item]:
        """The items, with a bar over them; give `total` where they have no length. A bar that is
        not kept goes away at the end, and is not drawn into a file at all."""
        if self._console is None or not (keep or self._draws):
            return items
        return self._staged(name, items, total, keep)

    def open_file(self, path: Path) -> IO[bytes]:
        """A file whose reading draws a bar."""
        try:
            if not self._draws:
                return path.open("rb")
            from rich.progress import open as open_with_bar

            return open_with_bar(  # type: ignore[return-value]
                path, "rb", description="reading  ", console=self._console, transient=True
            )
        except OSError as error:
            raise InputError(
                f"{path} cannot be opened ({error.strerror}). Give yourself the right to read it."
            ) from error

    def close(self) -> None:
        """Stop drawing, whatever stage was left in the middle."""
        if self._bars is not None:
            self._bars.stop()
        self._bars, self._n_open = None, 0

    @property
    def _draws(self) -> bool:
        return self._console is not None and self._console.is_terminal

    def _staged(
        self, name: str, items: Iterable[Item], total: int | None, keep: bool
    ) -> Iterator[Item]:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        if self._bars is None:
            shown = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            names = TextColumn("{task.description:9}")
            self._bars = Bars(names, *shown, console=self._console, transient=not keep)
            self._bars.start()
        self._n_open += 1
        yield from self._bars.track(items, total=total, description=name)
        self._n_open -= 1
        if self._n_open == 0:
            self.close()


@contextmanager
def show_progress(visible: int) -> Iterator[Progress]:
    """Progress that has stopped drawing when the block has ended, also by an error."""
    progress = Progress(visible > 0)
    try:
        yield progress
    finally:
        progress.close()
