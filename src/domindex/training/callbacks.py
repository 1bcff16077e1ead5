"""What looks on while a training runs: progress, the record of the terms, the alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from domindex.errors import TrainingDiverged
from domindex.model.adversarial import Terms
from domindex.progress import Progress

if TYPE_CHECKING:
    from domindex.training.trainer import Phase

ADVICE = {
    "adversary": "Lower adversary_weight or learning_rate.",
    "smoothness": "Lower learning_rate.",
    "label_prediction": "Lower learning_rate, and look for extreme values in X.",
}


class Callback:
    """Told of every phase and step; does nothing unless a subclass does."""

    def on_phase_start(self, phase: Phase) -> None:
        """Before the first step of a phase."""

    def before_step(self, phase: Phase, step: int) -> None:
        """Before a batch is drawn; may change what the phase draws from."""

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        """Once the terms of a step are known, before the networks move."""

    def on_phase_end(self, phase: Phase) -> None:
        """After the last step of a phase."""


class ProgressBar(Callback):
    """One bar a phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps: Iterator[int] = iter(())

    def on_phase_start(self, phase: Phase) -> None:
        self._steps = iter(self._progress.track(phase.name, phase.n_steps))

    def before_step(self, phase: Phase, step: int) -> None:
        next(self._steps)

    def on_phase_end(self, phase: Phase) -> None:
        next(self._steps, None)  # past the last step the bar is closed


class DivergenceAlarm(Callback):
    """Raises `TrainingDiverged`, naming the term, where one is not a finite number."""

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        for name, value in terms.items():
            number = float(value.detach())
            if not math.isfinite(number):
                raise TrainingDiverged(
                    f"The term {name!r} became {number} at step {step + 1} of the "
                    f"{phase.name} phase. "
                    f"{ADVICE.get(name, 'Lower learning_rate, and look for extreme values in X.')}"
                )
