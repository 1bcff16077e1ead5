"""How much memory this process holds, and held at most."""

from __future__ import annotations

import threading
from types import TracebackType

import psutil

INTERVAL = 0.01
"""Seconds between two looks."""


class MemoryMeter:
    """Looks at this process's memory again and again, from a thread, while the block runs.

    The system's own peak would also count what the parent held when it started this process.
    """

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._process = psutil.Process()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def now_mb(self) -> float:
        """What the process holds now; part of the peak."""
        held: float = self._process.memory_info().rss / 2**20
        self.peak_mb = max(self.peak_mb, held)
        return held

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL):
            self.now_mb()

    def __enter__(self) -> MemoryMeter:
        self.now_mb()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self.now_mb()
