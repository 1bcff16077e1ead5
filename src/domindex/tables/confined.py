"""Tables of strangers, read in a process of its own with bounds on memory, time and what it gives.

Whatever a crafted file makes a reader do (gigabytes from kilobytes, hours, a crash), it does there.
That process is no other user and has the same rights: it protects this machine's memory and time.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import psutil

from domindex.errors import InputError
from domindex.inputs.messages import preview
from domindex.persistence import codec
from domindex.persistence.codec import DAMAGE
from domindex.progress import Progress
from domindex.tables.reading import CONFINED, TextFormat, parse_table

ADVICE = "Leave out columns and rows that are not needed, or send it in parts."
Job = dict[str, Any]


@dataclass(frozen=True)
class ReadLimits:
    """What the reading of one table may take.

    Attributes
    ----------
    memory : bytes beyond those of the process before it begins
    seconds : of CPU; of the clock twice as many
    answer : bytes of the table in memory, every text counted as often as it stands in a field
    columns : how many there may be

    Examples
    --------
    >>> ReadLimits(seconds=5).columns
    10000
    """

    memory: int = 4_000_000_000
    seconds: int = 600
    answer: int = 2_000_000_000
    columns: int = 10_000


class ConfinedReader:
    """A process that reads tables; each in a copy of it, which has the limits and ends with it.

    Examples
    --------
    >>> with ConfinedReader() as reader, open("patients.csv", "rb") as file:
    ...     table, notes = reader.read(file, "patients.csv", TextFormat())
    >>> len(table)
    150
    """

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise InputError(
                "Tables of strangers are read in a process of bounded memory, which this system "
                "does not have. Use Linux or macOS, or read only tables of those you trust."
            )
        self._turn = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._ours, theirs = socket.socketpair()
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        # an allocator that reserves no more addresses than it uses: those are what is counted
        plain = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
        code = f"import sys; sys.path[:] = {sys.path}; from {__name__} import _attend; _attend()"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us to pass on
                env=os.environ | one_thread | plain,
            )

    def __enter__(self) -> ConfinedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and what it is reading."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._ours.close()

    def read(
        self,
        content: IO[bytes],
        name: str,
        form: TextFormat,
        texts: Iterable[str] = (),
        labels: Iterable[str] = (),
        limits: ReadLimits | None = None,
    ) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """As `read_with_notes`, of an open file that need not have a name in any folder."""
        limits = limits or ReadLimits()
        named = {"texts": list(texts), "labels": list(labels)}
        job = {"name": name, "form": asdict(form), "limits": asdict(limits), **named}
        with self._turn:
            if self._process.poll() is not None:
                self.close()
                self._begin()
            answer, status = self._ask(job, content)
        if not answer:
            out_of_time = status in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL)
            late = f"takes over {limits.seconds} seconds to be read"
            raise _too_much(name, late if out_of_time else "crashes what reads it")
        try:
            found = codec.from_bytes(answer)
            if "error" in found:
                raise InputError(found["error"])
            return _table(found["columns"]), tuple(map(str, found["notes"]))
        except InputError:
            raise
        except DAMAGE as error:
            raise _too_much(name, f"cannot be passed on ({type(error).__name__})") from None

    def _ask(self, job: Job, content: IO[bytes]) -> tuple[bytes, int]:
        """What the reader wrote, and the number of the signal that ended it, or 0."""
        inlet, outlet = os.pipe()
        with open(inlet, "rb") as stream:
            try:
                body = json.dumps(job).encode()
                self._ours.sendall(len(body).to_bytes(8, "little"))
                socket.send_fds(self._ours, [body[:1]], [content.fileno(), outlet])
                self._ours.sendall(body[1:])
            finally:
                os.close(outlet)
            return stream.read(), (self._ours.recv(1) or b"\0")[0]


def _too_much(name: str, what: str) -> InputError:
    return InputError(f"{name} {what}. {ADVICE}")


@contextmanager
def untrusted_tables(limits: ReadLimits | None = None) -> Iterator[None]:
    """Within the block every table in a file is read by a process with limits.

    Examples
    --------
    >>> from domindex.tables import predict_table
    >>> with untrusted_tables():
    ...     predict_table(run, "patients.csv").n_rows
    150
    """
    with ConfinedReader() as reader:

        def read(file: Path, form: TextFormat, texts: Iterable[str], labels: Iterable[str]) -> Any:
            with Progress().open_file(file) as content:
                return reader.read(content, str(file), form, texts, labels, limits)

        token = CONFINED.set(read)
        try:
            yield
        finally:
            CONFINED.reset(token)


def _attend() -> None:
    """The process: one job after the other, each in a copy of it."""
    with socket.socket(fileno=0) as line:
        while length := line.recv(8, socket.MSG_WAITALL):
            first, given, _, _ = socket.recv_fds(line, 1, 2)
            rest = line.recv(int.from_bytes(length, "little") - 1, socket.MSG_WAITALL)
            child = os.fork()
            if not child:
                line.close()
                _answer(json.loads(first + rest), *given)
            for number in given:
                os.close(number)
            _, status = os.waitpid(child, 0)
            line.sendall(bytes([os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0]))


def _answer(job: Job, content: int, outlet: int) -> None:
    """Read the table of a job within its limits, and end."""
    limits = ReadLimits(**job["limits"])
    _set_limits(limits)
    try:
        found = _read(job, limits, partial(_opened, content))
    except (InputError, MemoryError, RecursionError) as error:
        words = str(error)  # the parser of pandas has an error of its own for it
        if not isinstance(error, InputError) or "out of memory" in words:
            words = str(_too_much(job["name"], "takes too much memory"))
        found = codec.to_bytes({"error": words})
    except BaseException as error:  # of a library on a crafted file
        what = f"cannot be read ({type(error).__name__})"
        found = codec.to_bytes({"error": str(_too_much(job["name"], what))})
    with suppress(OSError), open(outlet, "wb") as stream:
        stream.write(found)
    os._exit(0)


def _set_limits(limits: ReadLimits) -> None:
    import resource

    memory = psutil.Process().memory_info().vms + limits.memory
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, limits.seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    signal.alarm(2 * limits.seconds)


def _opened(number: int, _: Path) -> IO[bytes]:
    """An open file from its beginning."""
    os.lseek(number, 0, os.SEEK_SET)
    return open(os.dup(number), "rb")


def _read(job: Job, limits: ReadLimits, open_file: Any) -> bytes:
    name, form = job["name"], TextFormat(**job["form"])
    texts, labels = set(job["texts"]), set(job["labels"])
    table, notes = parse_table(Path(name), form, texts, labels, open_file)
    if table.shape[1] > limits.columns:
        raise _too_much(name, f"has {table.shape[1]} columns, more than {limits.columns}")
    size = int(table.memory_usage(deep=True).sum())
    if size > limits.answer:
        raise _too_much(name, f"takes {size / 1e6:,.0f} MB, more than {limits.answer / 1e6:,.0f}")
    columns = [_column_state(table[column]) for column in table.columns]
    return codec.to_bytes({"columns": columns, "notes": list(notes)})


_WRITTEN: dict[str, Any] = {"date": date, "datetime": datetime, "time": time}
_MISSING = {"NaT": pd.NaT, "NA": pd.NA}


def _column_state(column: pd.Series) -> dict[str, Any]:
    """A column as plain values: its name, its type, and what stands in it."""
    state, kind = {"name": column.name, "type": str(column.dtype)}, column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biuf" and kind.itemsize <= 8:
        return state | {"numbers": column.to_numpy().astype(kind.newbyteorder("="))}
    if isinstance(kind, pd.CategoricalDtype):
        texts = pd.Series(kind.categories, name=column.name)
        codes = column.cat.codes.to_numpy(dtype=np.int64)
        return state | {"codes": codes, "of": _column_state(texts), "ordered": bool(kind.ordered)}
    if kind.kind in "mM":
        return state | {"ticks": column.array.asi8}
    values = column.astype(object).tolist()
    if not all(isinstance(one, str) or one is None or one is np.nan for one in values):
        return state | {"values": [_plain(value, column.name) for value in values]}
    parts = [one.encode("utf-8", "surrogatepass") for one in values if isinstance(one, str)]
    lengths = iter(map(len, parts))
    marks = [next(lengths) if isinstance(one, str) else -1 if one is None else -2 for one in values]
    joined = np.frombuffer(b"".join(parts), dtype=np.uint8)
    return state | {"texts": joined, "lengths": np.array(marks, dtype=np.int64)}


def _plain(value: Any, column: Any) -> Any:
    """A value that the codec can write; dates and decimals as (kind, text)."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value) in (str, bool, int, float):
        return value
    for name, missing in _MISSING.items():
        if value is missing:
            return (name, "")
    for name, kind in reversed(_WRITTEN.items()):
        if isinstance(value, kind):
            return (name, value.isoformat())
    if isinstance(value, Decimal):
        return ("decimal", str(value))
    raise InputError(
        f"The column {preview([column])} holds a {type(value).__name__}, which is not read from a "
        "stranger's table. Leave it out, or write it as texts or numbers."
    )


def _value(part: Any) -> Any:
    if not isinstance(part, tuple):
        return part
    kind, text = part
    if kind in _MISSING:
        return _MISSING[kind]
    return Decimal(text) if kind == "decimal" else _WRITTEN[kind].fromisoformat(text)


def _table(columns: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame({state["name"]: _column(state) for state in columns})


def _column(state: dict[str, Any]) -> Any:
    """What `_column_state` was given."""
    kind = state["type"]
    if "numbers" in state:
        return pd.Series(state["numbers"])
    if "codes" in state:
        categories = pd.Index(_column(state["of"]))
        return pd.Categorical.from_codes(state["codes"], categories, ordered=state["ordered"])
    if "ticks" in state:
        unit = kind.partition("[")[2].partition("]")[0].partition(",")[0]
        zone = kind.partition(", ")[2].rstrip("]")
        ticks = pd.Series(state["ticks"].view(f"{'m' if kind[0] == 't' else 'M'}8[{unit}]"))
        return ticks.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else ticks
    if "texts" in state:
        whole, end = state["texts"].tobytes(), 0
        values: list[Any] = []
        for length in state["lengths"].tolist():
            start, end = end, end + max(length, 0)
            text = whole[start:end].decode("utf-8", "surrogatepass")
            values.append(text if length >= 0 else None if length == -1 else np.nan)
    else:
        values = [_value(part) for part in state["values"]]
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return pd.Series(array, dtype=kind)
