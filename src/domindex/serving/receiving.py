"""A table out of a request, bounded while it comes in."""

from __future__ import annotations

import csv
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from domindex.errors import InputError
from domindex.inputs.messages import readable_name
from domindex.serving.settings import ServeSettings
from domindex.serving.uploads import Upload
from domindex.tables.reading import SUFFIXES
from domindex.tables.text_format import TextFormat

TABLE = "table"
"""The field of the form that holds the file."""

DELIMITERS = {"": None, "comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
DECIMALS = {"": None, "point": ".", "comma": ","}
ENCODINGS = {
    "": None,
    "utf-8": "utf-8",
    "utf-16": "utf-16",
    "cp1252": "cp1252",
    "latin-1": "latin-1",
}
"""What may be said of a text file. Python knows more, some of them slow on purpose-made input."""


class UploadTooLarge(MultiPartException):
    """A request that is larger than what is taken."""


async def receive_upload(request: Request, settings: ServeSettings) -> Upload:
    """The table of a request; raises `InputError`, or `UploadTooLarge`, for what is none."""
    content_type = request.headers.get("content-type", "")
    if not content_type.lower().startswith("multipart/form-data"):
        raise InputError(f"Send the table as the field {TABLE!r} of a form (multipart/form-data).")
    _check_announced(request.headers.get("content-length"), settings)
    parser = MultiPartParser(
        request.headers, _bounded(request, settings), max_files=1, max_fields=10
    )
    try:
        with anyio.fail_after(settings.upload_seconds):
            form = await parser.parse()
    except UploadTooLarge:
        raise
    except MultiPartException as error:
        raise InputError(f"The form cannot be read ({error.message}) Send it again.") from None
    except TimeoutError:
        raise InputError(
            f"The table took over {settings.upload_seconds:g} seconds to arrive. Send it again."
        ) from None
    try:
        return _upload(form)
    except InputError:
        await form.close()
        raise


def _upload(form: FormData) -> Upload:
    file = form.get(TABLE)
    if not isinstance(file, UploadFile) or not file.filename:
        raise InputError(f"There is no table. Choose a file, or send one as the field {TABLE!r}.")
    name = file.filename.replace("\\", "/").rpartition("/")[2]
    return Upload(
        name=readable_name(name),
        suffix=_suffix(name),
        content=file.file,
        form=TextFormat(
            _chosen(form, "delimiter", DELIMITERS),
            _chosen(form, "decimal", DECIMALS),
            _chosen(form, "encoding", ENCODINGS),
        ),
        keep=_names(str(form.get("keep") or "")),
        escape=bool(form.get("escape")),
    )


def _check_announced(length: str | None, settings: ServeSettings) -> None:
    if length is not None and length.isdigit() and int(length) > settings.max_body:
        raise too_large(settings)


async def _bounded(request: Request, settings: ServeSettings) -> AsyncGenerator[bytes, None]:
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > settings.max_body:
            raise too_large(settings)
        yield chunk


def too_large(settings: ServeSettings) -> UploadTooLarge:
    return UploadTooLarge(
        f"The table is larger than {settings.max_upload:g} MB. Allow more (domindex serve "
        "--max-upload MB), or predict it with `domindex predict`, which takes any size."
    )


def _suffix(name: str) -> str:
    """One of ours, as the name says; packed tables are refused, for they may be of any size."""
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{readable_name(name)} does not say what it is: names end in {', '.join(SUFFIXES)}. "
            "Rename it, unpack it, or export the table as CSV or Parquet."
        )
    return suffix


def _chosen(form: FormData, field: str, choices: dict[str, str | None]) -> str | None:
    given = str(form.get(field) or "")
    if given not in choices:
        known = ", ".join(repr(name) for name in choices if name)
        raise InputError(f"{field} is {given[:40]!r}. Choose one of {known}, or nothing.")
    return choices[given]


def _names(text: str) -> tuple[str, ...]:
    """Names of columns, by commas; in quotes they may hold commas."""
    try:
        rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    except csv.Error as error:
        raise InputError(
            f"Columns to keep cannot be read ({error}). Name them by commas."
        ) from None
    return tuple(name.strip() for row in rows for name in row if name.strip())
