"""What is answered at which address."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from domindex.errors import DomindexError, InputError
from domindex.serving.asking import Answer, AskedRun, BusyError, EndedError
from domindex.serving.guard import REPORT_POLICY, Guard, KnownHosts
from domindex.serving.page import render_page, script, style, template
from domindex.serving.receiving import UploadTooLarge, receive_upload
from domindex.serving.threads import in_thread
from domindex.serving.uploads import Upload
from domindex.serving.wording import json_values, map_values, page_values, run_values

BAD_TABLE, TOO_LARGE, FAILED, BUSY = 400, 413, 500, 503

FAULT = (
    "The table could not be predicted, by a fault of domindex. The terminal in which it is served "
    "says where."
)

ENDED = "This page is being ended."

Shown = Callable[[Answer, Upload], Response]


def build_app(asked: AskedRun, known: KnownHosts) -> ASGIApp:
    """The page of a run, its report, and the address for programs."""
    pages = Pages(asked)
    routes = [
        Route("/", pages.page, methods=["GET"]),
        Route("/", pages.answer, methods=["POST"]),
        Route("/api/predict", pages.predict, methods=["POST"]),
        Route("/report", pages.report, methods=["GET"]),
        Route("/serve.css", _fixed(style, "text/css"), methods=["GET"]),
        Route("/serve.js", _fixed(script, "text/javascript"), methods=["GET"]),
        Route("/icon.svg", _fixed(lambda: template("icon.svg"), "image/svg+xml"), methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), known)


class Pages:
    """The answers of one run."""

    def __init__(self, asked: AskedRun) -> None:
        self.asked = asked
        self.run, self.map = run_values(asked), map_values(asked)

    async def page(self, request: Request) -> Response:
        """The form and the map."""
        return self._page()

    async def answer(self, request: Request) -> Response:
        """The form, the map, and the predictions of a table, or what is wrong with it."""

        def shown(answer: Answer, upload: Upload) -> Response:
            return self._page(page_values(answer, upload.name))

        return await self._answered(
            request, shown, lambda text, status: self._page(None, text, status)
        )

    async def predict(self, request: Request) -> Response:
        """The predictions of a table for a program, as JSON or CSV."""
        as_csv = request.query_params.get("format") == "csv"

        def shown(answer: Answer, upload: Upload) -> Response:
            if as_csv:
                return Response(answer.predictions.to_csv(index=False), media_type="text/csv")
            return JSONResponse(json_values(answer))

        return await self._answered(
            request, shown, lambda text, status: JSONResponse({"error": text}, status)
        )

    async def report(self, request: Request) -> Response:
        """The report of the run, as the fit wrote it."""
        path: Path | None = self.asked.run.report
        if path is None:
            return Response("This run has no report.", 404, media_type="text/plain")
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return FileResponse(path, media_type="text/html", headers=headers)

    async def _answered(
        self, request: Request, shown: Shown, refused: Callable[[str, int], Response]
    ) -> Response:
        """The answer to a table; errors as text and a code, never as a traceback."""
        try:
            with self.asked.place():
                upload = await receive_upload(request, self.asked.settings)
                asking = partial(self._ask, upload, shown)
                answer = await in_thread(asking, self.asked.ending)
                return refused(ENDED, BUSY) if answer is None else answer
        except ClientDisconnect:
            return Response(status_code=BAD_TABLE)
        except UploadTooLarge as error:
            return refused(error.message, TOO_LARGE)
        except EndedError:
            return refused(ENDED, BUSY)
        except BusyError as error:
            return refused(str(error), BUSY)
        except InputError as error:
            return refused(str(error), BAD_TABLE)
        except DomindexError as error:
            return refused(str(error), FAILED)
        except Exception as error:
            _say_where(error)
            return refused(FAULT, FAILED)

    def _ask(self, upload: Upload, shown: Shown) -> Response:
        """In a thread of its own: predict, and make the answer's text, which may be long."""
        try:
            return shown(self.asked.answer(upload), upload)
        finally:
            upload.content.close()

    def _page(
        self, answer: dict[str, Any] | None = None, error: str | None = None, status: int = 200
    ) -> Response:
        return HTMLResponse(render_page(self.run, self.map, answer, error), status)


def _fixed(text: Callable[[], str], media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        return Response(text(), media_type=media_type)

    return respond


def _say_where(error: Exception) -> None:
    """A fault by its kind and place; its text may hold what stands in a table, and is not said."""
    places = [
        f"{Path(one.filename).name}:{one.lineno}"
        for one in traceback.extract_tb(error.__traceback__)
    ]
    print(f"fault: {type(error).__name__} at {' > '.join(places[-6:])}", file=sys.stderr)
