"""CSV, Parquet and Excel from files and back, with notes on whatever had to be repaired."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.inputs.columns import number_of, stands_for_none
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.preparation import BY_COMMAS, count_columns
from domindex.persistence.atomic import check_free_file, new_file
from domindex.persistence.paths import usable_path
from domindex.progress import Progress

AnyPath = str | os.PathLike[str]
Format = Literal["csv", "parquet", "excel"]
Opener = Callable[[Path], IO[bytes]]

SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    ".parquet": "parquet",
    ".xlsx": "excel",
}
DELIMITERS = {"\t": "a tab", ";": "a semicolon", "|": "a bar", ",": "a comma"}
FALLBACK_ENCODING = "cp1252"
"""What bytes that are not UTF-8 are taken for, with a note: spreadsheets on Windows write it."""

DAMAGE = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError),
    *(NotImplementedError, AssertionError, SyntaxError),
)
"""What pyarrow, pandas and openpyxl raise on metadata of a file that make no sense."""

STRAY_BYTES = "domindex-stray-bytes"


def _as_fallback(error: UnicodeError) -> tuple[str, int]:
    """Only the bytes that are not UTF-8 in the fallback; all around them stays as it is."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode(FALLBACK_ENCODING, "replace"), error.end


codecs.register_error(STRAY_BYTES, _as_fallback)

CONFINED: ContextVar[Callable[..., tuple[pd.DataFrame, tuple[str, ...]]] | None]
CONFINED = ContextVar("confined", default=None)
"""What reads files instead of this process, where they are not trusted."""

_COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*\.?\d+,(\d{1,2}|\d{4,})([eE][+-]?\d+)?|[+-]?0,\d+")
"""Numbers in which the comma cannot stand between thousands."""

_NO_NAME = re.compile(r"Unnamed: \d|__index_level_\d+__$")
"""What pandas calls columns that have no name."""

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_EXACT_FLOATS: dict[str, Any] = {"float_precision": "round_trip"} if _PANDAS < (3, 1) else {}


@dataclass(frozen=True)
class TextFormat:
    """What the user says of a text file; what is None is found from the file.

    Attributes
    ----------
    delimiter : between the columns
    decimal : "." or ",", before the decimals of a number
    encoding : of the text, by a name that Python knows
    na : words that stand for a missing value in all columns, such as -200

    Examples
    --------
    >>> TextFormat(delimiter=";", decimal=",").decimal
    ','
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: Sequence[str] = field(default=(), metadata=BY_COMMAS)

    def __post_init__(self) -> None:
        for name in ("delimiter", "decimal", "encoding"):
            said = getattr(self, name)
            if not (said is None or isinstance(said, str)):
                raise InputError(f"{name} is {said!r:.80}. Pass a text, or None to have it found.")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"The decimal sign is {self.decimal!r:.80}. Choose '.' or ','.")
        try:
            encoding = "utf-8" if self.encoding is None else self.encoding
            is_known = isinstance("a".encode(encoding), bytes)  # base64, for one, is none of texts
        except (LookupError, ValueError):
            is_known = False
        if not is_known:
            raise InputError(
                f"The encoding is {self.encoding!r:.80}, which Python does not know for texts. "
                "Choose one such as utf-8, cp1252, latin-1 or utf-16."
            )
        words = self.na
        if not (isinstance(words, list | tuple) and all(isinstance(word, str) for word in words)):
            raise InputError(
                f"Words that stand for a missing value are {words!r:.80}. Pass a list of texts."
            )

    def over(self, other: TextFormat) -> TextFormat:
        """What is said here, and where nothing is, what `other` says."""
        said = {name: value for name, value in asdict(self).items() if value}
        return TextFormat(**(asdict(other) | said))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TextFormat:
        """What a run holds; InputError or TypeError for anything else."""
        said = {"na": content.get("missing", ()), **content}  # its name in runs of format 1
        said.pop("missing", None)
        return cls(**said)


def read_with_notes(
    path: AnyPath,
    form: TextFormat,
    *,
    texts: Iterable[str] = (),
    labels: Iterable[str] = (),
    open_file: Opener | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table in a file, rows numbered from 0, and a word on whatever had to be guessed.

    Columns in `texts` are read as they are spelled: "01" and "NA" stay what they are. So are
    `labels`, but numbers with a comma among them become numbers. Elsewhere too only an empty field
    is missing: whoever takes a column for numbers decides what NA means.
    """
    file = usable_path(path)
    table_format(file)
    require_file(file)
    if (confined := CONFINED.get()) is not None:
        return confined(file, form, texts, labels)
    return parse_table(file, form, set(texts), set(labels), open_file or Progress().open_file)


def parse_table(
    file: Path, form: TextFormat, named: set[str], labels: set[str], open_file: Opener
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """As `read_with_notes`, of a file by that name that `open_file` opens."""
    kind, notes = table_format(file), list[str]()
    if kind == "csv":
        table, header, notes = _read_csv(file, open_file, form, named | labels)
    else:
        with open_file(file) as stream:
            read = _read_parquet if kind == "parquet" else _read_excel
            table, header = read(file, _unpacked(file, stream))
        table = table.mask(table.isin([*form.na, *_numbers_among(form.na)])) if form.na else table
    if kind != "parquet":
        table, said = with_numbers(table, form.decimal, named)
        notes += said
        if said:  # words for nothing that were spelled with a comma, such as -200,0
            table = table.mask(table.isin(_numbers_among(form.na)))
    table = _without_debris(table, header, named | labels, notes)
    if not len(table):
        raise InputError(f"{file} has a header and no rows. Check the export that wrote it.")
    return table, tuple(notes)


def _numbers_among(words: Iterable[str]) -> list[float]:
    return [number for word in words if not np.isnan(number := number_of(word))]


@dataclass(frozen=True)
class Header:
    """Names of columns that can be used: none empty, none twice, no blanks around them."""

    names: list[str]
    nameless: list[str]  # those that had none, and are called by their place
    again: dict[str, str]  # those that had the name of another, with that name

    @classmethod
    def of(cls, spelled: Iterable[str]) -> Header:
        """The names as a file has them."""
        plain = [" ".join(name.split()) if name.strip() != name else name for name in spelled]
        plain = ["" if _NO_NAME.match(name) else name for name in plain]
        names, nameless, again = list[str](), list[str](), dict[str, str]()
        taken = set(plain)
        for number, name in enumerate(plain, start=1):
            first = name or f"column {number}"
            found, count = first, 1
            while found in names or (found in taken and (count > 1 or not name)):
                count += 1
                found = f"{first} ({count})"
            names.append(found)
            if not name:
                nameless.append(found)
            elif found != name:
                again[found] = name
        return cls(names, nameless, again)


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


def _unpacked(file: Path, stream: IO[bytes]) -> Any:
    return gzip.GzipFile(fileobj=stream) if file.suffix.lower() == ".gz" else stream


def _read_csv(
    file: Path, open_file: Opener, form: TextFormat, texts: set[str]
) -> tuple[pd.DataFrame, Header, list[str]]:
    """As UTF-8, stray bytes as `FALLBACK_ENCODING`, with a note; or as the user says."""
    try:
        with open_file(file) as stream:
            return _parse_csv(file, _unpacked(file, stream), form, texts)
    except UnicodeDecodeError as error:
        wrong = error
    with open_file(file) as stream:
        stray, count = _stray_bytes(file, _unpacked(file, stream)), 0
        if form.encoding is None and stray is not None:
            line, first, count = stray
    if not count:
        raise InputError(
            f"{file} is not {form.encoding or 'UTF-8'} text (byte {wrong.start} is "
            f"{wrong.object[wrong.start]:#x}). Name its encoding (--encoding), or save it again as "
            "UTF-8."
        )
    with open_file(file) as stream:
        unpacked = _unpacked(file, stream)
        table, header, notes = _parse_csv(file, unpacked, form, texts, STRAY_BYTES)
    shown = first.decode("utf-8", STRAY_BYTES)
    bytes_of = "1 line" if count == 1 else f"{count} lines"
    note = (
        f"{file.name} is not UTF-8 in {bytes_of}, the first is line {line}: byte {first[0]:#x} is "
        f"read as {shown!r}, as {FALLBACK_ENCODING} has it. Pass --encoding if names look wrong."
    )
    return table, header, [note, *notes]


def _stray_bytes(file: Path, stream: IO[bytes]) -> tuple[int, bytes, int] | None:
    """The first line that is not UTF-8, its bytes that are not, and how many such lines there are;
    None where the file cannot be gone through."""
    found, count = (0, b""), 0
    try:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                count += 1
                found = found if found[0] else (number, line[error.start : error.end])
    except (OSError, EOFError, zlib.error):
        return None
    return (*found, count)


def _parse_csv(
    file: Path, stream: IO[bytes], form: TextFormat, texts: set[str], errors: str = "strict"
) -> tuple[pd.DataFrame, Header, list[str]]:
    buffered = io.BufferedReader(stream, 2**20)  # type: ignore[type-var]
    try:
        head = buffered.peek(2**16)
        encoding = _encoding_of(head, form.encoding)
        columns, delimiter, notes = _check_header(file, head, form, encoding)
        header = Header.of(columns)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                buffered,
                sep=delimiter,
                encoding=encoding,
                encoding_errors=errors,
                header=0,
                names=header.names,
                index_col=False,
                keep_default_na=False,
                na_values=["", *form.na],
                dtype={name: str for name in header.names if name in texts},
                skipinitialspace=len(columns) > 1 and all(n.startswith(" ") for n in columns[1:]),
                low_memory=False,
                **_EXACT_FLOATS,
            )
        return table, header, notes
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


def _encoding_of(head: bytes, given: str | None) -> str:
    """By name, by the mark at the beginning, or UTF-8."""
    if given is not None:
        return "utf-8-sig" if codecs.lookup(given).name == "utf-8" else given
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def _check_header(
    file: Path, head: bytes, form: TextFormat, encoding: str
) -> tuple[list[str], str, list[str]]:
    """Names of the columns as they are spelled, what stands between them, and a note on that."""
    if not head.strip():
        raise InputError(f"{file} is empty. Check the export that wrote it.")
    if b"\0" in head and encoding != "utf-16":
        raise InputError(
            f"{file} is not a text file, whatever its name says. Export the table as CSV."
        )
    text = head.decode(encoding, errors="ignore" if encoding == "utf-16" else STRAY_BYTES)

    def split(delimiter: str) -> list[str]:
        options: Any = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
        first = pd.read_csv(io.StringIO(text), sep=delimiter, engine="c", **options)
        return [str(name) for name in first.iloc[0]]

    delimiter, notes = delimiter_of(file, form.delimiter), []
    columns = split(delimiter)
    other = likely_delimiter(columns[0]) if len(columns) == 1 and form.delimiter is None else None
    if other is not None:
        delimiter, columns = other, split(other)
        notes = [f"Read {file.name} with {DELIMITERS[other]} between its columns."]
    return columns, delimiter, notes


def delimiter_of(file: Path, given: str | None) -> str:
    """As it was said, or as the name says: a comma, a tab in .tsv."""
    if given is None:
        return "\t" if ".tsv" in [suffix.lower() for suffix in file.suffixes] else ","
    named = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(named) != 1 or named in '"\r\n':
        raise InputError(f"The delimiter is {given!r}. Pass one character, such as ';' or '\\t'.")
    return named


def likely_delimiter(header: str) -> str | None:
    """What stands between the columns of a header that was read as one; None for nothing."""
    best = max(DELIMITERS, key=header.count)
    return best if best in header else None


def _read_excel(file: Path, stream: IO[bytes]) -> tuple[pd.DataFrame, Header]:
    if find_spec("openpyxl") is None:
        raise InputError(
            f"{file} is a workbook, which needs openpyxl. Install it "
            "(pip install 'domindex[excel]'), or export the sheet as CSV."
        )
    with _damage_said(f"{file} is not a whole workbook", "Save it again as .xlsx."):
        content = io.BytesIO(stream.read())
        with pd.ExcelFile(content, engine="openpyxl") as book:
            header = pd.read_excel(book, header=None, nrows=1, dtype=str, keep_default_na=False)
            table = pd.read_excel(book, keep_default_na=False, na_values=[""])
    if not len(header):
        raise InputError(f"{file} is empty: its first sheet holds nothing. Put the table there.")
    first, names = header.iloc[0].astype(str).tolist(), [str(name) for name in table.columns]
    found = Header.of(first if len(first) == len(names) else names)
    return table.set_axis(found.names, axis=1), found


def _read_parquet(file: Path, stream: IO[bytes]) -> tuple[pd.DataFrame, Header]:
    require_pyarrow(file)
    from pyarrow import ArrowException, parquet

    what, advice = f"{file} is not a whole Parquet file", "Copy or export it again."
    with _damage_said(what, advice, ArrowException):
        content = io.BytesIO(stream.read())
        if not content.getbuffer().nbytes:
            raise InputError(f"{file} is empty. Check the export that wrote it.")
        read = parquet.read_table(content)
        names = [str(name) for name in read.schema.names]
        if Header.of(names).names != names:  # what pandas wrote beside them speaks of other names
            read = read.replace_schema_metadata(None).rename_columns(Header.of(names).names)
        table = read.to_pandas()
    if any(name is not None for name in table.index.names):
        table, names = table.reset_index(), []
    header = Header.of(names if len(names) == table.shape[1] else map(str, table.columns))
    return table.set_axis(header.names, axis=1).reset_index(drop=True), header


@contextmanager
def _damage_said(what: str, advice: str, *more: type[Exception]) -> Iterator[None]:
    """Whatever readers raise on a damaged file as one error."""
    kinds: tuple[type[Exception], ...]
    kinds = (OSError, EOFError, zlib.error, zipfile.BadZipFile, *DAMAGE, *more)
    try:
        yield
    except InputError:
        raise
    except kinds as error:
        raise InputError(f"{what} ({_short(error)}). {advice}") from None


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
    """Refuse names that cannot be used, of tables that are read in parts."""
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


def with_numbers(
    table: pd.DataFrame, decimal: str | None, texts: set[str]
) -> tuple[pd.DataFrame, list[str]]:
    """The table with columns such as 1,45 or 1,234.50 as numbers, but `texts`, and a word on them.

    A comma stands between thousands where a point is asked for, or both are in one number; before
    decimals where a comma is asked for, or some column has one that cannot be between thousands.
    """
    notes: list[str] = []
    spelled = {name: _texts_with_commas(table[name]) for name in table.columns if name not in texts}
    grouped = [
        name
        for name, given in spelled.items()
        if given
        and decimal != ","
        and all(_THOUSANDS.fullmatch(one) for one in given)
        and (decimal == "." or any("," in one and "." in one for one in given))
    ]
    if grouped:
        table = table.assign(**{name: _numbers(table[name], ",") for name in grouped})
        notes.append(f"Read commas between thousands: {preview(grouped)}.")
    commas = {
        name: given
        for name, given in spelled.items()
        if given and name not in grouped and all(_COMMA_NUMBER.fullmatch(one) for one in given)
    }
    clear = [name for name in commas if any(_DECIMAL_COMMA.fullmatch(one) for one in commas[name])]
    if decimal == "." and clear:
        notes.append(
            f"Took numbers with a comma for texts, for the decimal sign is to be a point: "
            f"{preview(clear)}. Pass --decimal ',' if they are numbers."
        )
    if decimal == "." or not commas:
        return table, notes
    if decimal is None and not clear:
        name, given = next(iter(commas.items()))
        shown = preview([value for value in given if "," in value], 2)
        raise InputError(
            f"Column {name!r} holds numbers such as {shown}, in which the comma may stand before "
            "decimals or between thousands. Say which: --decimal ',' or --decimal '.'."
        )
    notes.append(f"Read decimal commas as numbers: {preview(commas)}.")
    return table.assign(**{name: _numbers(table[name], ".") for name in commas}), notes


def _texts_with_commas(column: pd.Series) -> list[str]:
    """The different texts of a column, of which some have a comma; nothing for any other."""
    if column.dtype.kind in "biufmM":
        return []
    given = [value for value in dict.fromkeys(column.tolist()) if not stands_for_none(value)]
    if not all(isinstance(value, str) for value in given):
        return []
    return [value.strip() for value in given] if any("," in value for value in given) else []


def _numbers(column: pd.Series, thousands: str) -> list[float]:
    """Texts as numbers, without what stands between thousands; a comma that is left is a point."""
    return [
        np.nan
        if stands_for_none(value)
        else float(value.strip().replace(thousands, "").replace(",", "."))
        for value in column.tolist()
    ]


def _without_debris(
    table: pd.DataFrame, header: Header, texts: set[str], notes: list[str]
) -> pd.DataFrame:
    """The table without what is no part of it, with a note on each."""
    is_empty = [name for name in header.nameless if table[name].isna().all()]
    counters = [name for name in header.nameless if _counts_rows(table[name])]
    same = [name for name, first in header.again.items() if table[name].equals(table[first])]
    table = table.drop(columns=[*is_empty, *counters, *same])
    numbered = [name for name in header.again if name not in same]
    named = [name for name in header.nameless if name in table]
    if is_empty:
        notes.append(f"Dropped {count_columns(is_empty)} without a name or a value.")
    if counters:
        notes.append(f"Dropped {count_columns(counters)} without a name: row numbers.")
    if same:
        notes.append(f"Dropped copies of columns of the same name: {preview(same)}.")
    if numbered:
        notes.append(f"Numbered columns that have the name of another: {preview(numbered)}.")
    if named:
        notes.append(f"Columns without a name are called by their place: {preview(named)}.")
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


def _counts_rows(column: pd.Series) -> bool:
    """Whether it holds whole numbers, every one another: the index of a data frame."""
    numbers = pd.to_numeric(column, errors="coerce")
    whole = not numbers.isna().any() and bool((np.mod(numbers, 1) == 0).all())
    return whole and bool(numbers.is_unique)


def _without_lines(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Without lines of =======, left by a merge, and without headers of files put together."""
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
        repeated &= np.array([isinstance(v, str) and v == name for v in table[name].tolist()])
    if repeated.any():
        notes.append(f"Dropped {int(repeated.sum())} rows that say the header again.")
        table = table[~repeated].reset_index(drop=True)
    return table


def check_table_path(path: AnyPath | None, *, overwrite: bool) -> None:
    """Refuse before long work what `write_table` would refuse after it; None is no file."""
    if path is not None:
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


def write_table(table: pd.DataFrame, path: AnyPath, *, overwrite: bool) -> None:
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


@contextmanager
def write_parts(path: AnyPath, *, overwrite: bool) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write CSV or Parquet like `write_table`, of frames with the same columns one by one."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    file = usable_path(path)
    packed = "gzip" if file.suffix.lower() == ".gz" else None
    with new_file(file, overwrite=overwrite) as draft, ExitStack() as opened:
        sink = opened.enter_context(pa.output_stream(str(draft), compression=packed))
        writer: Any = None
        schema: Any = None

        def write(frame: pd.DataFrame) -> None:
            nonlocal writer, schema
            if writer is None:
                schema = pa.Table.from_pandas(frame, preserve_index=False).schema.remove_metadata()
                if table_format(file) == "parquet":
                    writer = parquet.ParquetWriter(sink, schema)
                else:
                    mark = delimiter_of(file, None)
                    how = csv.WriteOptions(delimiter=mark, quoting_style="needed")
                    writer = csv.CSVWriter(sink, schema, write_options=how)
                opened.enter_context(writer)
            writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))

        yield write


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """A copy with an apostrophe before texts that spreadsheets take for formulas."""

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
