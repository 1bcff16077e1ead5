"""Start and end of the local page."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import Any

from domindex.errors import DomindexError, InputError
from domindex.serving.served_run import ServedRun
from domindex.serving.uploads import ServeSettings, is_loopback
from domindex.tables.run import Run


def serve_run(
    run: Run | str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8700,
    max_upload: float = 50.0,
    allow_hosts: Sequence[str] = (),
    say: Callable[[str], object] | None = None,
) -> None:
    """Serve a run as a local web page until Ctrl-C.

    Parameters
    ----------
    run : a run, or its folder
    host : the address to listen at. There is no password: leave it at loopback, which is reached
        from this machine only, unless all who reach it may use it
    port : the port to listen at; 0 takes a free one
    max_upload : the largest table that is taken, in MB
    allow_hosts : names besides the address itself by which browsers may reach the page
    say : is given each line for the user; standard error where None

    Examples
    --------
    >>> serve_run("run", port=-1)
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    say = say or partial(print, file=sys.stderr, flush=True)
    settings = ServeSettings(host, port, max_upload, allow_hosts=tuple(allow_hosts))
    with _listen(settings.host, settings.port) as listening:
        served = ServedRun.open(run, settings)
        address, bound = listening.getsockname()[:2]
        loopback = is_loopback(address)
        if not loopback:
            say(
                f"warning: {settings.host} is not loopback. Whoever reaches this machine can read "
                "the map and have tables predicted; there is no password, and nothing is encrypted."
            )
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        say(f"Serving {served.run.folder} at http://{shown}:{bound}/ (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            _run(served, settings, listening, loopback)
    say("Stopped.")


def _run(
    served: ServedRun, settings: ServeSettings, listening: socket.socket, loopback: bool
) -> None:
    import uvicorn

    from domindex.serving.app import build_app
    from domindex.serving.guard import KnownHosts

    known = KnownHosts.of(settings.host, loopback, settings.allow_hosts)
    options: dict[str, Any] = {"log_level": "warning", "access_log": False, "lifespan": "off"}
    options |= {"server_header": False, "proxy_headers": False, "ws": "none", "http": "h11"}
    options |= {"timeout_graceful_shutdown": 3, "limit_concurrency": 64}

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            served.ending.set()
            super().handle_exit(sig, frame)

    try:
        Server(uvicorn.Config(build_app(served, known), **options)).run(sockets=[listening])
    finally:
        served.end()


def _listen(host: str, port: int) -> socket.socket:
    """A socket, bound before anything long is done, so that what is in the way is said early."""
    _require_server()
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"There is no address {host!r} to listen at ({error}). Name one of this machine."
        ) from None
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        raise _not_bound(host, port, error) from None
    return listening


def _not_bound(host: str, port: int, error: OSError) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError(
            f"Port {port} is in use. Name another (--port), end what listens there, or pass 0 for "
            "a free one."
        )
    if error.errno == errno.EACCES:
        return InputError(f"Port {port} needs rights that you do not have. Choose one above 1023.")
    return InputError(
        f"{host}:{port} cannot be listened at ({error.strerror}). Name an address of this machine."
    )


def _require_server() -> None:
    needed = ("starlette", "uvicorn", "python_multipart")
    lost = [name for name in needed if find_spec(name) is None]
    if lost:
        raise DomindexError(
            f"Serving needs {', '.join(lost)}, which is not installed. "
            "Install it with: pip install 'domindex[serve]'"
        )
