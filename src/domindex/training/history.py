"""A record of every term, and the alarm when one breaks."""

from __future__ import annotations

from collections import defaultdict

import pandas as pd
from torch import Tensor

from domindex.errors import TrainingDiverged

ADVICE = {
    "adversary": "Lower adversary_weight or learning_rate.",
    "smoothness": "Lower learning_rate.",
    "label_prediction": "Lower learning_rate, and look for extreme values in X.",
}


class History:
    """Collects the terms of each step and averages them over an epoch."""

    def __init__(self, steps_per_epoch: int) -> None:
        self._steps_per_epoch = max(1, steps_per_epoch)
        self._rows: list[dict[str, float | str | int]] = []
        self._open: dict[str, list[float]] = defaultdict(list)
        self._phase = ""
        self._step = 0

    def start_phase(self, name: str) -> None:
        self._close_epoch()
        self._phase, self._step = name, 0

    def record(self, terms: dict[str, Tensor]) -> None:
        """Note one step's terms; raise `TrainingDiverged` where one is not finite."""
        self._step += 1
        for name, value in terms.items():
            number = float(value.detach())
            if number != number or abs(number) == float("inf"):
                raise TrainingDiverged(
                    f"The term {name!r} became {number} at step {self._step} of the "
                    f"{self._phase} phase. "
                    f"{ADVICE.get(name, 'Lower learning_rate, and look for extreme values in X.')}"
                )
            self._open[name].append(number)
        if self._step % self._steps_per_epoch == 0:
            self._close_epoch()

    def recent(self, term: str, n_epochs: int = 10) -> float:
        """Mean of a term over the last epochs."""
        self._close_epoch()
        values = [float(row[term]) for row in self._rows if term in row][-n_epochs:]
        return sum(values) / len(values)

    def copy(self) -> History:
        """The record so far, to go on in another way."""
        self._close_epoch()
        twin = History(self._steps_per_epoch)
        twin._rows = list(self._rows)
        return twin

    def to_frame(self) -> pd.DataFrame:
        """One row an epoch: phase, step, and a column per term, empty where a phase lacks it."""
        self._close_epoch()
        return pd.DataFrame(self._rows)

    def _close_epoch(self) -> None:
        if self._open:
            means = {name: sum(values) / len(values) for name, values in self._open.items()}
            self._rows.append({"phase": self._phase, "step": self._step, **means})
            self._open.clear()
