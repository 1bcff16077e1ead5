"""Tables that are read in parts: datasets of pyarrow, lazy frames of polars, frames of Dask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from domindex.data.arrow_columns import (
    check_columns,
    frame_to_table,
    is_number,
    unified_type,
)
from domindex.errors import InputError

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
