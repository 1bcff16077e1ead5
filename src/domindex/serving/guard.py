"""What of a request is let in: by which name, from which site, how large, as which form."""

from __future__ import annotations

import csv
import ipaddress
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import FormData, Headers, MutableHeaders, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domindex.errors import InputError
from domindex.inputs.messages import readable_name
from domindex.serving.uploads import ServeSettings, Upload, is_loopback
from domindex.tables.reading import SUFFIXES
from domindex.tables.text_format import TextFormat

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; frame-ancestors 'none'; "
    "sandbox allow-scripts allow-downloads allow-modals"
)
"""A report has its scripts inside, and may be a stranger's: it runs in an origin of its own."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": PAGE_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Of every answer that does not say otherwise itself."""


DELIMITERS = {"": None, "comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
DECIMALS = {"": None, "point": ".", "comma": ","}
ENCODINGS = {"": None} | {name: name for name in ("utf-8", "utf-16", "cp1252", "latin-1")}
"""How a text file may be written. Python knows more encodings; crafted input makes some slow."""


@dataclass(frozen=True)
class KnownHosts:
    """The names by which the page may be reached.

    A stranger's site can point its own name at this machine (DNS rebinding); a browser then takes
    the page for part of that site. Such requests name the stranger's host: they are refused.
    Where the page is not for this machine only, any address in numbers is known: nobody can point
    it elsewhere.
    """

    loopback: bool  # whether the page is for this machine only
    names: frozenset[str]  # known besides

    @classmethod
    def of(cls, host: str, loopback: bool, more: Iterable[str]) -> KnownHosts:
        return cls(loopback, frozenset(name.strip().lower() for name in (host, *more)))

    def know(self, header: str | None) -> bool:
        """Whether a Host header, with or without a port, is one of ours."""
        name = _host_name(header or "")
        if not name:
            return False
        if name in self.names or is_loopback(name):
            return True
        return not self.loopback and _is_address(name)


class Guard:
    """Refuses strangers' requests before anything is read, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, known: KnownHosts) -> None:
        self.app, self.known = app, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope["method"], Headers(scope=scope))
        answer = self.app if refusal is None else refusal

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await answer(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        if len(headers.getlist("host")) != 1 or not self.known.know(headers["host"]):
            return PlainTextResponse(
                "This page is not known by that name. Open the address that `domindex serve` "
                "printed, or allow the name (--allow-host).",
                status_code=421,
            )
        if method not in ("GET", "HEAD") and is_foreign(headers):
            return PlainTextResponse(
                "This was sent by another site. Send tables from the page itself, or by a program.",
                status_code=403,
            )
        return None


def is_foreign(headers: Headers) -> bool:
    """Whether a browser says that a request was made by another site.

    Browsers say so of everything that is posted. A request that says nothing comes from a program,
    which needs no user's browser to reach the page.
    """
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != headers["host"].lower()


def _host_name(header: str) -> str:
    """Without the port: `[::1]:8700` is `::1`."""
    text = header.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class UploadTooLarge(MultiPartException):
    """A request that is larger than what is accepted."""


async def receive_upload(request: Request, settings: ServeSettings) -> Upload:
    """The table of a request; `InputError` or `UploadTooLarge` where there is none to take."""
    content_type = request.headers.get("content-type", "")
    if not content_type.lower().startswith("multipart/form-data"):
        raise InputError("Send the table as the field 'table' of a form (multipart/form-data).")
    announced = request.headers.get("content-length", "")
    _check_body(int(announced) if announced.isdecimal() else 0, settings)
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
    file = form.get("table")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InputError("There is no table. Choose a file, or send one as the field 'table'.")
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


async def _bounded(request: Request, settings: ServeSettings) -> AsyncGenerator[bytes, None]:
    """The body of a request, as long as it is not too large."""
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        _check_body(size, settings)
        yield chunk


def _check_body(size: int, settings: ServeSettings) -> None:
    if size > settings.max_body:
        raise UploadTooLarge(
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
