"""A run in memory that predicts tables which others send, and its answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.progress import Progress
from domindex.reporting.distances import distances_to_sources
from domindex.serving.uploads import ServeSettings, Upload, check_counts, check_size
from domindex.tables.mapping import map_table
from domindex.tables.predicting import columns_to_keep, coordinates_of, predict_rows, read_rows
from domindex.tables.reading import escape_formulas
from domindex.tables.run import RUN, Run, opened
from domindex.tables.text_format import TextFormat

Item = TypeVar("Item")
Result = TypeVar("Result")


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
        self.form, self.key = _format_and_key(run)
        self.map: pd.DataFrame = map_table(self.model)[0]
        self.ending = threading.Event()
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(settings.max_waiting)

    @classmethod
    def open(cls, run: Any, settings: ServeSettings | None = None) -> ServedRun:
        """The run in a folder; `InputError` where something is missing or damaged."""
        return cls(opened(run), settings or ServeSettings())

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
            notes = tuple(upload.worded(note, path) for note in answer.notes)
        return Answer(answer.predictions, answer.domains, notes)

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
        columns |= {
            name.replace("_", ""): places[name].map(str).tolist()
            for name in places.columns
            if name.startswith("nearest_")
        }
        is_source = np.array([one == "source" for one in role])
        expected = places[[self.model._forecast_column, "low", "high"]].to_numpy(dtype=np.float64)
        for name, values in zip(("expected", "low", "high"), expected.T):
            columns[name] = np.where(is_source, np.nan, values)
        table = pd.DataFrame(columns)
        first = np.lexsort((~table["off_map"].to_numpy(bool), table["role"] != "new"))
        return table.iloc[first].reset_index(drop=True)


def _format_and_key(run: Run) -> tuple[TextFormat, str | None]:
    """How the table of the fit was written, and the column that names its rows."""
    try:
        form, key = run.form, run.about.get("key")
        if not isinstance(key, str | None):
            raise TypeError(f"key is a {type(key).__name__}")
    except (TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{run.folder / RUN} is damaged ({type(error).__name__}: {error}). Copy the run again, "
            "or fit it anew."
        ) from error
    return form, key


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
