"""CSV and Parquet from files and back, plain or gzipped, with a word on whatever is wrong."""

from __future__ import annotations

import gzip
import io
import os
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Literal

import pandas as pd

from domindex.data.messages import did_you_mean, preview
from domindex.errors import InputError
from domindex.persistence.atomic import check_free_file, new_file

Format = Literal["csv", "parquet"]
Opener = Callable[[Path], IO[bytes]]

SUFFIXES: dict[str, Format] = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet"}
DELIMITERS = {"\t": "a tab", ";": "a semicolon", "|": "a bar", " ": "a space"}

DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)
"""What pyarrow and pandas raise on metadata of a Parquet file that make no sense."""

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
EXACT_FLOATS: dict[str, Any] = {"float_precision": "round_trip"} if _PANDAS < (3, 1) else {}
"""What makes pandas read the very number that was written; from 3.1 on it does so unasked."""


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    texts: Iterable[str] = (),
    open_file: Opener | None = None,
) -> pd.DataFrame:
    """The table in a file, columns named by texts, rows numbered from 0.

    Parameters
    ----------
    path : .csv, .tsv, .txt or .parquet, each also with .gz behind it
    delimiter : between the columns of a text file; a comma where None, a tab in .tsv
    texts : columns to be read as they are spelled: "01" and "NA" stay what they are
    open_file : how to open the file, for a progress bar

    Only an empty field counts as missing here. A word such as NA is read as a text, and whoever
    takes the column for numbers decides what it means.
    """
    file = Path(path).expanduser()
    kind = table_format(file)
    require_file(file)
    with (open_file or _open)(file) as stream:
        content: IO[bytes] = stream
        if file.suffix.lower() == ".gz":
            content = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
        table = (
            _read_parquet(file, content)
            if kind == "parquet"
            else _read_csv(file, content, delimiter_of(file, delimiter), set(texts))
        )
    if not len(table):
        raise InputError(f"{file} has a header and no rows. Check the export that wrote it.")
    return table


def write_table(table: pd.DataFrame, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write CSV or Parquet, as the name says, complete or not at all."""
    file = Path(path).expanduser()
    kind = table_format(file)
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
    file = Path(path).expanduser()
    table_format(file)
    check_free_file(file, overwrite=overwrite)


def table_format(path: Path) -> Format:
    """CSV or Parquet, by the name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if not suffixes or suffixes[-1] not in SUFFIXES:
        raise InputError(
            f"{path} does not say what it is: names end in {', '.join(SUFFIXES)}, with or without "
            ".gz. Rename it, or export the table as CSV or Parquet."
        )
    return SUFFIXES[suffixes[-1]]


def require_columns(columns: Iterable[str], names: Sequence[str], role: str) -> None:
    """All of `names` are columns; the first that is not is reported with the nearest one."""
    known = list(columns)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(
                f"There is no column {name!r} for the {role}; there are "
                f"{preview(known, 12)}. {hint or 'Spell it as in the header.'}"
            )


def _read_csv(file: Path, stream: IO[bytes], delimiter: str, texts: set[str]) -> pd.DataFrame:
    buffered = io.BufferedReader(stream, 2**20)  # type: ignore[type-var]
    try:
        head = buffered.peek(2**16)
        columns = _check_header(file, head, delimiter)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                buffered,
                sep=delimiter,
                encoding="utf-8-sig",
                index_col=False,
                keep_default_na=False,
                na_values=[""],
                dtype={name: str for name in columns if name in texts},
                low_memory=False,
                **EXACT_FLOATS,
            )
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is not UTF-8 text (byte {error.start} is {error.object[error.start]:#x}). "
            "Save it again as UTF-8."
        ) from None
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


def _check_header(file: Path, head: bytes, delimiter: str) -> list[str]:
    if not head.strip():
        raise InputError(f"{file} is empty. Check the export that wrote it.")
    if b"\0" in head:
        raise InputError(
            f"{file} is not a text file, whatever its name says. Export the table as CSV."
        )
    first = pd.read_csv(
        io.BytesIO(head),
        sep=delimiter,
        encoding="utf-8-sig",
        encoding_errors="ignore",
        header=None,
        nrows=1,
        dtype=str,
        keep_default_na=False,
        engine="c",
    )
    columns = [str(name) for name in first.iloc[0]]
    if len(columns) == 1:
        _require_delimiter(file, columns[0], delimiter)
    check_names(file, columns)
    return columns


def _require_delimiter(file: Path, header: str, delimiter: str) -> None:
    for other, called in {**DELIMITERS, ",": "a comma"}.items():
        if other != delimiter and other in header:
            spelled = "\\t" if other == "\t" else other
            raise InputError(
                f"{file} has a single column, {header[:60]!r}, which looks like several with "
                f"{called} between them. Pass --delimiter '{spelled}'."
            )


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


def delimiter_of(file: Path, given: str | None) -> str:
    if given is None:
        return "\t" if ".tsv" in [suffix.lower() for suffix in file.suffixes] else ","
    named = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(named) != 1 or named in '"\r\n':
        raise InputError(f"The delimiter is {given!r}. Pass one character, such as ';' or '\\t'.")
    return named


def _short(error: Any) -> str:
    return " ".join(str(error).split())[:160]
