"""A record of every term of the objective."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from domindex.model.adversarial import Terms
from domindex.training.callbacks import Callback

if TYPE_CHECKING:
    from domindex.training.trainer import Phase


class History(Callback):
    """Collects the terms of each step and averages them over an epoch."""

    def __init__(self, steps_per_epoch: int) -> None:
        self._steps_per_epoch = max(1, steps_per_epoch)
        self._rows: list[dict[str, float | str | int]] = []
        self._open: dict[str, list[float]] = defaultdict(list)
        self._last: tuple[str, int] = "", 0

    def on_phase_start(self, phase: Phase) -> None:
        self._close_epoch()

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        for name, value in terms.items():
            self._open[name].append(float(value.detach()))
        self._last = phase.name, step + 1
        if (step + 1) % self._steps_per_epoch == 0:
            self._close_epoch()

    def on_phase_end(self, phase: Phase) -> None:
        self._close_epoch()

    def state(self) -> dict[str, Any]:
        return {"rows": self._rows, "open": dict(self._open), "last": self._last}

    def resume(self, phase: Phase, step: int, state: dict[str, Any]) -> None:
        self.restore(state)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self._rows = [dict(row) for row in state["rows"]]
        self._open = defaultdict(list, state["open"])
        self._last = state["last"]

    def __len__(self) -> int:
        """Epochs so far."""
        return len(self._rows)

    def recent(self, term: str, since: int = 0, n_epochs: int = 10) -> float:
        """Mean of a term over the last epochs that have it, none of them before `since`."""
        values = [float(row[term]) for row in self._rows[since:] if term in row][-n_epochs:]
        return sum(values) / len(values)

    def drop(self, epochs: slice) -> None:
        """Forget epochs: those of a start that was not kept."""
        del self._rows[epochs]

    def to_frame(self) -> pd.DataFrame:
        """One row an epoch: phase, step, and a column per term, empty where a phase lacks it."""
        return pd.DataFrame(self._rows)

    def _close_epoch(self) -> None:
        if self._open:
            means = {name: sum(values) / len(values) for name, values in self._open.items()}
            phase, step = self._last
            self._rows.append({"phase": phase, "step": step, **means})
            self._open.clear()
