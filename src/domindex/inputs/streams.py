"""Tables that are read in parts: pyarrow datasets, polars LazyFrames, Dask DataFrames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.inputs.messages import preview
from domindex.inputs.names import is_missing


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
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def is_text(kind: Any) -> bool:
    """Whether a pyarrow type holds texts, also as codes; a column of nothing counts as texts."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    views = [getattr(pa.types, name) for name in ("is_string_view",) if hasattr(pa.types, name)]
    return any(test(kind) for test in (*tests, *views))


def is_time(kind: Any) -> bool:
    """Whether a pyarrow type holds dates, times or durations."""
    import pyarrow as pa

    return pa.types.is_temporal(kind)


def plain_table(table: Any, columns: Sequence[str], numbers: Collection[str], what: str) -> Any:
    """Some columns of a pyarrow table: float64 for those in `numbers`, string for the others.

    Numbers that are to be texts are spelled; texts where numbers should be are refused, and `what`
    names the part of the table in the error.
    """
    import pyarrow as pa

    plain = [_plain_column(table.column(name), name, name in numbers, what) for name in columns]
    return pa.table(dict(zip(columns, plain)))


def numbered_domains(
    column: Any, domain: str, what: str, spell: bool = True
) -> tuple[list[Hashable], NDArray[np.int64]]:
    """The different names of a column of domains, and the number of each row's among them.

    `spell` makes texts of names that are numbers. Blank names are refused.
    """
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
        if not as_numbers:
            return _spelled(column)
        if pa.types.is_boolean(kind):
            column = pc.cast(column, pa.int8())
        return pc.cast(column, pa.float64(), safe=False)
    if not (is_text(kind) or is_time(kind)):
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


def _spelled(column: Any) -> Any:
    """Numbers as texts, each different one spelled once."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    texts = pa.array([text_of(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)


def unified_type(kinds: Sequence[Any]) -> Any | None:
    """One type for a column that differs between parts of a table; None where there is none."""
    import pyarrow as pa

    given = [kind for kind in dict.fromkeys(kinds) if not pa.types.is_null(kind)]
    if len(given) <= 1:
        return given[0] if given else pa.null()
    if all(is_number(kind) for kind in given):
        return pa.float64()
    if all(is_text(kind) for kind in given):
        return pa.string()
    return None


def check_columns(found: Sequence[str], expected: Sequence[str], what: str, first: str) -> None:
    """All of the expected columns and no others, in any order; `what` names the part."""
    lost = [name for name in expected if name not in set(found)]
    more = [name for name in found if name not in set(expected)]
    if lost or more:
        said = [f"no {preview(lost)}"] * bool(lost) + [f"also {preview(more)}"] * bool(more)
        raise InputError(
            f"{what} has other columns than {first}: {' and '.join(said)}. "
            "Give all parts of the table the same columns, or leave this part out."
        )


BATCH_ROWS = 131_072
"""Rows that are read at once: bounds memory, and nothing else depends on it."""

PIECE_ROWS = 1_000_000
"""Rows of a file that one job of a cluster looks at, about."""


@dataclass(frozen=True)
class Part:
    """Some rows of a table; `what` names them in errors, and `table` is a pyarrow table."""

    what: str
    table: Any


class Stream(ABC):
    """A table of any size that can be gone through several times, part by part.

    Attributes
    ----------
    what : what errors call it
    types : the pyarrow type of every column, in their order
    """

    what: str
    types: dict[str, Any]

    @property
    def columns(self) -> list[str]:
        return list(self.types)

    @property
    def numbers(self) -> frozenset[str]:
        """Columns that hold numbers."""
        return frozenset(name for name, kind in self.types.items() if is_number(kind))

    @abstractmethod
    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        """The rows in their order, some columns of them."""

    def pieces(self) -> Sequence[Stream]:
        """Streams that together hold the rows, each of which can be sent to another process."""
        return [self]


@dataclass(frozen=True, eq=False)
class ArrowStream(Stream):
    """A pyarrow dataset: files, folders of files, or whatever else it can scan.

    Files may differ in the order of their columns and in how numbers are stored, but not in which
    columns they have.
    """

    dataset: Any
    what: str = "the dataset"
    types: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, dataset: Any, what: str = "the dataset") -> ArrowStream:
        """The dataset once the columns of all of its files have been compared."""
        with reading(what):
            return cls(dataset, what, _common_types(dataset))

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        """A piece after the other: a scan of the whole table reads ahead of whoever takes its rows,
        until all of it is in memory."""
        for piece in self.pieces():
            yield from piece.parts(columns)

    def pieces(self) -> Sequence[Stream]:
        return [
            self._fragment(piece, fragment)
            for fragment in self.dataset.get_fragments()
            for piece in _cut(fragment)
        ]

    def _fragment(self, piece: Any, whole: Any) -> _Fragment:
        """A file or a part of it, with its own types beside those that its folders say."""
        schema = whole.physical_schema
        for name in self.types:
            if name not in schema.names:
                schema = schema.append(self.dataset.schema.field(name))
        return _Fragment(piece, schema, self.types, _name(whole))


@dataclass(frozen=True, eq=False)
class _Fragment(Stream):
    """A file of a dataset, or some of its row groups."""

    fragment: Any
    schema: Any
    types: dict[str, Any]
    what: str

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        yield from _scanned(self.fragment, self.schema, columns, self.what)


@dataclass(frozen=True, eq=False)
class PolarsStream(Stream):
    """A lazy frame of polars, run by its streaming engine."""

    frame: Any
    what: str = "the lazy frame"
    types: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: Any) -> PolarsStream:
        if not hasattr(frame, "collect_batches"):
            raise InputError(
                "This version of polars cannot hand over a lazy frame part by part. Install a "
                "newer one (collect_batches), or write the frame to Parquet and read that."
            )
        with reading("the lazy frame"):
            schema = frame.head(0).collect().to_arrow().schema
        return cls(frame, types=dict(zip(schema.names, schema.types)))

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        with reading(self.what):
            chosen = self.frame.select(list(columns))
            for batch in chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
                yield Part(self.what, batch.to_arrow())


@dataclass(frozen=True, eq=False)
class DaskStream(Stream):
    """A data frame of Dask, of which one partition at a time is at hand."""

    frame: Any
    what: str = "the Dask data frame"
    types: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: Any) -> DaskStream:
        schema = frame_to_table(frame._meta, "the Dask data frame").schema
        return cls(frame, types=dict(zip(schema.names, schema.types)))

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        for number, partition in enumerate(self.delayed()):
            what = partition_name(number)
            with reading(what):
                frame = partition.compute()
            table = checked_partition(frame, self.columns, what).select(list(columns))
            for start in range(0, max(table.num_rows, 1), BATCH_ROWS):
                yield Part(what, table.slice(start, BATCH_ROWS))

    def delayed(self) -> list[Any]:
        """The partitions, each still to be computed."""
        return list(self.frame.to_delayed())


def is_stream(X: Any) -> bool:
    """Whether it is a table that is read in parts, by its type's name: nothing is imported."""
    return isinstance(X, Stream) or _library(X) is not None


def is_lazy(X: Any) -> bool:
    """Whether it is a stream that holds no rows and cannot be taken for an array."""
    return _library(X) in ("pyarrow", "polars")


def as_stream(X: Any) -> Stream:
    """A dataset of pyarrow, a lazy frame of polars or a data frame of Dask as a stream."""
    if isinstance(X, Stream):
        return X
    library = _library(X)
    if library == "pyarrow":
        return ArrowStream.of(X)
    if library == "polars":
        return PolarsStream.of(X)
    if library == "dask":
        return DaskStream.of(X)
    raise InputError(
        f"A {type(X).__name__} cannot be read in parts. Pass a pyarrow.dataset.Dataset, a polars "
        "LazyFrame or a Dask DataFrame."
    )


def partition_name(number: int) -> str:
    return f"partition {number} of the Dask data frame"


def checked_partition(frame: Any, columns: Sequence[str], what: str) -> Any:
    """A partition of Dask's as a pyarrow table with these columns."""
    check_columns([str(name) for name in frame.columns], columns, what, "the data frame")
    return frame_to_table(frame, what).select(list(columns))


class reading:  # noqa: N801 - a context, used like a function
    """What pyarrow, polars and Dask raise of a table that cannot be read, as our own error."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, InputError) or not _is_of_reading(error):
            return
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{self.what} cannot be read ({said}). Check its files, or export them again."
        ) from error


def _is_of_reading(error: BaseException) -> bool:
    """Errors of files and of the libraries that read them; not a fault in our code."""
    if isinstance(error, OSError | EOFError):
        return True
    home = type(error).__module__.split(".")[0]
    return isinstance(error, Exception) and home in ("pyarrow", "polars")


def _library(X: Any) -> str | None:
    for kind in type(X).__mro__:
        home = kind.__module__.split(".")[0]
        if home == "pyarrow" and kind.__name__ == "Dataset":
            return "pyarrow"
        if home == "polars" and kind.__name__ == "LazyFrame":
            return "polars"
        if home in ("dask", "dask_expr") and kind.__name__ == "DataFrame":
            return "dask"
    return None


def _common_types(dataset: Any) -> dict[str, Any]:
    """The type of every column that serves all files of a dataset."""
    import pyarrow.dataset as ds

    expected = [str(name) for name in dataset.schema.names]
    found: dict[str, dict[Any, str]] = {name: {} for name in expected}
    first = ""
    for fragment in dataset.get_fragments():
        schema, what = fragment.physical_schema, _name(fragment)
        keys = ds.get_partition_keys(fragment.partition_expression)
        first = first or what
        check_columns([*schema.names, *keys], expected, what, f"{first}, the first of the table")
        for name in expected:
            kind = (
                schema.field(name).type if name in schema.names else dataset.schema.field(name).type
            )
            found[name].setdefault(kind, what)
    types = {}
    for name, kinds in found.items():
        known = list(kinds) or [dataset.schema.field(name).type]
        types[name] = unified_type(known)
        if types[name] is None:
            said = " and ".join(f"{kind} in {kinds[kind]}" for kind in known[:2])
            raise InputError(
                f"Column {name!r} holds different kinds of values: {said}. Write it alike in all "
                "files, or leave it out."
            )
    return types


def _scanned(source: Any, schema: Any, columns: Sequence[str], what: str) -> Iterator[Part]:
    import pyarrow as pa

    with reading(what):
        scanner = source.scanner(
            columns=list(columns), schema=schema, batch_size=BATCH_ROWS, batch_readahead=2
        )
        for batch in scanner.to_batches():
            if batch.num_rows:
                yield Part(what, pa.Table.from_batches([batch]))


def _cut(fragment: Any) -> list[Any]:
    """A Parquet file in pieces of whole row groups; other files as they are."""
    groups = getattr(fragment, "row_groups", None)
    if not groups:
        return [fragment]
    pieces: list[list[int]] = [[]]
    rows = 0
    for group in groups:
        if rows >= PIECE_ROWS:
            pieces.append([])
            rows = 0
        pieces[-1].append(group.id)
        rows += group.num_rows
    return [fragment.subset(row_group_ids=ids) for ids in pieces]


def _name(fragment: Any) -> str:
    return str(getattr(fragment, "path", "") or "a part of the dataset")
