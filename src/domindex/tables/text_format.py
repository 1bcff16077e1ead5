"""How a text file spells its table: what was said, and what can be told from the file itself."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.inputs.columns import stands_for_none
from domindex.inputs.messages import preview
from domindex.inputs.names import is_missing
from domindex.inputs.preparation import BY_COMMAS

DELIMITERS = {"\t": "a tab", ";": "a semicolon", "|": "a bar", ",": "a comma"}
FALLBACK_ENCODING = "cp1252"
"""What a text that is not UTF-8 is taken for: what spreadsheets on Windows write in Europe and
America. Said in a note, for another one reads as well and means other letters."""

_BYTE_ORDERS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_WITH_A_POINT = re.compile(r"[+-]?\d+(\.\d+)?")
_CLEARLY = re.compile(r"[+-]?\d*\.?\d+,(\d{1,2}|\d{4,})([eE][+-]?\d+)?|[+-]?0,\d+")
"""Numbers in which the comma cannot stand between thousands."""


@dataclass(frozen=True)
class TextFormat:
    """What was said of a text file; what is None is told from the file.

    Attributes
    ----------
    delimiter : between the columns
    decimal : "." or ",", before the decimals of a number
    encoding : of the text, by a name that Python knows
    na : words that stand for a missing value in all columns, such as -200

    Examples
    --------
    >>> from domindex.tables import TextFormat
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
                raise InputError(f"{name} is {said!r:.80}. Pass a text, or None to have it told.")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"The decimal sign is {self.decimal!r:.80}. Choose '.' or ','.")
        if self.encoding is not None and not _is_text_encoding(self.encoding):
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
        return TextFormat(
            self.delimiter or other.delimiter,
            self.decimal or other.decimal,
            self.encoding or other.encoding,
            self.na or other.na,
        )

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "na": list(self.na)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TextFormat:
        """What `to_dict` gave; InputError or TypeError for anything else."""
        words = content.get("na", content.get("missing", ()))  # its name in runs of format 1
        said = {name: value for name, value in content.items() if name != "missing"}
        return cls(**{**said, "na": words})


def _is_text_encoding(name: str) -> bool:
    """Whether Python knows it, and it makes bytes of texts: base64, for one, does not."""
    try:
        return isinstance("a".encode(name), bytes)
    except (LookupError, ValueError):
        return False


def encoding_of(head: bytes, given: str | None) -> str:
    """By name, by the mark at the beginning, or UTF-8."""
    if given is not None:
        return "utf-8-sig" if codecs.lookup(given).name == "utf-8" else given
    return next((name for mark, name in _BYTE_ORDERS.items() if head.startswith(mark)), "utf-8-sig")


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
    counts = {mark: header.count(mark) for mark in DELIMITERS}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else None


def with_decimals(
    table: pd.DataFrame, decimal: str | None, texts: set[str]
) -> tuple[pd.DataFrame, list[str]]:
    """The table with columns such as 1,45 as numbers, and the names of these columns.

    Texts are such numbers where all of a column are, and where a comma was asked for or some
    column has one that cannot stand between thousands.
    """
    if decimal == ".":
        return table, []
    spelled = {
        name: given
        for name in table.columns
        if name not in texts and (given := _comma_numbers(table[name])) is not None
    }
    if not spelled:
        return table, []
    clear = decimal == "," or any(
        _CLEARLY.fullmatch(value) for given in spelled.values() for value in given
    )
    if not clear:
        name, given = next(iter(spelled.items()))
        shown = preview([value for value in given if "," in value], 2)
        raise InputError(
            f"Column {name!r} holds numbers such as {shown}, in which the comma may stand before "
            "decimals or between thousands. Say which: --decimal ',' or --decimal '.'."
        )
    changed = {name: [_point(value) for value in table[name].tolist()] for name in spelled}
    return table.assign(**changed), list(spelled)


def with_thousands(
    table: pd.DataFrame, decimal: str | None, texts: set[str]
) -> tuple[pd.DataFrame, list[str]]:
    """The table with columns such as 1,234.50 as numbers, and the names of these columns.

    A comma stands between thousands where a point was asked for, or where both are in one number.
    """
    if decimal == ",":
        return table, []
    found = [
        name
        for name in table.columns
        if name not in texts
        and (given := _texts_with_commas(table[name])) is not None
        and all(_THOUSANDS.fullmatch(one) or _WITH_A_POINT.fullmatch(one) for one in given)
        and (decimal == "." or any("," in one and "." in one for one in given))
    ]
    changed = {name: [_without_commas(value) for value in table[name].tolist()] for name in found}
    return table.assign(**changed), found


def _without_commas(value: object) -> object:
    if not isinstance(value, str):
        return np.nan if is_missing(value) else value
    return np.nan if stands_for_none(value) else float(value.strip().replace(",", ""))


def numbers_with_commas(table: pd.DataFrame, texts: set[str]) -> list[str]:
    """Columns that would be numbers if a comma stood before decimals."""
    return [
        name
        for name in table.columns
        if name not in texts
        and (given := _comma_numbers(table[name])) is not None
        and any(_CLEARLY.fullmatch(value) for value in given)
    ]


def _comma_numbers(column: pd.Series) -> list[str] | None:
    """The different texts of a column of numbers with commas; None for any other."""
    stripped = _texts_with_commas(column)
    if stripped is None or not all(_COMMA_NUMBER.fullmatch(value) for value in stripped):
        return None
    return stripped


def _texts_with_commas(column: pd.Series) -> list[str] | None:
    """The different texts of a column, of which some have a comma; None for any other."""
    if column.dtype.kind in "biufmM":
        return None
    given = [value for value in dict.fromkeys(column.tolist()) if not stands_for_none(value)]
    if not all(isinstance(value, str) for value in given):
        return None
    stripped = [value.strip() for value in given]
    return stripped if any("," in value for value in stripped) else None


def _point(value: object) -> object:
    if not isinstance(value, str):
        return np.nan if is_missing(value) else value
    if stands_for_none(value):
        return np.nan
    return float(value.strip().replace(".", "").replace(",", "."))


def as_missing(table: pd.DataFrame, words: Sequence[str]) -> pd.DataFrame:
    """The table without the values that were said to stand for missing ones."""
    if not words:
        return table
    numbers = [float(word) for word in words if _is_number(word)]
    return table.mask(table.isin([*words, *numbers]))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
