"""A run in memory that predicts tables which others send, and the limits on these.

Too large a table is refused before it is read. Stands without starlette: no server is needed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeVar

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.progress import Progress
from domindex.reporting.distances import distances_to_sources
from domindex.tables.predicting import (
    columns_to_keep,
    coordinates_of,
    map_table,
    predict_rows,
    read_rows,
)
from domindex.tables.reading import DAMAGE, TextFormat, escape_formulas, table_format
from domindex.tables.run import RUN, Run

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ServeSettings:
    """Where a run is served, and how much is accepted from whoever reaches it.

    Attributes
    ----------
    host : the address to listen at; loopback is reached from this machine only
    port : 0 takes a free one
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
    def max_body(self) -> int:
        """Bytes of a request: the table, the other fields of the form, and what separates them."""
        return int(self.max_upload * 1_000_000) + 100_000


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
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
    if size > 10 * int(settings.max_upload * 1_000_000):
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


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer to a table.

    Attributes
    ----------
    predictions : a row for every row of the table, as `predict_table` gives them
    domains : a row for every domain of the table: name, rows, role (source, target, added or new),
        x1, x2, …, distance to the nearest source in median spacings of the map, off_map, the
        nearest known domains, and what to expect there (expected, low, high; None in sources)
    notes : what had to be guessed of the file, and what was done to its inputs

    Examples
    --------
    >>> answer = Answer(pd.DataFrame({"predicted": [1.5]}), pd.DataFrame(), ("Read as UTF-8.",))
    >>> answer.notes
    ('Read as UTF-8.',)
    """

    predictions: pd.DataFrame
    domains: pd.DataFrame
    notes: tuple[str, ...]


class BusyError(Exception):
    """More tables are under way than may wait."""


class EndedError(Exception):
    """The page was ended while a table was under way."""


class _Stoppable(Progress):
    """Shows nothing, and stops a prediction under way once the page is ended."""

    def __init__(self, ending: threading.Event) -> None:
        super().__init__()
        self._ending = ending

    def each(
        self, name: str, items: Iterable[Item], *, total: int | None = None, keep: bool = False
    ) -> Iterator[Item]:
        for item in items:
            if self._ending.is_set():
                raise EndedError
            yield item


class ServedRun:
    """A run that is opened once and asked many times.

    One table is predicted at a time, by as many cores as there are. Tables that are read in
    parallel would share Python's filters of warnings, by which bad ones are recognised, and their
    memory would add up.

    Examples
    --------
    >>> ServedRun.open(run).map["domain"].tolist()[:2]
    ['Ahlen', 'Bruck']
    """

    def __init__(self, run: Run, settings: ServeSettings) -> None:
        self.run = run
        self.settings = settings
        self.model: Any = run.model()
        try:  # how the table of the fit was written, and the column that names its rows
            self.form, self.key = run.form, run.about.get("key")
            if not isinstance(self.key, str | None):
                raise TypeError(f"key is a {type(self.key).__name__}")
        except (TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"{run.folder / RUN} is damaged ({type(error).__name__}: {error}). Copy the run "
                "again, or fit it anew."
            ) from error
        self.map: pd.DataFrame = map_table(self.model)[0]
        self.ending = threading.Event()
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(settings.max_waiting)

    @classmethod
    def open(cls, run: Any, settings: ServeSettings | None = None) -> ServedRun:
        """The run in a folder; `InputError` where something is missing or damaged."""
        return cls(Run.open(run), settings or ServeSettings())

    @contextmanager
    def place(self) -> Iterator[None]:
        """Count one more table as under way; `BusyError` where there is no room."""
        if not self._places.acquire(blocking=False):
            raise BusyError(
                f"{self.settings.max_waiting} tables are under way already. Try again in a minute."
            )
        try:
            yield
        finally:
            self._places.release()

    def end(self, patience: float = 5.0) -> None:
        """Stop what is under way, and wait for that so many seconds."""
        self.ending.set()
        if self._turn.acquire(timeout=patience):
            self._turn.release()

    def answer(self, upload: Upload) -> Answer:
        """Predict a table, once it is its turn. Nothing of it is kept."""
        with self._turn, upload.on_disk() as path:
            try:
                check_size(path, self.settings)
                answer = self._answer(path, upload)
            except InputError as error:
                raise InputError(upload.worded(str(error), path)) from None
            return replace(answer, notes=tuple(upload.worded(one, path) for one in answer.notes))

    def _answer(self, path: Any, upload: Upload) -> Answer:
        silent = _Stoppable(self.ending)
        kept = columns_to_keep(self.run, upload.keep)
        rows = read_rows(self.run, self.model, path, upload.form.over(self.form), silent, kept)
        check_counts(len(rows.domains), len(set(rows.domains)), self.settings)
        places = self.model.place_domains(rows.inputs, sample_domain=rows.domains)
        predicted = predict_rows(self.run, self.model, rows, places, silent)
        written = escape_formulas(predicted) if upload.escape else predicted
        return Answer(written, self._domains(places), rows.notes)

    def _domains(self, places: pd.DataFrame) -> pd.DataFrame:
        """A row per domain of a table: those off the map first, then other new ones."""
        roles = dict(zip(self.map["domain"], self.map["role"]))
        names = [str(name) for name in places["domain"]]
        role = [roles.get(name, "new") for name in names]
        coordinates = coordinates_of(places)
        columns: dict[str, Any] = {"domain": names, "rows": places["rows"].tolist(), "role": role}
        columns |= {f"x{n}": axis for n, axis in enumerate(coordinates.T, start=1)}
        columns["distance"] = distances_to_sources(
            self.model.domain_index_, self.model.source_domains_, coordinates
        )
        columns["off_map"] = places["off_map"].tolist()
        nearest = [name for name in places.columns if name.startswith("nearest_")]
        columns |= {name.replace("_", ""): places[name].map(str).tolist() for name in nearest}
        is_source = np.array([one == "source" for one in role])
        expected = places[[self.model._forecast_column, "low", "high"]].to_numpy(dtype=np.float64)
        for name, values in zip(("expected", "low", "high"), expected.T):
            columns[name] = np.where(is_source, np.nan, values)
        table = pd.DataFrame(columns)
        first = np.lexsort((~table["off_map"].to_numpy(bool), table["role"] != "new"))
        return table.iloc[first].reset_index(drop=True)


async def in_thread(work: Callable[[], Result], ending: threading.Event) -> Result | None:
    """What `work` returns or raises; None where the page is ended before.

    The interpreter does not wait for this thread, as it would for those of a pool: otherwise a
    prediction of minutes would outlive Ctrl-C. `ServedRun.place` limits how many there are.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="domindex-answer").start()
    waiting = asyncio.wrap_future(done)
    while not waiting.done():
        if ending.is_set():
            return None
        await asyncio.wait({waiting}, timeout=0.2)
    return waiting.result()
