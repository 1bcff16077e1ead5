"""What looks on while a training runs: progress, the record of the terms, the alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from domindex.errors import TrainingDiverged
from domindex.model.adversarial import Terms
from domindex.progress import Progress

if TYPE_CHECKING:
    from domindex.training.running import Running
    from domindex.training.trainer import Phase

ADVICE = {
    "adversary": "Lower adversary_weight or learning_rate.",
    "smoothness": "Lower learning_rate.",
    "label_prediction": "Lower learning_rate, and look for extreme values in X.",
}


class Callback:
    """Told of every phase and step; does nothing unless a subclass does."""

    def is_over(self, phase: Phase) -> bool:
        """Whether all of a phase was done before, and will be put in place by `first_step`."""
        return False

    def on_phase_start(self, phase: Phase) -> None:
        """Before the first step of a phase."""

    def first_step(self, running: Running) -> int:
        """Where to begin: past steps that were done before, with everything as it was then."""
        return 0

    def before_step(self, phase: Phase, step: int) -> None:
        """Before a batch is drawn; may change what the phase draws from."""

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        """Once the terms of a step are known, before the networks move."""

    def after_step(self, running: Running, step: int) -> None:
        """Once the networks have moved."""

    def on_phase_end(self, phase: Phase) -> None:
        """After the last step of a phase."""

    def state(self) -> dict[str, Any]:
        """What it gathered so far, in plain values and arrays, for a training that is resumed."""
        return {}

    def resume(self, phase: Phase, step: int, state: dict[str, Any]) -> None:
        """Go on at `step` of a phase, from what `state` gave then."""


class ProgressBar(Callback):
    """One bar a phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps: Iterator[int] = iter(())

    def on_phase_start(self, phase: Phase) -> None:
        self._steps = iter(self._progress.track(phase.name, phase.n_steps))

    def before_step(self, phase: Phase, step: int) -> None:
        next(self._steps)

    def resume(self, phase: Phase, step: int, state: dict[str, Any]) -> None:
        for _ in range(step):
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
