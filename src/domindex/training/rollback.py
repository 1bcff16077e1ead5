"""What a training goes back to when a step leaves the finite numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn
from torch.optim import Optimizer

from domindex.training.network_states import moments_of, set_moments, set_weights, weights_of

KEPT_EVERY = 25
"""Steps between two states that are kept to go back to: for time, a copy costs less than a step."""

MOST_RETURNS = 3
CALMER = 0.3
"""How often a phase may go back, and the factor on its learning rates whenever it does. Far from
where any of the benchmark's trainings is, none of which goes back; not tuned."""


class Rollback:
    """Weights and optimisers of a phase as they last were when all terms were finite.

    Going back is no part of an ordinary training: as long as every term is finite, nothing here
    changes a number.

    Attributes
    ----------
    calm : factor on the learning rates; 1 until the first return
    """

    def __init__(self, modules: Sequence[nn.Module], optimizers: Sequence[Optimizer]) -> None:
        self._modules, self._optimizers = list(modules), list(optimizers)
        self._kept: dict[str, list[Any]] | None = None
        self._n_returns = 0
        self.calm = 1.0

    def keep(self, step: int) -> None:
        """Called in every step whose terms are finite, before the networks move."""
        if step % KEPT_EVERY == 0 or self._kept is None:
            self._kept = {
                "modules": [weights_of(one) for one in self._modules],
                "optimizers": [moments_of(one) for one in self._optimizers],
            }

    def go_back(self) -> bool:
        """Back to what was kept, and calmer from there; False where that has not helped."""
        if self._kept is None or self._n_returns == MOST_RETURNS:
            return False
        self._n_returns += 1
        self.calm *= CALMER
        for module, weights in zip(self._modules, self._kept["modules"]):
            set_weights(module, weights)
        for optimizer, moments in zip(self._optimizers, self._kept["optimizers"]):
            set_moments(optimizer, moments)
        return True

    def state(self) -> dict[str, Any]:
        """What was kept, and how often it was gone back to."""
        return {"kept": self._kept, "n_returns": self._n_returns, "calm": self.calm}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        self._kept, self._n_returns = state["kept"], state["n_returns"]
        self.calm = state["calm"]
