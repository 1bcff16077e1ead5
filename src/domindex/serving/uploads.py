"""A table that was sent, and the limits on it: too large a table is refused before it is read.

Stands without starlette, so that a run can be asked without a server.
"""

from __future__ import annotations

import ipaddress
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from domindex.errors import InputError
from domindex.tables.reading import DAMAGE, table_format
from domindex.tables.text_format import TextFormat


@dataclass(frozen=True)
class ServeSettings:
    """Where a run is served, and how much is accepted from whoever reaches it.

    Attributes
    ----------
    host : the address to listen at; loopback is reached from this machine only
    port : the port to listen at; 0 takes a free one
    max_upload : the largest table that is accepted, in MB; at most 200
    max_rows : the most rows of a table. Predictions are held in memory until they are sent
    max_domains : the most domains of a table, each of which is placed on the map
    allow_hosts : names besides the address itself by which browsers may reach the page
    upload_seconds : how long a table may take to arrive
    max_waiting : tables that may be under way at a time; one is predicted, the others wait

    Examples
    --------
    >>> ServeSettings(max_upload=10).host
    '127.0.0.1'
    """

    host: str = "127.0.0.1"
    port: int = 8700
    max_upload: float = 50.0
    max_rows: int = 200_000
    max_domains: int = 2_000
    allow_hosts: tuple[str, ...] = ()
    upload_seconds: float = 120.0
    max_waiting: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.max_upload <= 200:
            raise InputError(
                f"max_upload is {self.max_upload} MB. Choose more than 0 and at most 200; "
                "`domindex predict` takes tables of any size."
            )
        if not 0 <= self.port <= 65535:
            raise InputError(f"port is {self.port}. Choose 0 to 65535; 0 takes a free one.")
        for name in ("max_rows", "max_domains", "upload_seconds", "max_waiting"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}. Choose more than 0.")

    @property
    def max_bytes(self) -> int:
        """Of a table."""
        return int(self.max_upload * 1_000_000)

    @property
    def max_body(self) -> int:
        """Bytes of a request: the table, the other fields of the form, and what separates them."""
        return self.max_bytes + 100_000

    @property
    def max_unpacked(self) -> int:
        """Bytes of a packed table in memory."""
        return 10 * self.max_bytes


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, eq=False)
class Upload:
    """A table that came in."""

    name: str  # the sender's, only for display
    suffix: str  # one of those that the library reads
    content: IO[bytes]  # a file without a name, which is gone once closed
    form: TextFormat  # how a text file is written, where the sender said so
    keep: tuple[str, ...] = ()  # columns to show beside the predictions
    escape: bool = False  # whether texts that look like formulas get an apostrophe

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
    """Refuse a table that would take too much memory, before it is read.

    What is damaged passes: whoever reads it says what is wrong.
    """
    kind = table_format(path)
    size = 0
    if kind == "csv":
        _check_text(path, settings)
    elif kind == "parquet":
        size = _parquet_size(path, settings)
    else:
        try:
            with zipfile.ZipFile(path) as packed:
                size = sum(part.file_size for part in packed.infolist())
        except (zipfile.BadZipFile, OSError, ValueError):
            return
    if size > settings.max_unpacked:
        raise InputError(
            f"{path} unpacks to {size / 1e6:,.0f} MB, more than this page accepts. Predict it with "
            "`domindex predict`."
        )


def check_counts(n_rows: int, n_domains: int, settings: ServeSettings) -> None:
    """Refuse a table that would take too long to predict."""
    rows, domains = (n_rows, settings.max_rows), (n_domains, settings.max_domains)
    for what, (count, limit) in {"rows": rows, "domains": domains}.items():
        if count > limit:
            raise InputError(
                f"The table has {count} {what}, and this page takes {limit}. Predict it with "
                "`domindex predict`, which takes any number, or send it in parts."
            )


def _check_text(path: Path, settings: ServeSettings, longest_header: int = 1_000_000) -> None:
    """Count the lines; a first line of a megabyte is no header but a column for every byte."""
    with path.open("rb") as stream:
        head = stream.read(longest_header)
        if len(head) == longest_header and b"\n" not in head and b"\r" not in head:
            raise InputError(f"{path} begins with a line without end, which is no header.")
        lines = head.count(b"\n")
        while block := stream.read(2**20):
            lines += block.count(b"\n")
    check_counts(lines - 1, 0, settings)


def _parquet_size(path: Path, settings: ServeSettings) -> int:
    """Bytes in memory, as the file says; 0 where that cannot be read."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        return 0
    try:
        facts = parquet.read_metadata(path)
        size = sum(facts.row_group(n).total_byte_size for n in range(facts.num_row_groups))
        cells = 8 * facts.num_rows * facts.num_columns
    except (ArrowException, OSError, *DAMAGE):
        return 0
    check_counts(facts.num_rows, 0, settings)
    return max(size, cells)
