"""The record: a row a cell as JSON Lines, each on disk the moment it is known.

So nothing is measured twice, and every figure in a table can be followed to the row it is from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from domindex.errors import DomindexError, InputError
from domindex_bench.cells import CellResult, Key

RECORD_NAME = "record.jsonl"


class Record:
    """The file of all suites' rows. One process writes; a line is synced before the next begins."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path) -> Record:
        """Ready to append: folders made, the right to write proven, a torn last line cut off."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab"):
                pass
        except OSError as error:
            raise InputError(
                f"Results cannot be written to {path} ({error.strerror}). "
                "Name a folder that can be written to as out (--out DIR)."
            ) from error
        record = cls(path)
        record.read()
        _cut_torn_line(path)
        return record

    def read(self) -> dict[Key, CellResult]:
        """The last word on every cell; a torn last line, left by a kill, is passed over."""
        return {result.cell.key: result for result in self._results()}

    def append(self, result: CellResult) -> None:
        """Add a line, and return once it is safe from a kill and a power cut."""
        line = json.dumps(result.to_json(), ensure_ascii=False) + "\n"
        try:
            with self.path.open("ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DomindexError(
                f"{result.cell} could not be added to {self.path} ({error.strerror}). "
                "Results before it are kept; make room and run the same command again."
            ) from error

    def _results(self) -> Iterator[CellResult]:
        whole = self._content().split(b"\n")[:-1]
        for number, line in enumerate(whole, start=1):
            if not line.strip():
                continue
            try:
                yield CellResult.from_json(json.loads(line))
            except ValueError as error:
                raise InputError(
                    f"Line {number} of {self.path} is not a result of this benchmark ({error}). "
                    "Remove that line, or name another folder as out (--out DIR)."
                ) from None

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise InputError(
                f"There is no record to read at {self.path} ({error.strerror}). Name the folder "
                "that `domindex-bench run` wrote to as out (--out DIR), or measure first."
            ) from error


def _cut_torn_line(path: Path) -> None:
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)
