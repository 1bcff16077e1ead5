"""Work beside the page, which must not keep it from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")

GLANCE = 0.2
"""Seconds between two looks at whether the page is being ended."""


async def in_thread(work: Callable[[], Result], ending: threading.Event) -> Result | None:
    """What `work` returns or raises; None where the page is ended before.

    The thread is one that the interpreter does not wait for, as it does for those of a pool: a
    prediction of minutes would outlive Ctrl-C. How many there are is bounded by `AskedRun.place`.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="domindex-answer").start()
    waiting = asyncio.wrap_future(done)
    while not waiting.done():
        if ending.is_set():
            return None
        await asyncio.wait({waiting}, timeout=GLANCE)
    return waiting.result()
