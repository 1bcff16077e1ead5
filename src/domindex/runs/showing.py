"""What a long command shows on standard error while it works: bars with the time left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from domindex.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

Item = TypeVar("Item")


class Display:
    """Lines and, on a terminal, bars on standard error; silent where not `visible`."""

    def __init__(self, visible: bool = False) -> None:
        self._console = _standard_error() if visible else None

    def say(self, line: str) -> None:
        if self._console is not None:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

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

    def track(self, items: Sequence[Item], name: str) -> Iterable[Item]:
        """The items, with a bar over them."""
        if not self._draws:
            return items
        from rich.progress import track

        return track(items, description=f"{name:9}", console=self._console, transient=True)

    @property
    def _draws(self) -> bool:
        return self._console is not None and self._console.is_terminal


def _standard_error() -> Console:
    from rich.console import Console

    return Console(stderr=True)
