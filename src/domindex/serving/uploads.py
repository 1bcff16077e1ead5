"""A table that was sent: on disk while it is read, gone afterwards, and never too large to read."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from domindex.errors import InputError
from domindex.serving.settings import ServeSettings
from domindex.tables.reading import DAMAGE, table_format
from domindex.tables.text_format import TextFormat

LONGEST_HEADER = 1_000_000
"""Bytes of the first line of a text file: beyond, it is no header but a column for every byte."""

UNPACKED = 10
"""How many times the largest upload a packed table may be in memory."""


@dataclass(frozen=True, eq=False)
class Upload:
    """A table that came in.

    Attributes
    ----------
    name : as its sender calls it, to be shown and for nothing else
    suffix : one of ours
    content : a file without a name, which is gone once closed
    form : what was said of a text file
    keep : columns that are to stand beside the predictions
    escape : whether texts that look like formulas get an apostrophe
    """

    name: str
    suffix: str
    content: IO[bytes]
    form: TextFormat
    keep: tuple[str, ...] = ()
    escape: bool = False

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """The table under a name of our own, in a folder that only this user can read."""
        with TemporaryDirectory(prefix="domindex-serve-") as folder:
            path = Path(folder) / f"upload{self.suffix}"
            self.content.seek(0)
            with path.open("wb") as goal:
                shutil.copyfileobj(self.content, goal)
            yield path

    def worded(self, text: str, path: Path) -> str:
        """A text of the library, with the sender's name of the file instead of ours."""
        return text.replace(str(path), self.name).replace(path.name, self.name)


def check_size(path: Path, settings: ServeSettings) -> None:
    """Refuse before it is read what would take too much memory."""
    kind = table_format(path)
    if kind == "csv":
        _check_text(path, settings)
    elif kind == "parquet":
        _check_parquet(path, settings)
    else:
        _check_workbook(path, settings)


def check_counts(n_rows: int, n_domains: int, settings: ServeSettings) -> None:
    """Refuse before it is predicted what would take too long."""
    for what, count, most in (
        ("rows", n_rows, settings.max_rows),
        ("domains", n_domains, settings.max_domains),
    ):
        if count > most:
            raise InputError(
                f"The table has {count} {what}, and this page takes {most}. Predict it with "
                "`domindex predict`, which takes any number, or send it in parts."
            )


def _check_text(path: Path, settings: ServeSettings) -> None:
    with path.open("rb") as stream:
        head = stream.read(LONGEST_HEADER)
        if len(head) == LONGEST_HEADER and b"\n" not in head and b"\r" not in head:
            raise InputError(f"{path} begins with a line without end, which is no header.")
        lines = head.count(b"\n")
        while block := stream.read(2**20):
            lines += block.count(b"\n")
    check_counts(lines - 1, 0, settings)


def _check_parquet(path: Path, settings: ServeSettings) -> None:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        return  # whoever reads it says what is missing
    try:
        facts = parquet.read_metadata(path)
        size = sum(facts.row_group(n).total_byte_size for n in range(facts.num_row_groups))
        cells = 8 * facts.num_rows * facts.num_columns
    except (ArrowException, OSError, *DAMAGE):
        return  # whoever reads it says what is wrong
    check_counts(facts.num_rows, 0, settings)
    _check_unpacked(path, max(size, cells), settings)


def _check_workbook(path: Path, settings: ServeSettings) -> None:
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return  # whoever reads it says what is wrong
    _check_unpacked(path, size, settings)


def _check_unpacked(path: Path, size: int, settings: ServeSettings) -> None:
    if size > UNPACKED * settings.max_bytes:
        raise InputError(
            f"{path} unpacks to {size / 1e6:,.0f} MB, more than this page takes. Predict it with "
            "`domindex predict`."
        )
