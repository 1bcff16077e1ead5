"""What of a request is let in (by which name, from which site, how large), and what is answered."""

from __future__ import annotations

import csv
import html
import ipaddress
import math
import re
import sys
import traceback
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import numpy as np
import pandas as pd
from starlette.applications import Starlette
from starlette.datastructures import FormData, Headers, MutableHeaders, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domindex.errors import DomindexError, InputError
from domindex.inputs.messages import readable_name
from domindex.reporting.report import fill_template, join_scripts, safe_json, template
from domindex.serving.served_run import (
    Answer,
    BusyError,
    EndedError,
    ServedRun,
    ServeSettings,
    Upload,
    in_thread,
    is_loopback,
)
from domindex.tables.reading import SUFFIXES, TextFormat

FAULT = (
    "The table could not be predicted, by a fault of domindex. The terminal in which it is served "
    "says where."
)
ENDED = "This page is being ended."

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

HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:/?#@\\\s]+))(?::[0-9]{1,5})?")
"""A Host header: an address in brackets or a name, and a port."""

Values = dict[str, Any]


def build_app(served: ServedRun, hosts: Iterable[str], loopback: bool) -> ASGIApp:
    """The page of a run, its report, and the address for programs; see `Guard` on `hosts`."""
    pages = Pages(served)
    style = f"{template('report.css')}\n{template('serve.css', 'serving')}"
    script = join_scripts("serving", ("elements", "map", "answer", "main"))
    icon = template("icon.svg", "serving")
    routes = [
        Route("/", pages.page, methods=["GET"]),
        Route("/", pages.answer, methods=["POST"]),
        Route("/api/predict", pages.predict, methods=["POST"]),
        Route("/report", pages.report, methods=["GET"]),
        Route("/serve.css", Response(style, media_type="text/css"), methods=["GET"]),
        Route("/serve.js", Response(script, media_type="text/javascript"), methods=["GET"]),
        Route("/icon.svg", Response(icon, media_type="image/svg+xml"), methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), hosts, loopback)


class Pages:
    """The answers of one run."""

    def __init__(self, served: ServedRun) -> None:
        self.served = served
        self.run = _run_values(served)
        n_domains = len(served.map)  # of very many, some are drawn, spread evenly over their order
        drawn = np.unique(np.linspace(0, n_domains - 1, min(n_domains, 3000)).astype(int))
        self.map = _readable(served.map.iloc[drawn])

    async def page(self, request: Request) -> Response:
        return self._page()

    async def answer(self, request: Request) -> Response:
        """The form, the map, and the predictions of a table, or what is wrong with it."""
        return await self._answered(
            request,
            lambda answer, upload: self._page(_page_values(answer, upload.name)),
            lambda text, status: self._page(None, text, status),
        )

    async def predict(self, request: Request) -> Response:
        """The predictions of a table for a program, as JSON or CSV."""
        as_csv = request.query_params.get("format") == "csv"

        def shown(answer: Answer, upload: Upload) -> Response:
            if as_csv:
                return Response(answer.predictions.to_csv(index=False), media_type="text/csv")
            return JSONResponse(_json_values(answer))

        return await self._answered(
            request, shown, lambda text, status: JSONResponse({"error": text}, status)
        )

    async def report(self, request: Request) -> Response:
        """The report of the run, as the fit wrote it."""
        path = self.served.run.report
        if path is None:
            return Response("This run has no report.", 404, media_type="text/plain")
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return FileResponse(path, media_type="text/html", headers=headers)

    async def _answered(
        self,
        request: Request,
        shown: Callable[[Answer, Upload], Response],
        refused: Callable[[str, int], Response],
    ) -> Response:
        """The answer to a table; errors as text and a code, faults by kind and place."""
        try:
            upload = await receive_upload(request, self.served.settings)

            def ask() -> Response:  # makes the answer's text too, which may be long
                return shown(self.served.answer(upload), upload)

            with upload.content, self.served.place():  # taken by what has arrived only
                answer = await in_thread(ask, self.served.ending)
            return refused(ENDED, 503) if answer is None else answer
        except ClientDisconnect:
            return Response(status_code=400)
        except UploadTooLarge as error:
            return refused(error.message, 413)
        except (EndedError, BusyError) as error:
            return refused(str(error) or ENDED, 503)
        except DomindexError as error:
            return refused(str(error), 400 if isinstance(error, InputError) else 500)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)[-6:]
            places = " > ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames)
            # its text may hold what stands in a table, and is not said
            print(f"fault: {type(error).__name__} at {places}", file=sys.stderr)
            return refused(FAULT, 500)

    def _page(
        self, answer: Values | None = None, error: str | None = None, status: int = 200
    ) -> Response:
        """The template, into which everything enters as escaped text or as JSON."""
        alert = f'<p class="warnings" role="alert">{html.escape(error)}</p>' if error else ""
        page = fill_template(
            template("serve.html", "serving"),
            title=html.escape(self.run["title"]),
            error=alert,
            accept=".csv,.tsv,.txt,.parquet,.xlsx",
            limit=f"{self.run['max_upload']:g} MB, {self.run['max_rows']:,} rows",
            data=safe_json({"run": self.run, "map": self.map, "answer": answer}),
        )
        return HTMLResponse(page, status)


def _run_values(served: ServedRun) -> Values:
    """What the page says of the run."""
    run, data = served.run, served.run.about.get("data")
    file = data.get("file") if isinstance(data, dict) else None
    name = file if isinstance(file, str) else run.folder.name
    return {
        "title": readable_name(f"{name}: {', '.join(run.targets)}"),
        "task": served.model.task_,
        "targets": list(run.targets),
        "domain": run.domain,
        "key": run.about.get("key"),
        "inputs": served.model._preparation.names,
        "domains": len(served.map),
        "sources": int(served.map["role"].eq("source").sum()),
        "report": run.report is not None,
        "max_upload": served.settings.max_upload,
        "max_rows": served.settings.max_rows,
    }


def _page_values(answer: Answer, name: str) -> Values:
    """An answer as the page shows it: its first rows and domains, and all of it as CSV."""
    domains, first = answer.domains, answer.predictions.head(20)
    return {
        "file": name,
        "rows": len(answer.predictions),
        "columns": [_text(column) for column in first.columns],
        "first": [[_text(value) for value in row] for row in _rows(first)],
        "csv": answer.predictions.to_csv(index=False),
        "n_domains": len(domains),
        "n_new": int(domains["role"].eq("new").sum()),
        "n_off_map": int(domains["off_map"].sum()),
        "domains": _readable(domains.head(1000)),
        "notes": list(map(_text, answer.notes)),
    }


def _json_values(answer: Answer) -> Values:
    """An answer for a program: everything, and names as they are."""
    domains = answer.domains
    return {
        "rows": len(answer.predictions),
        "predictions": _records(answer.predictions),
        "domains": _records(domains),
        "new_domains": domains.loc[domains["role"] == "new", "domain"].tolist(),
        "off_map": domains.loc[domains["off_map"], "domain"].tolist(),
        "notes": list(answer.notes),
    }


def _records(table: pd.DataFrame) -> list[Values]:
    return [dict(zip(map(str, table.columns), row)) for row in _rows(table)]


def _rows(table: pd.DataFrame) -> list[list[Any]]:
    """A list a row, of what JSON can hold: what is missing or no finite number is None."""

    def plain(value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or value is pd.NA or value is pd.NaT:
            return None
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        return value if isinstance(value, bool | int | str) else str(value)

    columns = [[plain(value) for value in table.iloc[:, n]] for n in range(table.shape[1])]
    return [list(row) for row in zip(*columns)]


def _text(value: Any) -> Any:
    return readable_name(value) if isinstance(value, str) else value


def _readable(table: pd.DataFrame) -> list[Values]:
    return [{name: _text(value) for name, value in one.items()} for one in _records(table)]


class Guard:
    """Refuses strangers' requests before anything is read, and sets the headers of every answer.

    A stranger's site can point its own name at this machine (DNS rebinding); a browser then takes
    the page for part of that site. Such requests name the stranger's host, which is none of
    `hosts`. Where the page is not for this machine only (`loopback`), any address in numbers is
    known: nobody can point it elsewhere.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], loopback: bool) -> None:
        self.app, self.loopback = app, loopback
        self.hosts = {name.strip().lower() for name in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = self._refusal(scope["method"], Headers(scope=scope)) or self.app

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await answer(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        if len(headers.getlist("host")) != 1 or not self._knows(headers["host"]):
            return PlainTextResponse(
                "This page is not known by that name. Open the address that `domindex serve` "
                "printed, or allow the name (--allow-host).",
                status_code=421,
            )
        if method not in ("GET", "HEAD") and _is_foreign(headers):
            return PlainTextResponse(
                "This was sent by another site. Send tables from the page itself, or by a program.",
                status_code=403,
            )
        return None

    def _knows(self, header: str) -> bool:
        """Whether a Host header, with or without a port, is one of ours."""
        parts = HOST.fullmatch(header.strip().lower())
        if parts is None:
            return False
        name = parts[1] or parts[2]
        if name in self.hosts or is_loopback(name):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return not self.loopback


def _is_foreign(headers: Headers) -> bool:
    """Whether a browser says that another site made a request; programs say nothing."""
    if not {"same-origin", "none"}.issuperset(headers.getlist("sec-fetch-site")):
        return True
    origins = headers.getlist("origin")
    try:
        named = [urlsplit(origin).netloc.lower() for origin in origins]
    except ValueError:
        return True
    return len(named) > 1 or any(name != headers["host"].lower() for name in named)


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
    except (LookupError, ValueError) as error:  # of an encoding that the sender named
        raise InputError(f"The form cannot be read ({error}). Send it as UTF-8.") from None
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
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:  # packed tables too are refused, for they may be of any size
        raise InputError(
            f"{readable_name(name)} does not say what it is: names end in {', '.join(SUFFIXES)}. "
            "Rename it, unpack it, or export the table as CSV or Parquet."
        )
    return Upload(
        name=f"{readable_name(name[: -len(suffix)])}{suffix}",
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
