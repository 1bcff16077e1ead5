"""CSV, Parquet and Excel from files and back, with notes on whatever had to be repaired."""

from __future__ import annotations

import gzip
import io
import os
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.inputs.messages import did_you_mean, preview
from domindex.persistence.atomic import check_free_file, new_file
from domindex.persistence.paths import usable_path
from domindex.tables.text_format import (
    DELIMITERS,
    FALLBACK_ENCODING,
    TextFormat,
    as_missing,
    delimiter_of,
    encoding_of,
    likely_delimiter,
    with_numbers,
)

Format = Literal["csv", "parquet", "excel"]
Opener = Callable[[Path], IO[bytes]]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".xlsx": "excel",
}

DAMAGE = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError),
    *(NotImplementedError, AssertionError, SyntaxError),
)
"""What pyarrow, pandas and openpyxl raise on metadata of a file that make no sense."""

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
EXACT_FLOATS: dict[str, Any] = {"float_precision": "round_trip"} if _PANDAS < (3, 1) else {}
"""What makes pandas read the very number that was written; from 3.1 on it does so unasked."""


def read_with_notes(
    path: str | os.PathLike[str],
    form: TextFormat,
    *,
    texts: Iterable[str] = (),
    open_file: Opener | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table in a file, rows numbered from 0, and a word on whatever had to be guessed.

    Parameters
    ----------
    path : .csv, .tsv, .txt, .parquet or .xlsx, the first four also with .gz behind them
    form : what is said of a text file
    texts : columns to be read as they are spelled: "01" and "NA" stay what they are
    open_file : how to open the file, for a progress bar

    Only an empty field counts as missing here. A word such as NA is read as a text, and whoever
    takes the column for numbers decides what it means.
    """
    file = usable_path(path)
    kind = table_format(file)
    require_file(file)
    opener, notes, named = open_file or _open, list[str](), set(texts)
    if kind == "csv":
        table = _read_csv(file, opener, form, named, notes)
    else:
        with opener(file) as stream:
            read = _read_parquet if kind == "parquet" else _read_excel
            table = as_missing(read(file, _unpacked(file, stream)), form.na)
    if kind != "parquet":
        table, said = with_numbers(table, form.decimal, named)
        notes += said
    table = _without_debris(file, table, named, notes)
    if not len(table):
        raise InputError(f"{file} has a header and no rows. Check the export that wrote it.")
    return table, tuple(notes)


def table_format(path: Path) -> Format:
    """CSV, Parquet or Excel, by the name."""
    suffixes = ["", *(suffix.lower() for suffix in path.suffixes)]
    last = suffixes[-2] if suffixes[-1] == ".gz" else suffixes[-1]
    if last not in SUFFIXES:
        raise InputError(
            f"{path} does not say what it is: names end in {', '.join(SUFFIXES)}, with or without "
            ".gz. Rename it, or export the table as CSV or Parquet."
        )
    return SUFFIXES[last]


def require_file(file: Path) -> None:
    if file.is_dir():
        raise InputError(f"{file} is a folder. Name a CSV or Parquet file.")
    if not file.exists():
        beside = file.parent.iterdir() if file.parent.is_dir() else []
        hint = did_you_mean(file.name, [path.name for path in beside])
        raise InputError(f"There is no file {file}. {hint or 'Check the path.'}")


def _open(file: Path) -> IO[bytes]:
    try:
        return file.open("rb")
    except OSError as error:
        raise InputError(
            f"{file} cannot be opened ({error.strerror}). Give yourself the right to read it."
        ) from error


def _unpacked(file: Path, stream: IO[bytes]) -> Any:
    return gzip.GzipFile(fileobj=stream) if file.suffix.lower() == ".gz" else stream


def _read_csv(
    file: Path, opener: Opener, form: TextFormat, texts: set[str], notes: list[str]
) -> pd.DataFrame:
    """As `FALLBACK_ENCODING`, with a note, where it is no UTF-8 and nobody said what it is."""
    encoding = form.encoding
    try:
        with opener(file) as stream:
            return _parse_csv(file, _unpacked(file, stream), form, texts, notes)
    except UnicodeDecodeError as error:
        wrong = error
    if encoding is None:
        notes[:] = [
            f"{file.name} is not UTF-8: read as {FALLBACK_ENCODING}. Pass --encoding if names "
            "look wrong."
        ]
        form = replace(form, encoding=FALLBACK_ENCODING)
        with suppress(UnicodeDecodeError), opener(file) as stream:
            return _parse_csv(file, _unpacked(file, stream), form, texts, notes)
    raise InputError(
        f"{file} is not {encoding or 'UTF-8'} text (byte {wrong.start} is "
        f"{wrong.object[wrong.start]:#x}). Name its encoding (--encoding), or save it again as "
        "UTF-8."
    )


def _parse_csv(
    file: Path, stream: IO[bytes], form: TextFormat, texts: set[str], notes: list[str]
) -> pd.DataFrame:
    buffered = io.BufferedReader(stream, 2**20)  # type: ignore[type-var]
    try:
        head = buffered.peek(2**16)
        encoding = encoding_of(head, form.encoding)
        columns, delimiter = _check_header(file, head, form, encoding, notes)
        after_comma = len(columns) > 1 and all(name.startswith(" ") for name in columns[1:])
        named = [name.strip() if after_comma else name for name in columns]
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                buffered,
                sep=delimiter,
                encoding=encoding,
                index_col=False,
                keep_default_na=False,
                na_values=["", *form.na],
                dtype={name: str for name in named if name in texts},
                skipinitialspace=after_comma,
                low_memory=False,
                **EXACT_FLOATS,
            )
    except (InputError, UnicodeDecodeError):
        raise
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{file} is not a whole gzip file ({error}). Copy or compress it again."
        ) from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError) as error:
        raise InputError(
            f"{file} is not a table with the same columns in every row ({_short(error)}). "
            "Put quotes around texts that hold the delimiter."
        ) from None
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(f"{file} cannot be read ({_short(error)}). Export it again.") from error
    finally:
        if not buffered.closed:
            buffered.detach()  # whoever opened the file closes it


def _check_header(
    file: Path, head: bytes, form: TextFormat, encoding: str, notes: list[str]
) -> tuple[list[str], str]:
    """Names of the columns as they are spelled, and what stands between them."""
    if not head.strip():
        raise InputError(f"{file} is empty. Check the export that wrote it.")
    if b"\0" in head and encoding != "utf-16":
        raise InputError(
            f"{file} is not a text file, whatever its name says. Export the table as CSV."
        )
    text = head.decode(encoding, errors="ignore")

    def split(delimiter: str) -> list[str]:
        options: Any = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
        first = pd.read_csv(io.StringIO(text), sep=delimiter, engine="c", **options)
        return [str(name) for name in first.iloc[0]]

    delimiter = delimiter_of(file, form.delimiter)
    columns = split(delimiter)
    other = likely_delimiter(columns[0]) if len(columns) == 1 and form.delimiter is None else None
    if other is not None:
        delimiter, columns = other, split(other)
        notes.append(f"Read {file.name} with {DELIMITERS[other]} between its columns.")
    check_names(file, [name for name in columns if name.strip()])
    return columns, delimiter


def _read_excel(file: Path, stream: IO[bytes]) -> pd.DataFrame:
    if find_spec("openpyxl") is None:
        raise InputError(
            f"{file} is a workbook, which needs openpyxl. Install it "
            "(pip install 'domindex[excel]'), or export the sheet as CSV."
        )
    try:
        content = io.BytesIO(stream.read())
        with pd.ExcelFile(content, engine="openpyxl") as book:
            header = pd.read_excel(book, header=None, nrows=1, dtype=str, keep_default_na=False)
            table = pd.read_excel(book, keep_default_na=False, na_values=[""])
    except InputError:
        raise
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, *DAMAGE) as error:
        raise InputError(
            f"{file} is not a whole workbook ({_short(error)}). Save it again as .xlsx."
        ) from None
    if not len(header):
        raise InputError(f"{file} is empty: its first sheet holds nothing. Put the table there.")
    check_names(file, [name for name in header.iloc[0].astype(str) if name.strip()])
    table.columns = [str(name) for name in table.columns]
    return table


def _read_parquet(file: Path, stream: IO[bytes]) -> pd.DataFrame:
    require_pyarrow(file)
    from pyarrow import ArrowException, parquet

    try:
        content = io.BytesIO(stream.read())
        if not content.getbuffer().nbytes:
            raise InputError(f"{file} is empty. Check the export that wrote it.")
        check_names(file, [str(name) for name in parquet.read_schema(content).names])
        content.seek(0)
        table = parquet.read_table(content).to_pandas()
    except InputError:
        raise
    except (ArrowException, EOFError, OSError, zlib.error, *DAMAGE) as error:
        raise InputError(
            f"{file} is not a whole Parquet file ({_short(error)}). Copy or export it again."
        ) from None
    if any(name is not None for name in table.index.names):
        table = table.reset_index()
    table.columns = [str(name) for name in table.columns]
    return table.reset_index(drop=True)


def require_pyarrow(file: Path) -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(
            f"{file} is Parquet, which needs pyarrow. Install it (pip install 'domindex[tables]'), "
            "or use CSV."
        ) from None


def _short(error: Any) -> str:
    return " ".join(str(error).split())[:160]


def check_names(file: Path, columns: list[str]) -> None:
    twice = [name for name, count in Counter(columns).items() if count > 1 and name.strip()]
    if twice:
        raise InputError(
            f"{file} has several columns named {preview(twice)}. Give every column its own name."
        )
    blank = [number for number, name in enumerate(columns, start=1) if not name.strip()]
    if blank:
        raise InputError(
            f"{file} has no name for column {preview(blank)}. Name it in the header; if it holds "
            "row numbers, export without them (in pandas, to_csv(index=False))."
        )


def _without_debris(
    file: Path, table: pd.DataFrame, texts: set[str], notes: list[str]
) -> pd.DataFrame:
    """The table without what is no part of it, with a note on each; columns need a name."""
    names = [str(name) for name in table.columns]
    named = ["" if name.startswith("Unnamed: ") else name.strip() and name for name in names]
    is_empty = table.isna().all(axis=0).to_numpy() & np.array([not name for name in named])
    if is_empty.any():
        columns = "1 column" if is_empty.sum() == 1 else f"{is_empty.sum()} columns"
        notes.append(f"Dropped {columns} without a name or a value.")
        table = table.loc[:, ~is_empty]
    check_names(file, [name for name, empty in zip(named, is_empty) if not empty])
    blank = table.isna().all(axis=1)
    if blank.any() and not blank.all():
        notes.append(f"Dropped {int(blank.sum())} rows without a value.")
        table = table[~blank].reset_index(drop=True)
    table = _without_lines(table, notes)
    with suppress(TypeError):  # values that cannot be compared
        copies = int(table.duplicated().sum())
        if copies > 0.2 * len(table):
            notes.append(
                f"{copies} of {len(table)} rows are exact copies of rows before them. Remove them "
                "if they are not observations of their own."
            )
    found = {}
    for name in table.columns if notes else ():  # numbers that such a line had made texts of
        if name not in texts and table[name].dtype.kind not in "biufmM":
            numbers = pd.to_numeric(table[name], errors="coerce")
            if (numbers.isna() == table[name].isna()).all():
                found[name] = numbers
    return table.assign(**found)


def _without_lines(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Without lines of ======= and the like, and without rows that say the header again.

    Merging two versions of a file leaves the former, putting files together the latter.
    """
    first = table.iloc[:, 0]
    if first.dtype.kind not in "biufmM" and table.shape[1] > 1:
        marks = first.astype(str).str.fullmatch(r"(=|<|>|-|#|\*){5,}.*")
        marks &= table.iloc[:, 1:].isna().all(axis=1)
        if marks.any():
            example = first[marks].iloc[0][:7]
            notes.append(f"Dropped {int(marks.sum())} lines of marks such as {example!r}.")
            table = table[~marks].reset_index(drop=True)
    repeated = np.ones(len(table), dtype=bool)
    for name in table.columns:
        if table[name].dtype.kind in "biufmM" or not repeated.any():
            return table
        repeated &= (table[name].astype(object) == name).to_numpy(dtype=bool, na_value=False)
    if repeated.any():
        notes.append(f"Dropped {int(repeated.sum())} rows that say the header again.")
        table = table[~repeated].reset_index(drop=True)
    return table


def write_table(table: pd.DataFrame, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write CSV or Parquet, as the name says, complete or not at all."""
    file = usable_path(path)
    kind = _written_format(file)
    if kind == "parquet":
        require_pyarrow(file)
    with new_file(file, overwrite=overwrite) as draft:
        opened = gzip.open if file.suffix.lower() == ".gz" else open
        with opened(draft, "wb") as stream:
            if kind == "parquet":
                table.to_parquet(stream, index=False)
            else:
                table.to_csv(stream, index=False, sep=delimiter_of(file, None))


def check_table_path(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse before long work what `write_table` would refuse after it."""
    file = usable_path(path)
    _written_format(file)
    check_free_file(file, overwrite=overwrite)


def _written_format(file: Path) -> Format:
    kind = table_format(file)
    if kind == "excel":
        raise InputError(
            f"{file} would be a workbook, which is only read. Name a .csv or .parquet."
        )
    return kind


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """A copy in which texts that spreadsheets take for formulas have an apostrophe before them.

    Numbers are left alone. The apostrophe is part of the text for whatever is no spreadsheet, so
    this is asked for and never done unasked.
    """

    def escape(value: Any) -> Any:
        is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
        return f"'{value}" if is_formula else value

    escaped = table.copy()
    for number, kind in enumerate(table.dtypes):
        if kind.kind not in "biufc":
            column = [escape(value) for value in table.iloc[:, number]]
            escaped.isetitem(number, pd.Series(column, index=table.index, dtype=object))
    escaped.columns = [escape(name) for name in table.columns]
    return escaped


class PartWriter:
    """A CSV or Parquet file to which frames with the same columns are appended."""

    def __init__(self, path: Path, kind: Format) -> None:
        self._path, self._kind = path, kind
        self._writer: Any = None

    def __enter__(self) -> PartWriter:
        import pyarrow as pa

        packed = self._path.suffix.lower() == ".gz"
        self._sink = pa.output_stream(str(self._path), compression="gzip" if packed else None)
        return self

    def write(self, frame: pd.DataFrame) -> None:
        import pyarrow as pa
        from pyarrow import csv, parquet

        if self._writer is None:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            self._schema = table.schema.remove_metadata()
            if self._kind == "parquet":
                self._writer = parquet.ParquetWriter(self._sink, self._schema)
            else:
                mark = delimiter_of(self._path, None)
                how = csv.WriteOptions(delimiter=mark, quoting_style="needed")
                self._writer = csv.CSVWriter(self._sink, self._schema, write_options=how)
        table = pa.Table.from_pandas(frame, schema=self._schema, preserve_index=False)
        self._writer.write_table(table)

    def __exit__(self, *failure: object) -> None:
        if self._writer is not None:
            self._writer.close()
        self._sink.close()
