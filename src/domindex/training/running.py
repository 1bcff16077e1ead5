"""Everything that changes while a phase is trained, as plain values and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.optim import Optimizer

from domindex.networks.shares import Share
from domindex.training.network_states import moments_of, set_moments, set_weights, weights_of
from domindex.training.rollback import Rollback

if TYPE_CHECKING:
    from domindex.training.callbacks import Callback
    from domindex.training.trainer import Phase


@dataclass(eq=False)
class Running:
    """A phase in training.

    Attributes
    ----------
    phase : with its objective, its adversary and what it draws from
    average : of the objective's module
    optimizers : the objective's, and the adversary's where there is one
    callbacks : all who look on
    share : of this process, where several train together
    rollback : what it goes back to when a step leaves the finite numbers
    """

    phase: Phase
    average: nn.Module
    optimizers: Sequence[Optimizer]
    callbacks: Sequence[Callback]
    share: Share | None = None
    rollback: Rollback = field(init=False)

    def __post_init__(self) -> None:
        adversary = self.phase.objective.adversary
        moving = [self.phase.objective, self.average, *([] if adversary is None else [adversary])]
        self.rollback = Rollback(moving, self.optimizers)

    def begin(self) -> int:
        """Tell all who look on; returns the first step that is left to take."""
        for callback in self.callbacks:
            callback.on_phase_start(self.phase)
        return max((callback.first_step(self) for callback in self.callbacks), default=0)

    def state(self, step: int) -> dict[str, Any]:
        """Before `step`; once the last step was taken, without what only another would need."""
        phase = self.phase
        state: dict[str, Any] = {
            "step": step,
            "objective": weights_of(phase.objective),
            "average": weights_of(self.average),
            "batches": phase.batches.state(),
            "chance": phase.batches.chance.state(),
            "callbacks": [one.state() for one in self.callbacks],
        }
        if step < phase.n_steps:
            adversary = phase.objective.adversary
            state["adversary"] = None if adversary is None else weights_of(adversary)
            state["optimizers"] = [moments_of(one) for one in self.optimizers]
            state["rollback"] = self.rollback.state()
        return state

    def resume(self, state: Mapping[str, Any]) -> int:
        """Put everything back as `state` found it; returns the step to go on with.

        Callbacks go first: one of them may put other batches into the phase.
        """
        phase, step = self.phase, state["step"]
        for callback, own in zip(self.callbacks, state["callbacks"], strict=True):
            callback.resume(phase, step, own)
        set_weights(phase.objective, state["objective"])
        set_weights(self.average, state["average"])
        phase.batches.resume(state["batches"])
        phase.batches.chance.restore(state["chance"])
        if step < phase.n_steps:
            if phase.objective.adversary is not None:
                set_weights(phase.objective.adversary, state["adversary"])
            for optimizer, moments in zip(self.optimizers, state["optimizers"], strict=True):
                set_moments(optimizer, moments)
            self.rollback.resume(state["rollback"])
        return step
