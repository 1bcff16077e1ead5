"""Tables of any size, read part by part: files, pyarrow datasets and readers, LazyFrames, Dask."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from domindex.arrays import Ints
from domindex.errors import InputError
from domindex.inputs import sampling
from domindex.inputs.messages import preview
from domindex.inputs.names import is_missing


class Part(NamedTuple):
    """Some rows of a table; `what` names them in errors, and `table` is a pyarrow table."""

    what: str
    table: Any


@dataclass(frozen=True, eq=False)
class RowStream:
    """A table of any size that can be read several times, part by part.

    Readers turn names of columns into parts. Together they give all rows in order, and each can be
    sent to another process.
    """

    what: str  # its name in errors
    types: dict[str, Any]  # the pyarrow type of every column
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
        for reader in self.readers:
            yield from reader(list(columns))


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
    """A pyarrow dataset, whose files have the same columns but may store them differently.

    It is scanned piece after piece: a scan of the whole reads ahead until all of it is in memory.
    """
    with reading(what):
        types = _common_types(dataset)
        readers = []
        for fragment in dataset.get_fragments():
            schema = fragment.physical_schema
            for name in types:  # those that the names of folders say
                if name not in schema.names:
                    schema = schema.append(dataset.schema.field(name))
            readers += [partial(_scan, one, schema, _name(fragment)) for one in _cut(fragment)]
        return RowStream(what, types, readers)


def _stream_reader(reader: Any) -> RowStream:
    """A reader can be gone through once: its rows go to a file that vanishes with the stream."""
    import pyarrow.dataset as ds
    from pyarrow import parquet

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
    types = dict(zip(schema.names, schema.types))
    return RowStream(what, types, [partial(_collect, frame, what)])


def _stream_dask(frame: Any) -> RowStream:
    what = "the Dask data frame"
    schema = frame_to_table(frame._meta, what).schema
    partitions = frame.to_delayed()
    readers = [
        partial(read_partition, partition, schema.names, number)
        for number, partition in enumerate(partitions)
    ]
    return RowStream(what, dict(zip(schema.names, schema.types)), readers, partitions)


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
    import pyarrow as pa

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
    import pyarrow.dataset as ds

    expected = dict(zip(dataset.schema.names, dataset.schema.types))
    found: dict[str, dict[Any, str]] = {name: {} for name in expected}
    first = ""
    for fragment in dataset.get_fragments():
        schema, what = fragment.physical_schema, _name(fragment)
        first = first or f"{what}, the first of the table"
        keys = ds.get_partition_keys(fragment.partition_expression)
        _check_columns([*schema.names, *keys], list(expected), what, first)
        for name, kind in (expected | dict(zip(schema.names, schema.types))).items():
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
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def is_blank(value: object) -> bool:
    """Missing, or a text of nothing but spaces."""
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def is_number(kind: Any) -> bool:
    """Whether a pyarrow type holds numbers, true and false among them."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(kind) for test in tests)


def is_text(kind: Any) -> bool:
    """Whether a pyarrow type holds texts, also as codes; a column of nothing counts as texts."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    is_view = getattr(types, "is_string_view", types.is_string)  # since pyarrow 16
    return any(
        test(kind) for test in (types.is_string, types.is_large_string, is_view, types.is_null)
    )


def unified_type(kinds: Sequence[Any]) -> Any | None:
    """One type for a column that differs between parts of a table; None where there is none."""
    import pyarrow as pa

    given = [kind for kind in dict.fromkeys(kinds) if not pa.types.is_null(kind)]
    if len(given) <= 1:
        return given[0] if given else pa.null()
    if all(is_number(kind) for kind in given):
        return pa.float64()
    return pa.string() if all(is_text(kind) for kind in given) else None


def plain_table(table: Any, columns: Sequence[str], numbers: Collection[str], what: str) -> Any:
    """Some columns of a pyarrow table: float64 for those in `numbers`, string for the others."""
    import pyarrow as pa

    plain = [_plain_column(table.column(name), name, name in numbers, what) for name in columns]
    return pa.table(dict(zip(columns, plain)))


def _plain_column(column: Any, name: str, as_numbers: bool, what: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

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
    import pyarrow as pa
    import pyarrow.compute as pc

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
    import pyarrow as pa

    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        said = " ".join(str(part) for part in error.args)
        raise InputError(
            f"{what} has a column that mixes kinds of values ({said:.160}). "
            "Give every column numbers or texts only."
        ) from None
