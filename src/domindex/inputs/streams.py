"""Tables of any size, read part by part: files, pyarrow datasets and readers, LazyFrames, Dask.

One pass finds counts, moments and categories of all rows, and a sample of them.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.cluster import cluster_errors
from domindex.errors import InputError
from domindex.inputs import sampling
from domindex.inputs.messages import preview
from domindex.inputs.names import is_missing, order_names
from domindex.inputs.sampling import BottomRows, KeyedRows, LazyModule, SampleSize, pa, row_keys

ds: Any = LazyModule("pyarrow.dataset")
pc: Any = LazyModule("pyarrow.compute")
parquet: Any = LazyModule("pyarrow.parquet")


class Part(NamedTuple):
    """Some rows of a table; `what` names them in errors, and `table` is a pyarrow table."""

    what: str
    table: Any


@dataclass(frozen=True, eq=False)
class RowStream:
    """A table of any size that can be read several times, part by part."""

    what: str  # its name in errors
    types: dict[str, Any]  # the pyarrow type of every column
    # From names of columns to parts: together all rows in order; each can go to another process.
    readers: Sequence[Callable[[Sequence[str]], Iterator[Part]]]
    partitions: Sequence[Any] = ()  # those of a Dask frame, each still to be computed

    @property
    def columns(self) -> list[str]:
        return list(self.types)

    @property
    def numbers(self) -> frozenset[str]:
        """Columns that hold numbers."""
        return frozenset(name for name, kind in self.types.items() if is_number(kind))

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        """The rows in their order, some columns of them."""
        return (part for reader in self.readers for part in reader(list(columns)))


def is_stream(X: Any) -> bool:
    """Whether it is a table that is read in parts, by its type's name: nothing is imported."""
    return isinstance(X, RowStream) or _opener(X) is not None


def as_stream(X: Any) -> RowStream:
    """A dataset or reader of pyarrow, a LazyFrame of polars or a DataFrame of Dask as a stream."""
    if isinstance(X, RowStream):
        return X
    opener = _opener(X)
    if opener is None:
        raise InputError(
            f"A {type(X).__name__} cannot be read in parts. Pass a pyarrow.dataset.Dataset, a "
            "polars LazyFrame or a Dask DataFrame."
        )
    return opener(X)


def stream_dataset(dataset: Any, what: str = "the dataset") -> RowStream:
    """A pyarrow dataset, whose files have the same columns but may store them differently."""
    with reading(what):
        types = _common_types(dataset)
        readers = []
        for fragment in dataset.get_fragments():
            schema = fragment.physical_schema
            for name in types:  # those that the names of folders say
                if name not in schema.names:
                    schema = schema.append(dataset.schema.field(name))
            # piece after piece: a scan of the whole reads ahead until all of it is in memory
            readers += [partial(_scan, one, schema, _name(fragment)) for one in _cut(fragment)]
        return RowStream(what, types, readers)


def _stream_reader(reader: Any) -> RowStream:
    """A reader can be gone through once: its rows go to a file that vanishes with the stream."""
    what = "the reader"
    folder = tempfile.TemporaryDirectory(prefix="domindex-")
    path = os.path.join(folder.name, "rows.parquet")
    with reading(what), parquet.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    stream = stream_dataset(ds.dataset(path), what)
    weakref.finalize(stream, folder.cleanup)
    return stream


def _stream_polars(frame: Any) -> RowStream:
    if not hasattr(frame, "collect_batches"):
        raise InputError(
            "This version of polars cannot hand over a lazy frame part by part. Install a "
            "newer one (collect_batches), or write the frame to Parquet and read that."
        )
    what = "the lazy frame"
    with reading(what):
        schema = frame.head(0).collect().to_arrow().schema
    return RowStream(what, _types(schema), [partial(_collect, frame, what)])


def _stream_dask(frame: Any) -> RowStream:
    what, partitions = "the Dask data frame", frame.to_delayed()
    schema = frame_to_table(frame._meta, what).schema
    numbered = enumerate(partitions)
    readers = [partial(read_partition, one, schema.names, number) for number, one in numbered]
    return RowStream(what, _types(schema), readers, partitions)


def _types(schema: Any) -> dict[str, Any]:
    return dict(zip(schema.names, schema.types))


_OPENERS: dict[tuple[str, str], Callable[[Any], RowStream]] = {
    ("pyarrow", "Dataset"): stream_dataset,
    ("pyarrow", "RecordBatchReader"): _stream_reader,
    ("polars", "LazyFrame"): _stream_polars,
    ("dask", "DataFrame"): _stream_dask,
    ("dask_expr", "DataFrame"): _stream_dask,
}


def _opener(X: Any) -> Callable[[Any], RowStream] | None:
    kinds = ((kind.__module__.split(".")[0], kind.__name__) for kind in type(X).__mro__)
    return next((_OPENERS[kind] for kind in kinds if kind in _OPENERS), None)


def _scan(source: Any, schema: Any, what: str, columns: list[str]) -> Iterator[Part]:
    size = sampling.LIMITS.batch_rows
    with reading(what):
        scanner = source.scanner(columns=columns, schema=schema, batch_size=size, batch_readahead=2)
        for batch in scanner.to_batches():
            if batch.num_rows:
                yield Part(what, pa.Table.from_batches([batch]))


def _collect(frame: Any, what: str, columns: list[str]) -> Iterator[Part]:
    size = sampling.LIMITS.batch_rows
    with reading(what):
        for batch in frame.select(columns).collect_batches(chunk_size=size, maintain_order=True):
            yield Part(what, batch.to_arrow())


def read_partition(
    partition: Any, expected: Sequence[str], number: int, columns: list[str]
) -> Iterator[Part]:
    """A partition of a Dask frame, computed here where it is not yet."""
    what = f"partition {number} of the Dask data frame"
    with reading(what):
        frame = partition.compute() if hasattr(partition, "compute") else partition
    _check_columns([str(name) for name in frame.columns], expected, what, "the data frame")
    yield from in_batches(frame_to_table(frame, what).select(columns), what)


def in_batches(table: Any, what: str) -> Iterator[Part]:
    """A pyarrow table in slices."""
    size = sampling.LIMITS.batch_rows
    for start in range(0, table.num_rows, size):
        yield Part(what, table.slice(start, size))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """What pyarrow, polars and Dask raise of a table that cannot be read, as our own error."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        home = type(error).__module__.split(".")[0]
        if not isinstance(error, OSError | EOFError) and home not in ("pyarrow", "polars"):
            raise
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{what} cannot be read ({said}). Check its files, or export them again."
        ) from error


def _common_types(dataset: Any) -> dict[str, Any]:
    """The type of every column that serves all files of a dataset."""
    expected = _types(dataset.schema)
    found: dict[str, dict[Any, str]] = {name: {} for name in expected}
    first = ""
    for fragment in dataset.get_fragments():
        schema, what = fragment.physical_schema, _name(fragment)
        first = first or f"{what}, the first of the table"
        keys = ds.get_partition_keys(fragment.partition_expression)
        _check_columns([*schema.names, *keys], list(expected), what, first)
        for name, kind in (expected | _types(schema)).items():
            found[name].setdefault(kind, what)
    types = {}
    for name, kinds in found.items():
        types[name] = unified_type(list(kinds) or [expected[name]])
        if types[name] is None:
            said = " and ".join(f"{kind} in {what}" for kind, what in list(kinds.items())[:2])
            raise InputError(
                f"Column {name!r} holds different kinds of values: {said}. Write it alike in all "
                "files, or leave it out."
            )
    return types


def _cut(fragment: Any) -> list[Any]:
    """A Parquet file in pieces of whole row groups; other files as they are."""
    groups = getattr(fragment, "row_groups", None)
    if not groups:
        return [fragment]
    pieces: list[list[int]] = []
    rows = sampling.LIMITS.piece_rows
    for group in groups:
        if rows >= sampling.LIMITS.piece_rows:
            pieces.append([])
            rows = 0
        pieces[-1].append(group.id)
        rows += group.num_rows
    return [fragment.subset(row_group_ids=ids) for ids in pieces]


def _name(fragment: Any) -> str:
    return str(getattr(fragment, "path", "") or "a part of the dataset")


def _check_columns(found: Sequence[str], expected: Sequence[str], what: str, first: str) -> None:
    lost = [name for name in expected if name not in set(found)]
    more = [name for name in found if name not in set(expected)]
    if lost or more:
        said = [f"no {preview(lost)}"] * bool(lost) + [f"also {preview(more)}"] * bool(more)
        raise InputError(
            f"{what} has other columns than {first}: {' and '.join(said)}. "
            "Give all parts of the table the same columns, or leave this part out."
        )


def text_of(value: object) -> str:
    """A value as it is spelled in a table: whole numbers without a point."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def is_blank(value: object) -> bool:
    """Missing, or a text of nothing but spaces."""
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def is_number(kind: Any) -> bool:
    """Whether a pyarrow type holds numbers, true and false among them."""
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(kind) for test in tests)


def is_text(kind: Any) -> bool:
    """Whether a pyarrow type holds texts, also as codes; a column of nothing counts as texts."""
    types = pa.types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    is_view = getattr(types, "is_string_view", types.is_string)  # since pyarrow 16
    tests = (types.is_string, types.is_large_string, is_view, types.is_null)
    return any(test(kind) for test in tests)


def unified_type(kinds: Sequence[Any]) -> Any | None:
    """One type for a column that differs between parts of a table; None where there is none."""
    given = [kind for kind in dict.fromkeys(kinds) if not pa.types.is_null(kind)]
    if len(given) <= 1:
        return given[0] if given else pa.null()
    if all(is_number(kind) for kind in given):
        return pa.float64()
    return pa.string() if all(is_text(kind) for kind in given) else None


def plain_table(table: Any, columns: Sequence[str], numbers: Collection[str], what: str) -> Any:
    """Some columns of a pyarrow table: float64 for those in `numbers`, string for the others."""
    plain = [_plain_column(table.column(name), name, name in numbers, what) for name in columns]
    return pa.table(dict(zip(columns, plain)))


def _plain_column(column: Any, name: str, as_numbers: bool, what: str) -> Any:
    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return pc.cast(column, pa.float64() if as_numbers else pa.string())
    if is_number(kind):
        if as_numbers:
            column = pc.cast(column, pa.int8()) if pa.types.is_boolean(kind) else column
            return pc.cast(column, pa.float64(), safe=False)
        encoded = column.combine_chunks().dictionary_encode()
        texts = [text_of(value) for value in encoded.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(encoded.indices)
    if not (is_text(kind) or pa.types.is_temporal(kind)):
        raise InputError(
            f"Column {name!r} holds {kind} values, which are neither numbers nor texts. "
            f"Turn it into one of them, or leave it out (--exclude {name})."
        )
    if as_numbers:
        raise InputError(
            f"Column {name!r} holds {kind} values in {what}, and numbers elsewhere. "
            f"Correct that part, or leave the column out (--exclude {name})."
        )
    return pc.cast(column, pa.string())


def numbered_domains(
    column: Any, domain: str, what: str, spell: bool = True
) -> tuple[list[Hashable], Ints]:
    """The different names of a column, as texts where `spell`, and the number of each row's."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    blank = [number for number, value in enumerate(values) if is_blank(value)]
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    lost = (places < 0) | np.isin(places, blank)
    if lost.any():
        raise InputError(
            f"The domain column {domain!r} is blank in {int(lost.sum())} of {len(places)} rows of "
            f"{what}, the first is row {int(lost.argmax()) + 1} of them. "
            "Name the domain of these rows, or leave them out."
        )
    return [text_of(value) if spell else value for value in values], places


def frame_to_table(frame: Any, what: str) -> Any:
    """A pandas frame as a pyarrow table; refused where a column holds values of several kinds."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        said = " ".join(str(part) for part in error.args)
        raise InputError(
            f"{what} has a column that mixes kinds of values ({said:.160}). "
            "Give every column numbers or texts only."
        ) from None


@dataclass(eq=False)
class ColumnFacts:
    """A column as all rows have it."""

    missing: int = 0
    low: float = np.nan  # of finite numbers; NaN where there are none
    high: float = np.nan
    infinite: int = 0
    texts: Counter[str] | None = field(default_factory=Counter)  # None for numbers or too many
    few: frozenset[float] | None = frozenset()  # numbers of a target, while they are whole and few
    most_distinct: int = 1_000

    def add(self, column: Any, is_target: bool) -> None:
        """More values, a pyarrow column of numbers or texts."""
        if pa.types.is_floating(column.type):
            values = column.to_numpy()
            given = values[~np.isnan(values)]
            finite = given[np.isfinite(given)]
            low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
            whole = is_target and not (np.mod(finite, 1) != 0).any()
            few = frozenset(np.unique(finite).tolist()) if whole else None
            infinite = len(given) - len(finite)
            self.merge(ColumnFacts(len(values) - len(given), low, high, infinite, None, few))
        else:
            counted = pc.value_counts(column.combine_chunks())
            pairs = zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist())
            texts = Counter({value: count for value, count in pairs if not is_blank(value)})
            self.merge(ColumnFacts(len(column) - sum(texts.values()), texts=texts, few=None))

    def merge(self, other: ColumnFacts) -> None:
        """Those of other rows."""
        self.missing += other.missing
        self.low = float(np.fmin(self.low, other.low))
        self.high = float(np.fmax(self.high, other.high))
        self.infinite += other.infinite
        texts = None if self.texts is None or other.texts is None else self.texts + other.texts
        self.texts = None if texts is None or len(texts) > self.most_distinct else texts
        few = None if self.few is None or other.few is None else self.few | other.few
        self.few = None if few is None or len(few) > self.most_distinct else few


@dataclass(frozen=True)
class StreamPlan:
    """What to read of a table, and how."""

    domain: str
    targets: tuple[str, ...]
    inputs: tuple[str, ...]
    numbers: frozenset[str]  # columns that hold numbers; others are taken as they are spelled
    # Whether labels of a domain may be read; others are hidden before anything looks at them.
    is_source: Callable[[Hashable], bool] | None = None
    seed: int = 0
    size: SampleSize = field(default_factory=SampleSize)
    spell_domains: bool = True  # domains are named by texts, as in files
    only: Collection[Hashable] | None = None  # the domains that are looked at


class StreamSummary:
    """What is known of a table after a pass over it, in memory that rows do not add to.

    Whatever divides or orders the rows, all but moments is the same to the bit.
    """

    def __init__(self, plan: StreamPlan) -> None:
        self.plan = plan
        self.names: dict[Hashable, int] = {}
        self.n_rows = np.zeros(0, dtype=np.int64)
        self.n_labelled = np.zeros(0, dtype=np.int64)
        self.n_ignored = 0
        self.columns = {name: ColumnFacts() for name in (*plan.targets, *plan.inputs)}
        self.numbers = tuple(name for name in plan.inputs if name in plan.numbers)
        self.moments = np.zeros((3, 0, len(self.numbers)))
        self._sample = BottomRows(plan.size)

    def read(self, parts: Iterable[Part]) -> StreamSummary:
        """Look at some more rows."""
        plan = self.plan
        for what, table in parts:
            column = table.column(plan.domain)
            names, places = numbered_domains(column, plan.domain, what, plan.spell_domains)
            if plan.only is not None:
                wanted = np.array([name in plan.only for name in names], dtype=bool)
                table, places = table.filter(wanted[places]), places[wanted[places]]
                places = (np.cumsum(wanted) - 1)[places]
                names = [name for name in names if name in plan.only]
            if not names:
                continue
            rows = self._numbers_of(names)[places]
            plain = plain_table(table, list(self.columns), plan.numbers, what)
            plain, labelled = self._hide_labels(plain, rows)
            self.n_rows += np.bincount(rows, minlength=len(self.names))
            self.n_labelled += np.bincount(rows[labelled], minlength=len(self.names))
            for name, facts in self.columns.items():
                facts.add(plain.column(name), name in plan.targets)
            if self.numbers:
                values = np.column_stack([plain.column(name).to_numpy() for name in self.numbers])
                self._pool(np.unique(rows), _moments(values, rows))
            spelled = pa.array([text_of(name) for name in self.names], pa.string())
            named = plain.append_column(plan.domain, spelled.take(pa.array(rows)))
            keys, ones = row_keys(named, plan.seed), np.ones(len(rows), dtype=np.int64)
            self._sample.add(KeyedRows(plain, 2 * rows + labelled, keys, ones))
        return self

    def merge(self, other: StreamSummary) -> StreamSummary:
        """Add what another pass over other rows has left."""
        places = self._numbers_of(other.names)
        np.add.at(self.n_rows, places, other.n_rows)
        np.add.at(self.n_labelled, places, other.n_labelled)
        self.n_ignored += other.n_ignored
        for name, facts in self.columns.items():
            facts.merge(other.columns[name])
        self._pool(places, other.moments)
        kept = other._sample.kept()
        if kept is not None:
            groups = 2 * places[kept.groups // 2] + kept.groups % 2
            self._sample.add(KeyedRows(kept.table, groups, kept.keys, kept.counts))
        return self

    @property
    def domains(self) -> list[Hashable]:
        """Names in order."""
        return order_names(self.names)

    def counts(self) -> pd.DataFrame:
        """A row a domain: its rows, and those with a label."""
        return self._by_domain({"rows": self.n_rows, "labelled": self.n_labelled})

    def means(self) -> pd.DataFrame:
        """A row a domain, a column a column of numbers; NaN where all are missing."""
        counts, means, _ = self.moments
        return self._by_domain(dict(zip(self.numbers, np.where(counts > 0, means, np.nan).T)))

    def deviations(self) -> pd.DataFrame:
        """As `means`."""
        counts, _, squares = self.moments
        variances = squares / np.where(counts > 0, counts, np.nan)
        return self._by_domain(dict(zip(self.numbers, np.sqrt(variances).T)))

    def sample(self, sources: Iterable[Hashable] | None = None) -> pd.DataFrame:
        """Rows by domain and key; of sources (None: domains with any label) only labelled ones."""
        kept = self._sample.kept()
        assert kept is not None
        chosen = None if sources is None else set(sources)
        by_domain: dict[Hashable, KeyedRows] = {}
        for name in self.domains:
            number = self.names[name]
            is_source = self.n_labelled[number] > 0 if chosen is None else name in chosen
            ends = np.searchsorted(kept.groups, [2 * number + is_source, 2 * number + 2])
            by_domain[name] = kept.part(np.arange(*ends))
        occurrences = np.array([rows.counts.sum() for rows in by_domain.values()])
        most = self.plan.size.rows_of_each(occurrences)
        tables = {
            name: rows.table.take(rows.spread(most))
            for name, rows in by_domain.items()
            if len(rows.keys)
        }
        frame = pa.concat_tables(tables.values()).to_pandas()
        names = [name for name, table in tables.items() for _ in range(table.num_rows)]
        frame.insert(0, self.plan.domain, names)
        return frame

    def _numbers_of(self, names: Iterable[Hashable]) -> Ints:
        """Numbers of domains; new ones are added."""
        numbers = [self.names.setdefault(name, len(self.names)) for name in names]
        more = len(self.names) - len(self.n_rows)
        self.n_rows = np.pad(self.n_rows, (0, more))
        self.n_labelled = np.pad(self.n_labelled, (0, more))
        self.moments = np.pad(self.moments, ((0, 0), (0, more), (0, 0)))
        return np.array(numbers, dtype=np.int64)

    def _pool(self, places: Ints, other: Floats) -> None:
        """Add the moments of further rows to those of the domains at `places`."""
        counts, means, squares = self.moments[:, places]
        total = counts + other[0]
        apart = other[1] - means
        divisor = np.maximum(total, 1.0)
        squares += other[2] + apart**2 * counts * other[0] / divisor
        self.moments[:, places] = total, means + apart * other[0] / divisor, squares

    def _hide_labels(self, table: Any, rows: Ints) -> tuple[Any, NDArray[np.bool_]]:
        """The table without labels that may not be read, and where there is a label."""
        plan = self.plan
        known = np.full(table.num_rows, bool(plan.targets))
        for name in plan.targets:
            column = table.column(name)
            if pa.types.is_floating(column.type):
                known &= ~np.isnan(column.to_numpy())
            else:
                given = pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0)
                known &= pc.fill_null(given, False).to_numpy(zero_copy_only=False).astype(bool)
        if plan.is_source is None:
            return table, known
        may_read = np.array([plan.is_source(name) for name in self.names])[rows]
        self.n_ignored += int((known & ~may_read).sum())
        for name in plan.targets:
            column = pc.if_else(pa.array(may_read), table.column(name), None)
            table = table.set_column(table.column_names.index(name), name, column)
        return table, known & may_read

    def _by_domain(self, columns: dict[str, NDArray]) -> pd.DataFrame:
        order = [self.names[name] for name in self.domains]
        index = pd.Index(self.domains, name=self.plan.domain)
        return pd.DataFrame({name: values[order] for name, values in columns.items()}, index=index)


def _moments(values: Floats, domains: Ints) -> Floats:
    """Counts, means and sums of squares about these, (3, domains, columns), of finite values."""
    known = pd.DataFrame(np.where(np.isfinite(values), values, np.nan)).groupby(domains)
    counts = known.count()
    tables = (counts, known.mean(), known.var(ddof=0) * counts)
    return np.stack([table.fillna(0.0).to_numpy(dtype=np.float64) for table in tables])


def summarise(stream: RowStream, plan: StreamPlan, merged_at_once: int = 8) -> StreamSummary:
    """What all rows say, and a sample: found where a Dask frame is computed, else by joblib, whose
    workers, if there are any, must see the same files."""
    if stream.partitions:
        import dask

        numbered, names = enumerate(stream.partitions), stream.columns
        summarised = dask.delayed(_of_partition, pure=False)
        merged = dask.delayed(_merged, pure=False)
        level = [summarised(partition, number, names, plan) for number, partition in numbered]
        while len(level) > 1:  # a few at a time, on the workers, so that no process holds many
            groups = range(0, len(level), merged_at_once)
            level = [merged(level[start : start + merged_at_once], plan) for start in groups]
        with cluster_errors(), reading(stream.what):
            (summary,) = dask.compute(*level)
    elif effective_n_jobs(None) > 1 and len(stream.readers) > 1:
        jobs = (delayed(_of_readers)([reader], plan) for reader in stream.readers)
        with cluster_errors():
            summary = _merged(Parallel(return_as="generator")(jobs), plan)
    else:
        summary = _of_readers(stream.readers, plan)
    if not summary.names:
        raise InputError(f"{stream.what} has no rows. Check the export that wrote it.")
    return summary


def _of_readers(readers: Iterable[Callable[..., Any]], plan: StreamPlan) -> StreamSummary:
    columns = [plan.domain, *plan.targets, *plan.inputs]
    return StreamSummary(plan).read(part for reader in readers for part in reader(columns))


def _of_partition(frame: Any, number: int, columns: list[str], plan: StreamPlan) -> StreamSummary:
    return StreamSummary(plan).read(read_partition(frame, columns, number, columns))


def _merged(summaries: Iterable[StreamSummary], plan: StreamPlan) -> StreamSummary:
    return reduce(StreamSummary.merge, summaries, StreamSummary(plan))
