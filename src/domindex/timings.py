"""Where the time of a fit went: seconds by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pandas as pd


class Timings:
    """Seconds of named stages, in the order in which they were first entered.

    A stage inside another takes its time out of the outer one, so that the sum is the whole. A
    stage that is entered again goes on.

    Examples
    --------
    >>> from domindex.timings import Timings
    >>> ticks = iter([0.0, 1.0, 3.0, 3.5])
    >>> timings = Timings(clock=lambda: next(ticks))
    >>> with timings.stage("mapping"):
    ...     with timings.stage("scaling"):
    ...         pass
    >>> timings.seconds
    {'mapping': 1.5, 'scaling': 2.0}
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[str, float] = {}
        self._clock = clock
        self._open: list[str] = []
        self._since = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside for `name`, also if it ends by an error."""
        self._turn()
        self._open.append(name)
        self.seconds.setdefault(name, 0.0)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def _turn(self) -> None:
        now = self._clock()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def table(self) -> pd.DataFrame:
        """A row a stage, with its seconds."""
        stages = pd.Series(list(self.seconds), dtype=object)
        return pd.DataFrame({"stage": stages, "seconds": list(self.seconds.values())})
