"""What stands between a request and the page: names it may be reached by, and foreign sites."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domindex.serving.settings import is_loopback

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


@dataclass(frozen=True)
class KnownHosts:
    """The names by which the page may be reached.

    A site of a stranger can point its own name at this machine (DNS rebinding), and a browser then
    takes the page for part of that site. Such requests name the stranger's host: they are refused.

    Attributes
    ----------
    loopback : whether the page is for this machine only. If not, any address in numbers is known:
        it cannot be pointed elsewhere
    names : all others that are known
    """

    loopback: bool
    names: frozenset[str]

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

    Browsers say so of everything that is posted. What says nothing is a program, which needs no
    user's browser to reach the page.
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
