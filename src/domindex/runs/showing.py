"""What a long command shows on standard error while it works: bars with the time left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TypeVar

from domindex.errors import InputError

Item = TypeVar("Item")


class Display:
    """Bars and lines on standard error; silent where not `visible`."""

    def __init__(self, visible: bool = False) -> None:
        self.visible = visible

    def say(self, line: str) -> None:
        if self.visible:
            self._console().print(line, markup=False, highlight=False, soft_wrap=True)

    def open_file(self, path: Path) -> IO[bytes]:
        """A file whose reading draws a bar."""
        try:
            if not self.visible:
                return path.open("rb")
            import rich.progress

            opened: AbstractContextManager[IO[bytes]] = rich.progress.open(
                path, "rb", description="reading  ", console=self._console(), transient=True
            )
            return opened  # type: ignore[return-value]
        except OSError as error:
            raise InputError(
                f"{path} cannot be opened ({error.strerror}). Give yourself the right to read it."
            ) from error

    def track(self, items: Sequence[Item], name: str) -> Iterable[Item]:
        """The items, with a bar over them."""
        if not self.visible:
            return items
        import rich.progress

        return rich.progress.track(
            items, description=f"{name:9}", console=self._console(), transient=True
        )

    @staticmethod
    def _console():  # type: ignore[no-untyped-def]
        from rich.console import Console

        return Console(stderr=True)
