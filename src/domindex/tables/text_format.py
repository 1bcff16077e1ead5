"""How a text file spells its table: what the user says, or what the file itself shows."""

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
from domindex.inputs.columns import number_of, stands_for_none
from domindex.inputs.messages import preview
from domindex.inputs.preparation import BY_COMMAS

DELIMITERS = {"\t": "a tab", ";": "a semicolon", "|": "a bar", ",": "a comma"}
FALLBACK_ENCODING = "cp1252"
"""What a text that is not UTF-8 is taken for: what spreadsheets on Windows write in Europe and
America. Said in a note, for another one reads as well and means other letters."""

_COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_WITH_A_POINT = re.compile(r"[+-]?\d+(\.\d+)?")
_CLEARLY = re.compile(r"[+-]?\d*\.?\d+,(\d{1,2}|\d{4,})([eE][+-]?\d+)?|[+-]?0,\d+")
"""Numbers in which the comma cannot stand between thousands."""


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

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "na": list(self.na)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TextFormat:
        """What `to_dict` gave; InputError or TypeError for anything else."""
        said = {"na": content.get("missing", ()), **content}  # its name in runs of format 1
        said.pop("missing", None)
        return cls(**said)


def encoding_of(head: bytes, given: str | None) -> str:
    """By name, by the mark at the beginning, or UTF-8."""
    if given is not None:
        return "utf-8-sig" if codecs.lookup(given).name == "utf-8" else given
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


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


def with_numbers(
    table: pd.DataFrame, decimal: str | None, texts: set[str]
) -> tuple[pd.DataFrame, list[str]]:
    """The table with columns such as 1,45 or 1,234.50 as numbers, and a word on them.

    A comma stands between thousands where a point was asked for, or where both are in one number;
    before decimals where a comma was asked for, or some column has one that cannot stand between
    thousands. Columns of `texts` are left alone.
    """
    notes: list[str] = []
    spelled = {
        name: given
        for name in table.columns
        if name not in texts and (given := _texts_with_commas(table[name])) is not None
    }
    grouped = [
        name
        for name, given in spelled.items()
        if decimal != ","
        and all(_THOUSANDS.fullmatch(one) or _WITH_A_POINT.fullmatch(one) for one in given)
        and (decimal == "." or any("," in one and "." in one for one in given))
    ]
    if grouped:
        table = table.assign(**{name: _numbers(table[name], ",") for name in grouped})
        notes.append(f"Read commas between thousands: {preview(grouped)}.")
    commas = {
        name: given
        for name, given in spelled.items()
        if name not in grouped and all(_COMMA_NUMBER.fullmatch(one) for one in given)
    }
    clear = [name for name in commas if any(_CLEARLY.fullmatch(one) for one in commas[name])]
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


def _texts_with_commas(column: pd.Series) -> list[str] | None:
    """The different texts of a column, of which some have a comma; None for any other."""
    if column.dtype.kind in "biufmM":
        return None
    given = [value for value in dict.fromkeys(column.tolist()) if not stands_for_none(value)]
    if not all(isinstance(value, str) for value in given):
        return None
    stripped = [value.strip() for value in given]
    return stripped if any("," in value for value in stripped) else None


def _numbers(column: pd.Series, thousands: str) -> list[Any]:
    """Texts as numbers, without what stands between thousands; a comma that is left is a point."""
    return [
        np.nan
        if stands_for_none(value)
        else float(value.strip().replace(thousands, "").replace(",", "."))
        for value in column.tolist()
    ]


def as_missing(table: pd.DataFrame, words: Sequence[str]) -> pd.DataFrame:
    """The table without the values that were said to stand for missing ones."""
    if not words:
        return table
    numbers = [number for word in words if not np.isnan(number := number_of(word))]
    return table.mask(table.isin([*words, *numbers]))
