"""Start and end of the local page."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import Any

from domindex.errors import DomindexError, InputError
from domindex.serving.served_run import ServedRun, ServeSettings, is_loopback
from domindex.tables.run import Run


def serve_run(
    run: Run | str | os.PathLike[str],
    *,
    say: Callable[[str], object] | None = None,
    **settings: Any,
) -> None:
    """Serve a run as a local web page until Ctrl-C.

    There is no password: leave `host` at loopback, which is reached from this machine only, unless
    all who reach it may use it.

    Parameters
    ----------
    run : a run, or its folder
    say : is given each line for the user; standard error where None
    **settings : fields of `ServeSettings`: host, port, max_upload, allow_hosts, …

    Examples
    --------
    >>> serve_run("run", port=-1)
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    say = say or partial(print, file=sys.stderr, flush=True)
    limits = ServeSettings(**settings)
    host = limits.host
    with _listen(host, limits.port) as listening:
        served = ServedRun.open(run, limits)
        address, bound = listening.getsockname()[:2]
        loopback = is_loopback(address)
        if not loopback:
            say(
                f"warning: {host} is not loopback. Whoever reaches this machine can read "
                "the map and have tables predicted; there is no password, and nothing is encrypted."
            )
        shown = f"[{host}]" if ":" in host else host
        say(f"Serving {served.run.folder} at http://{shown}:{bound}/ (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            _run(served, listening, loopback)
    say("Stopped.")


def _run(served: ServedRun, listening: socket.socket, loopback: bool) -> None:
    import uvicorn

    from domindex.serving.app import KnownHosts, build_app

    known = KnownHosts.of(served.settings.host, loopback, served.settings.allow_hosts)
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
    needed = ("starlette", "uvicorn", "python_multipart")
    lost = [name for name in needed if find_spec(name) is None]
    if lost:
        raise DomindexError(
            f"Serving needs {', '.join(lost)}, which is not installed. "
            "Install it with: pip install 'domindex[serve]'"
        )
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
        reasons = {
            errno.EADDRINUSE: f"Port {port} is in use. Name another (--port), end what listens "
            "there, or pass 0 for a free one.",
            errno.EACCES: f"Port {port} needs rights that you do not have. Choose one above 1023.",
        }
        other = f"{host}:{port} cannot be listened at ({error.strerror}). "
        other += "Name an address of this machine."
        raise InputError(reasons.get(error.errno or 0, other)) from None
    return listening
