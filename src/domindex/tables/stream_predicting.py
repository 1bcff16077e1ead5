"""Predict a table of any size: parts of it in, parts of it out."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from joblib import cpu_count
from numpy.typing import NDArray

from domindex.committee.committee import Prediction
from domindex.data.arrow_columns import numbered_domains, plain_table
from domindex.data.names import order_names
from domindex.data.stream_summary import StreamPlan, StreamSummary
from domindex.data.streams import Part, Stream
from domindex.errors import InputError, OffMapWarning
from domindex.estimators.part_predicting import PartPredictor, domains_to_sample
from domindex.persistence.atomic import new_file
from domindex.persistence.paths import usable_path
from domindex.preparation import TablePreparation
from domindex.preparation.columns import require_roles
from domindex.preparation.encoded import InputChanges
from domindex.preparation.number_column import NumberColumn
from domindex.progress import Progress
from domindex.reporting.distances import distances_to_sources
from domindex.tables.formulas import escape_formulas
from domindex.tables.reading import table_format
from domindex.tables.writing import PartWriter

PREDICTED_ROWS = 32_768
"""Rows that are predicted at once on each core: bounds memory, and nothing else depends on it."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class StreamPredictions:
    """What was predicted and written: how many rows and domains, which of these are new and which
    lie off the map, and what was done to inputs."""

    n_rows: int
    n_domains: int
    new_domains: list[str]
    off_map: list[str]
    notes: tuple[str, ...]


def predict_stream(
    model: Any,
    preparation: TablePreparation,
    stream: Stream,
    out: str | os.PathLike[str],
    *,
    kept: Sequence[str] = (),
    force: bool,
    progress: Progress,
    escape: bool = False,
) -> StreamPredictions:
    """Predict all rows of a stream into a file, which appears complete or not at all.

    The domain column is read first. Domains that are not on the map are placed, and measured, by a
    sample of their rows, as in `fit`; then all rows are predicted, some at a time. What is
    predicted for a row depends neither on the rows beside it nor on how the table is divided, up to
    the rounding of products.
    """
    columns = [column.name for column in preparation.columns]
    named = {"domain": [preparation.domain], "inputs": columns, "columns to keep": kept}
    require_roles(stream.columns, named)
    present = _domains(stream, preparation.domain)
    unknown = domains_to_sample(model, present)
    predictor = _settled(model, preparation, stream, unknown)
    off_map = frozenset(predictor.model.off_map_domains_)
    task = _Task(
        predictor, preparation, stream.numbers, _distances(predictor), off_map, tuple(kept)
    )
    known, changes, n_rows = set(model.domains_), InputChanges(), 0
    with (
        new_file(out, overwrite=force) as draft,
        PartWriter(draft, table_format(usable_path(out))) as writer,
    ):
        parts = stream.parts(list(dict.fromkeys([preparation.domain, *columns, *kept])))
        for table, changed in side_by_side(task, smaller(progress.each("predicting", parts))):
            writer.write(escape_formulas(table) if escape else table)
            changes, n_rows = changes + changed, n_rows + len(table)
    new = [str(name) for name in present if name not in known]
    off = [str(name) for name in present if name in off_map]
    return StreamPredictions(n_rows, len(present), new, off, changes.notes())


@dataclass(frozen=True, eq=False)
class _Task:
    """From a part of a table to its predictions."""

    predictor: PartPredictor
    preparation: TablePreparation
    numbers: frozenset[str]
    distances: dict[Hashable, float]
    off_map: frozenset[Hashable]
    kept: tuple[str, ...] = ()

    def __call__(self, part: Part) -> tuple[pd.DataFrame, InputChanges]:
        preparation = self.preparation
        names, rows = _numbered(part, preparation.domain)
        prepared = preparation.apply(_inputs(part, preparation, self.numbers))
        predicted = self.predictor.predict(prepared.values, names, rows)
        table = predictions_table(self.predictor.model, predicted, preparation.targets)
        table.insert(0, preparation.domain, np.array(names, dtype=object)[rows])
        table[free_name("distance", table)] = np.array([self.distances[n] for n in names])[rows]
        table[free_name("off_map", table)] = np.array([n in self.off_map for n in names])[rows]
        kept = pd.DataFrame({name: part.table.column(name).to_pandas() for name in self.kept})
        return with_kept(kept, table), prepared.changes


def with_kept(kept: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Columns of the data before those of the predictions; one that is predicted is marked."""
    named = {name: f"{name} (given)" if name in table else name for name in kept.columns}
    if not named:
        return table
    renamed = kept.rename(columns=named).set_axis(table.index)
    return pd.concat([renamed, table], axis=1)


def predictions_table(model: Any, predicted: Prediction, targets: Sequence[str]) -> pd.DataFrame:
    """The class and the probability of each, or values and their deviations: a row a row."""
    if predicted.deviation is None:
        chances = predicted.mean / predicted.mean.sum(axis=1, keepdims=True)
        columns = {targets[0]: model.classes_[chances.argmax(axis=1)]}
        columns |= {f"p({name})": column for name, column in zip(model.classes_, chances.T)}
        return pd.DataFrame(columns)
    columns = dict(zip(targets, predicted.mean.T))
    deviations = {f"std({name})": std for name, std in zip(targets, predicted.deviation.T)}
    return pd.DataFrame(columns | deviations)


def free_name(name: str, table: pd.DataFrame) -> str:
    """A name for a column that no target has taken."""
    return name if name not in table else free_name(f"{name}_on_map", table)


def smaller(parts: Iterable[Part]) -> Iterator[Part]:
    """The same rows in parts that a predictor with many features a row can hold."""
    for part in parts:
        for start in range(0, part.table.num_rows, PREDICTED_ROWS):
            yield Part(part.what, part.table.slice(start, PREDICTED_ROWS))


def side_by_side(task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results in the order of the items, a few of which are in work at a time, on all cores."""
    n_threads = cpu_count()
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for item in items:
            waiting.append(pool.submit(task, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _domains(stream: Stream, domain: str) -> list[Hashable]:
    """Names of all domains, in order: a pass over one column."""
    found: set[Hashable] = set()
    for part in stream.parts([domain]):
        found |= set(numbered_domains(part.table.column(domain), domain, part.what)[0])
    if not found:
        raise InputError(f"{stream.what} has no rows. Check the export that wrote it.")
    return order_names(found)


def _settled(
    model: Any, preparation: TablePreparation, stream: Stream, unknown: Sequence[Hashable]
) -> PartPredictor:
    """A pass over the rows of domains that the model does not know, where there are any."""
    if not unknown:
        return PartPredictor.of(model)
    inputs = tuple(column.name for column in preparation.columns)
    plan = StreamPlan(preparation.domain, (), inputs, _numeric(preparation, stream.numbers))
    wanted, summary = set(unknown), StreamSummary(plan)
    for part in stream.parts(plan.columns):
        names, rows = _numbered(part, preparation.domain)
        chosen = np.array([name in wanted for name in names])[rows]
        summary.add(Part(part.what, part.table.filter(chosen)))
    sample = summary.sample()
    prepared = preparation.apply(sample)
    frame = pd.DataFrame(prepared.values, columns=preparation.features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)  # a column says it
        return PartPredictor.of(model, frame, sample[preparation.domain].tolist())


def _numbered(part: Part, domain: str) -> tuple[list[Hashable], NDArray[np.int64]]:
    return numbered_domains(part.table.column(domain), domain, part.what)


def _numeric(preparation: TablePreparation, numbers: frozenset[str]) -> frozenset[str]:
    """Inputs that are numbers both in the run and in this table."""
    learned = {one.name for one in preparation.columns if isinstance(one, NumberColumn)}
    return frozenset(numbers & learned)


def _inputs(part: Part, preparation: TablePreparation, numbers: frozenset[str]) -> pd.DataFrame:
    columns = [column.name for column in preparation.columns]
    plain = plain_table(part.table, columns, _numeric(preparation, numbers), part.what)
    return plain.to_pandas()


def _distances(predictor: PartPredictor) -> dict[Hashable, float]:
    model = predictor.model
    gaps = distances_to_sources(model.domain_index_, model.source_domains_)
    return dict(zip(model.domain_index_.domains, gaps.tolist()))
