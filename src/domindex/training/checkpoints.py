"""Keeps a training's state as it goes, so that one that is cut off goes on from there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from domindex.persistence.journal import Journal
from domindex.training.callbacks import Callback

if TYPE_CHECKING:
    from domindex.training.running import Running
    from domindex.training.trainer import Phase

SECONDS = 1.0
"""Between two checkpoints of a phase, at least; for time, not tuned."""

SHARE = 0.02
"""Of the time of a training that its checkpoints may take: large networks are kept less often."""


class Checkpoint(Callback):
    """Writes the state of a phase to a journal every so often, and once it is over.

    The same phases come in the same order in a fit that is begun again: they are known by their
    names, and by how many of that name came before. Of several processes that train together the
    one that leads keeps finished phases only.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts: dict[str, int] = {}
        self._due = 0.0

    def is_over(self, phase: Phase) -> bool:
        state = self._journal.find(self._name(phase))
        return state is not None and state["step"] == phase.n_steps

    def first_step(self, running: Running) -> int:
        state, step = self._journal.find(self._name(running.phase)), 0
        if state is not None and (running.share is None or state["step"] == running.phase.n_steps):
            step = running.resume(state)
        self._due = time.monotonic() + SECONDS
        return step

    def after_step(self, running: Running, step: int) -> None:
        n_steps, now = running.phase.n_steps, time.monotonic()
        is_last = step + 1 == n_steps
        if is_last or (now >= self._due and running.share is None):
            self._journal.keep(self._name(running.phase), running.state(step + 1))
            took = time.monotonic() - now
            self._due = now + took + max(SECONDS, took / SHARE)

    def on_phase_end(self, phase: Phase) -> None:
        self._counts[phase.name] = self._counts.get(phase.name, 0) + 1

    def _name(self, phase: Phase) -> str:
        return f"training {phase.name} {self._counts.get(phase.name, 0)}"
