"""JSON files of this library: written readably, and read with a word on what is wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from domindex.errors import InputError
from domindex.persistence.manifest import read_bounded

LARGEST = 256 * 2**20
"""Bytes beyond which a file is not one that this library wrote."""


def write_json(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path, *, form: str, newest: int) -> dict[str, Any]:
    """An object whose "format" is `form`, of a version up to `newest`."""
    text = read_bounded(path, LARGEST)
    try:
        content = json.loads(
            text.decode("utf-8"), parse_constant=_no_number, parse_float=_finite_number
        )
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is damaged: it is not JSON ({error}). Copy the folder again, or write it anew."
        ) from None
    if not isinstance(content, dict) or content.get("format") != form:
        raise InputError(f"{path} is not {form}. Name a folder that domindex wrote.")
    version = content.get("format_version")
    if type(version) is not int or version < 1:
        raise InputError(f"{path} is damaged: its format_version is {version!r}. Write it anew.")
    if version > newest:
        raise InputError(
            f"{path} has format version {version}, and this domindex reads up to {newest}. "
            "Install a newer domindex to open it (pip install --upgrade domindex)."
        )
    return content


def _finite_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    """For what Python reads beyond JSON, and `write_json` never writes."""
    raise ValueError(f"{text:.20} is no number")
