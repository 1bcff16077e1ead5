"""What is answered at which address: the page, JSON and CSV."""

from __future__ import annotations

import html
import math
import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from domindex.errors import DomindexError, InputError
from domindex.estimators import VDIClassifier
from domindex.inputs.messages import readable_name
from domindex.reporting.report import fill_template, join_scripts, safe_json, template
from domindex.serving.guard import REPORT_POLICY, Guard, KnownHosts, UploadTooLarge, receive_upload
from domindex.serving.served_run import Answer, BusyError, EndedError, ServedRun, in_thread
from domindex.serving.uploads import Upload

FAULT = (
    "The table could not be predicted, by a fault of domindex. The terminal in which it is served "
    "says where."
)
ENDED = "This page is being ended."

Values = dict[str, Any]


def build_app(served: ServedRun, known: KnownHosts) -> ASGIApp:
    """The page of a run, its report, and the address for programs."""
    pages = Pages(served)
    style = f"{template('report.css')}\n{template('serve.css', 'serving')}"
    script = join_scripts("serving", ("elements", "map", "answer", "main"))
    icon = template("icon.svg", "serving")
    routes = [
        Route("/", pages.page, methods=["GET"]),
        Route("/", pages.answer, methods=["POST"]),
        Route("/api/predict", pages.predict, methods=["POST"]),
        Route("/report", pages.report, methods=["GET"]),
        Route("/serve.css", _fixed(style, "text/css"), methods=["GET"]),
        Route("/serve.js", _fixed(script, "text/javascript"), methods=["GET"]),
        Route("/icon.svg", _fixed(icon, "image/svg+xml"), methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), known)


class Pages:
    """The answers of one run."""

    def __init__(self, served: ServedRun) -> None:
        self.served = served
        self.run = _run_values(served)
        self.map = [_readable(record) for record in _records(_thinned(served.map))]

    async def page(self, request: Request) -> Response:
        """The form and the map."""
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
        path: Path | None = self.served.run.report
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
        """The answer to a table; errors as text and a code, never as a traceback."""
        try:
            with self.served.place():
                upload = await receive_upload(request, self.served.settings)

                def ask() -> Response:  # makes the answer's text too, which may be long
                    with upload.content:
                        return shown(self.served.answer(upload), upload)

                answer = await in_thread(ask, self.served.ending)
                return refused(ENDED, 503) if answer is None else answer
        except ClientDisconnect:
            return Response(status_code=400)
        except UploadTooLarge as error:
            return refused(error.message, 413)
        except EndedError:
            return refused(ENDED, 503)
        except BusyError as error:
            return refused(str(error), 503)
        except InputError as error:
            return refused(str(error), 400)
        except DomindexError as error:
            return refused(str(error), 500)
        except Exception as error:
            _say_where(error)
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


def _fixed(text: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        return Response(text, media_type=media_type)

    return respond


def _say_where(error: Exception) -> None:
    """A fault by its kind and place; its text may hold what stands in a table, and is not said."""
    places = [
        f"{Path(one.filename).name}:{one.lineno}"
        for one in traceback.extract_tb(error.__traceback__)
    ]
    print(f"fault: {type(error).__name__} at {' > '.join(places[-6:])}", file=sys.stderr)


def _run_values(served: ServedRun) -> Values:
    """What the page says of the run."""
    run, data = served.run, served.run.about.get("data")
    file = data.get("file") if isinstance(data, dict) else None
    name = file if isinstance(file, str) else served.run.folder.name
    return {
        "title": readable_name(f"{name}: {', '.join(run.targets)}"),
        "task": "classification" if isinstance(served.model, VDIClassifier) else "regression",
        "targets": list(run.targets),
        "domain": run.domain,
        "key": served.key,
        "inputs": served.model._preparation.names,
        "domains": len(served.map),
        "sources": int(served.map["role"].eq("source").sum()),
        "report": served.run.report is not None,
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
        "domains": [_readable(record) for record in _records(domains.head(1000))],
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


def _thinned(table: pd.DataFrame, max_drawn: int = 3000) -> pd.DataFrame:
    """All domains, or of very many a part that is spread evenly over their order."""
    if len(table) <= max_drawn:
        return table
    return table.iloc[np.unique(np.linspace(0, len(table) - 1, max_drawn).astype(int))]


def _records(table: pd.DataFrame) -> list[Values]:
    """A dictionary a row, of what JSON can hold."""
    names = [str(name) for name in table.columns]
    return [dict(zip(names, row)) for row in _rows(table)]


def _rows(table: pd.DataFrame) -> list[list[Any]]:
    """A list a row, of what JSON can hold: what is missing or no finite number is None."""
    columns = [[_plain(value) for value in table.iloc[:, n]] for n in range(table.shape[1])]
    return [list(row) for row in zip(*columns)]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str) else str(value)


def _text(value: Any) -> Any:
    return readable_name(value) if isinstance(value, str) else value


def _readable(record: Values) -> Values:
    return {name: _text(value) for name, value in record.items()}
