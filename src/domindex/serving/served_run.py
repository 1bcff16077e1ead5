"""A run in memory that predicts tables which others send, the limits on these, and its server."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import IO, Any, TypeVar

import numpy as np
import pandas as pd

from domindex.errors import DomindexError, InputError
from domindex.geometry.distances import distances_to_sources
from domindex.progress import Progress
from domindex.tables.confined import ConfinedReader, ReadLimits
from domindex.tables.predicting import (
    columns_as_spelled,
    columns_to_keep,
    coordinates_of,
    map_table,
    predict_rows,
    rows_of,
)
from domindex.tables.reading import AnyPath, TextFormat, escape_formulas
from domindex.tables.run import Run

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
    header_seconds, upload_seconds : how long a request, and its table, may take to arrive
    max_connections : requests that may be on their way at a time. Of more, the one makes room
        that has been awaited longest
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
    header_seconds: float = 10.0
    upload_seconds: float = 120.0
    max_connections: int = 64
    max_waiting: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.max_upload <= 200:
            raise InputError(
                f"max_upload is {self.max_upload} MB. Choose more than 0 and at most 200; "
                "`domindex predict` takes tables of any size."
            )
        if not 0 <= self.port <= 65535:
            raise InputError(f"port is {self.port}. Choose 0 to 65535; 0 takes a free one.")
        positive = ("max_rows", "max_domains", "max_connections", "max_waiting")
        for name in (*positive, "header_seconds", "upload_seconds"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}. Choose more than 0.")

    @property
    def max_body(self) -> int:
        """Bytes of a request: the table, the other fields of the form, and what separates them."""
        return int(self.max_upload * 1_000_000) + 100_000

    def read_limits(self, size: int) -> ReadLimits:
        """For a table of so many bytes."""
        most = int(self.max_upload * 1_000_000)
        return ReadLimits(
            memory=200_000_000 + 8 * most, seconds=5 + size // 1_000_000, answer=4 * most
        )


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

    name: str  # the sender's, which says what it is
    content: IO[bytes]  # a file without a name, which is gone once closed
    form: TextFormat  # how a text file is written, where the sender said so
    keep: tuple[str, ...] = ()  # columns to show beside the predictions
    escape: bool = False  # whether texts that look like formulas get an apostrophe

    @property
    def size(self) -> int:
        """In bytes."""
        return os.fstat(self.content.fileno()).st_size


def check_counts(n_rows: int, n_domains: int, settings: ServeSettings) -> None:
    """Refuse a table that would take too long to predict."""
    rows, domains = (n_rows, settings.max_rows), (n_domains, settings.max_domains)
    for what, (count, limit) in {"rows": rows, "domains": domains}.items():
        if count > limit:
            raise InputError(
                f"The table has {count} {what}, and this page takes {limit}. Predict it with "
                "`domindex predict`, which takes any number, or send it in parts."
            )


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

    One table is predicted at a time, on all cores: in parallel, tables would share Python's
    filters of warnings, by which bad ones are recognised, and their memory would add up.

    Examples
    --------
    >>> ServedRun.open(run).map["domain"].tolist()[:2]
    ['Ahlen', 'Bruck']
    """

    def __init__(self, run: Run, settings: ServeSettings) -> None:
        self.run, self.settings = run, settings
        self.model: Any = run.predictor()
        self.map: pd.DataFrame = map_table(self.model)[0]
        self.ending = threading.Event()
        self._reader = ConfinedReader()
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
        self._reader.close()

    def answer(self, upload: Upload) -> Answer:
        """Predict a table, once it is its turn. Nothing of it is kept."""
        with self._turn:
            if self.ending.is_set():
                raise EndedError
            return self._answer(upload)

    def _answer(self, upload: Upload) -> Answer:
        silent = _Stoppable(self.ending)
        form, kept = upload.form.over(self.run.form), columns_to_keep(self.run, upload.keep)
        limits = self.settings.read_limits(upload.size)
        texts = columns_as_spelled(self.run, kept)
        table, notes = self._reader.read(upload.content, upload.name, form, texts, limits=limits)
        check_counts(len(table), 0, self.settings)
        rows = rows_of(self.run, self.model, table, notes, form, kept)
        check_counts(len(rows.domains), len(set(rows.domains)), self.settings)
        places = self.model.place_domains(rows.inputs, sample_domain=rows.domains)
        predicted = predict_rows(self.run, self.model, rows, places, silent)
        written = escape_formulas(predicted) if upload.escape else predicted
        return Answer(written, self._domains(places), rows.notes)

    def _domains(self, places: pd.DataFrame) -> pd.DataFrame:
        """A row per domain of a table: those off the map first, then other new ones."""
        roles, names = self.map.set_index("domain")["role"], places["domain"].map(str)
        role, coordinates = names.map(roles).fillna("new"), coordinates_of(places)
        columns = {"domain": names, "rows": places["rows"], "role": role}
        columns |= {f"x{n}": axis for n, axis in enumerate(coordinates.T, start=1)}
        columns["distance"] = distances_to_sources(
            self.model.domain_index_, self.model.source_domains_, coordinates
        )
        columns["off_map"] = places["off_map"]
        nearest = places.filter(regex="^nearest_").astype(str)
        nearest.columns = nearest.columns.str.replace("_", "")
        expected = pd.DataFrame(index=places.index, columns=["expected", "low", "high"])
        if (forecast := self.model._forecast_column) is not None:
            expected[:] = places[[forecast, "low", "high"]].mask(role == "source").to_numpy()
        table = pd.concat([pd.DataFrame(columns), nearest, expected], axis=1)
        first = np.lexsort((~table["off_map"].to_numpy(bool), table["role"] != "new"))
        return table.iloc[first].reset_index(drop=True)


async def in_thread(work: Callable[[], Result], ending: threading.Event) -> Result | None:
    """What `work` returns or raises; None where the page is ended before.

    Not in a pool, whose threads the interpreter waits for: predictions would outlive Ctrl-C.
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


def serve_run(
    run: Run | AnyPath, *, say: Callable[[str], object] | None = None, **settings: Any
) -> None:
    """Serve a run as a local web page until Ctrl-C.

    There is no password: leave `host` at loopback, which is reached from this machine only, unless
    all who reach it may use it.

    Parameters
    ----------
    run : a run, or its folder
    say : is given each line for the user; standard error where None
    **settings : fields of `ServeSettings`: host, port, max_upload, allow_hosts, …

    Examples
    --------
    >>> serve_run("run", port=-1)
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    say = say or partial(print, file=sys.stderr, flush=True)
    limits = ServeSettings(**settings)
    host = limits.host
    with _listen(host, limits.port) as listening:
        served = ServedRun.open(run, limits)
        address, bound = listening.getsockname()[:2]
        loopback = is_loopback(address)
        if not loopback:
            say(
                f"warning: {host} is not loopback. Whoever reaches this machine can read "
                "the map and have tables predicted; there is no password, and nothing is encrypted."
            )
        shown = f"[{host}]" if ":" in host else host
        say(f"Serving {served.run.folder} at http://{shown}:{bound}/ (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            _run(served, listening, loopback)
    say("Stopped.")


def _run(served: ServedRun, listening: socket.socket, loopback: bool) -> None:
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from domindex.serving.app import build_app

    settings = served.settings

    class Protocol(H11Protocol):
        """A connection that is closed where its request does not arrive in time."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_request()
            if len(self.connections) > settings.max_connections:
                connections: set[Any] = self.connections
                late = [one for one in connections if one.is_arriving]
                min(late, key=lambda one: one.since).transport.abort()  # this one at the latest

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._await_request()

        @property
        def is_arriving(self) -> bool:
            return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

        def _await_request(self) -> None:
            self.since = since = self.loop.time()

            def give_up() -> None:
                if self.since == since and self.conn.their_state is h11.IDLE:
                    self.transport.close()

            self.loop.call_later(settings.header_seconds, give_up)

    app = build_app(served, [settings.host, *settings.allow_hosts], loopback)
    options: dict[str, Any] = {"log_level": "warning", "access_log": False, "lifespan": "off"}
    options |= {"server_header": False, "proxy_headers": False, "ws": "none", "http": Protocol}
    options |= {"timeout_graceful_shutdown": 3}

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            served.ending.set()
            super().handle_exit(sig, frame)

    try:
        Server(uvicorn.Config(app, **options)).run(sockets=[listening])
    finally:
        served.end()


def _listen(host: str, port: int) -> socket.socket:
    """A socket, bound before anything long is done, so that what is in the way is said early."""
    needed = ("starlette", "uvicorn", "python_multipart")
    lost = [name for name in needed if find_spec(name) is None]
    if lost:
        raise DomindexError(
            f"Serving needs {', '.join(lost)}, which is not installed. "
            "Install it with: pip install 'domindex[serve]'"
        )
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"There is no address {host!r} to listen at ({error}). Name one of this machine."
        ) from None
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        reasons = {
            errno.EADDRINUSE: f"Port {port} is in use. Name another (--port), end what listens "
            "there, or pass 0 for a free one.",
            errno.EACCES: f"Port {port} needs rights that you do not have. Choose one above 1023.",
        }
        other = f"{host}:{port} cannot be listened at ({error.strerror}). "
        other += "Name an address of this machine."
        raise InputError(reasons.get(error.errno or 0, other)) from None
    return listening
