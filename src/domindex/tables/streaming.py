"""Tables on disk that are read in parts, and when a table is large enough for that."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from domindex.data.arrow_columns import is_number
from domindex.data.streams import (
    BATCH_ROWS,
    ArrowStream,
    Part,
    Stream,
    as_stream,
    is_stream,
    reading,
)
from domindex.errors import InputError
from domindex.persistence.paths import usable_path
from domindex.preparation.spelling import MISSING_WORDS
from domindex.tables.debris import check_names
from domindex.tables.reading import (
    require_file,
    require_pyarrow,
    table_format,
)
from domindex.tables.text_format import TextFormat, delimiter_of, likely_delimiter

LARGE_BYTES = 250_000_000
"""Size of a file from which on it is read in parts. A table of that size takes one to two GB in
memory as a data frame; gzip counts four times."""

LARGE_ROWS = 1_000_000
"""Rows of a Parquet file from which on it is read in parts, whatever its size: it may be packed
well, and a model learns from a sample of them anyway."""

CSV_BLOCK = 16_000_000
"""Bytes of a text file that are parsed at once. Kinds of columns are told by the first of them."""

Data = Any
"""A path, or a table that is read in parts: a pyarrow dataset, a polars LazyFrame, a Dask frame."""


def name_of(data: Data) -> str:
    """What a run calls its table."""
    if is_stream(data):
        return f"a {type(data).__name__} of {type(data).__module__.split('.')[0]}"
    return usable_path(data).resolve().name


def is_large(data: Data) -> bool:
    """Whether a table is read in parts: a folder, a large file, or what is no file at all."""
    if is_stream(data):
        return True
    path = usable_path(data)
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    kind = table_format(path)
    if kind == "csv" and find_spec("pyarrow") is None:
        return False
    packed = path.suffix.lower() == ".gz"
    if path.stat().st_size * (4 if packed else 1) >= LARGE_BYTES:
        return not (packed and kind == "parquet")
    return kind == "parquet" and not packed and _parquet_rows(path) >= LARGE_ROWS


def open_stream(
    data: Data,
    *,
    delimiter: str | None = None,
    texts: Sequence[str] = (),
    form: TextFormat | None = None,
) -> Stream:
    """A table as a stream.

    Parameters
    ----------
    data : a CSV or Parquet file, a folder of Parquet files, or what `as_stream` takes
    delimiter : between the columns of a text file; told by its header where None
    texts : columns of a text file to be read as they are spelled
    form : all that is said of a text file, instead of `delimiter`
    """
    if is_stream(data):
        return as_stream(data)
    path = usable_path(data)
    require_pyarrow(path)
    if path.is_dir():
        return ArrowStream.of(_folder(path), str(path))
    require_file(path)
    if table_format(path) == "csv":
        return CsvStream.of(path, form or TextFormat(delimiter), texts)
    import pyarrow.dataset as ds

    with reading(str(path)):
        dataset = ds.dataset(path, format="parquet")
        check_names(path, dataset.schema.names)
        return ArrowStream.of(dataset, str(path))


@dataclass(frozen=True, eq=False)
class CsvStream(Stream):
    """A text file, plain or gzipped."""

    path: Path
    form: TextFormat
    types: dict[str, Any]
    what: str

    @classmethod
    def of(cls, path: Path, form: TextFormat, texts: Sequence[str]) -> CsvStream:
        """Kinds of columns by the first block: whole numbers may be followed by others."""
        import pyarrow as pa

        form = replace(form, delimiter=delimiter_of(path, form.delimiter))
        with reading(str(path)), _opened(path, form, {}) as reader:
            schema = reader.schema
        other = likely_delimiter(schema.names[0]) if len(schema.names) == 1 else None
        if other is not None and other != form.delimiter:
            return cls.of(path, replace(form, delimiter=other), texts)
        check_names(path, schema.names)
        types = {name: _csv_type(kind) for name, kind in zip(schema.names, schema.types)}
        types |= {name: pa.string() for name in texts if name in types}
        return cls(path, form, types, str(path))

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        import pyarrow as pa

        with reading(self.what), _opened(self.path, self.form, self.types) as reader:
            for batch in reader:
                table = pa.Table.from_batches([batch]).select(list(columns))
                for start in range(0, table.num_rows, BATCH_ROWS):
                    yield Part(self.what, table.slice(start, BATCH_ROWS))


def _opened(path: Path, form: TextFormat, types: dict[str, Any]) -> Any:
    """A reader of blocks; words for missing values count in columns of numbers only."""
    import pyarrow as pa
    from pyarrow import csv

    words = [spelled(word) for word in MISSING_WORDS for spelled in (str, str.upper, str.title)]
    return csv.open_csv(
        pa.input_stream(str(path), compression="detect"),
        read_options=csv.ReadOptions(block_size=CSV_BLOCK, encoding=form.encoding or "utf8"),
        parse_options=csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=["", *words, "NaN", *form.missing],
            strings_can_be_null=False,
            decimal_point=form.decimal or ".",
        ),
    )


def _csv_type(kind: Any) -> Any:
    """float64 for numbers, which may turn out to have fractions; texts for all the rest."""
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return kind
    return pa.float64() if is_number(kind) else pa.string()


def _folder(path: Path) -> Any:
    """The Parquet files of a folder and of those in it; names like year=2020 are columns."""
    import pyarrow.dataset as ds

    files = sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if name.lower().endswith(".parquet") and not name.startswith((".", "_"))
    )
    if not files:
        raise InputError(
            f"{path} is a folder without Parquet files. Name a folder that holds some, or a CSV or "
            "Parquet file."
        )
    with reading(str(path)):
        return ds.dataset(
            files, format="parquet", partitioning="hive", partition_base_dir=str(path)
        )


def _parquet_rows(path: Path) -> int:
    """0 where the file cannot be read: whoever reads it says why."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        return 0
    try:
        return int(parquet.read_metadata(path).num_rows)
    except (ArrowException, OSError):
        return 0
