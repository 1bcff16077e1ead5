"""Everything that changes while a phase is trained, as plain values and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from domindex.networks.shares import Share

if TYPE_CHECKING:
    from domindex.training.callbacks import Callback
    from domindex.training.trainer import Phase

Weights = dict[str, NDArray]


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
    """

    phase: Phase
    average: nn.Module
    optimizers: Sequence[Optimizer]
    callbacks: Sequence[Callback]
    share: Share | None = None

    def state(self, step: int) -> dict[str, Any]:
        """Before `step`; once the last step was taken, without what only another would need."""
        phase = self.phase
        state: dict[str, Any] = {
            "step": step,
            "objective": _weights(phase.objective),
            "average": _weights(self.average),
            "batches": phase.batches.state(),
            "chance": phase.batches.chance.state(),
            "callbacks": [one.state() for one in self.callbacks],
        }
        if step < phase.n_steps:
            adversary = phase.objective.adversary
            state["adversary"] = None if adversary is None else _weights(adversary)
            state["optimizers"] = [_moments(one) for one in self.optimizers]
        return state

    def resume(self, state: Mapping[str, Any]) -> int:
        """Put everything back as `state` found it; returns the step to go on with.

        Callbacks go first: one of them may put other batches into the phase.
        """
        phase, step = self.phase, state["step"]
        for callback, own in zip(self.callbacks, state["callbacks"], strict=True):
            callback.resume(phase, step, own)
        _set_weights(phase.objective, state["objective"])
        _set_weights(self.average, state["average"])
        phase.batches.resume(state["batches"])
        phase.batches.chance.restore(state["chance"])
        if step < phase.n_steps:
            if phase.objective.adversary is not None:
                _set_weights(phase.objective.adversary, state["adversary"])
            for optimizer, moments in zip(self.optimizers, state["optimizers"], strict=True):
                _set_moments(optimizer, moments)
        return step


def _weights(network: nn.Module) -> Weights:
    return {name: _array(tensor) for name, tensor in network.state_dict().items()}


def _set_weights(network: nn.Module, weights: Weights) -> None:
    """In place: optimisers and averages hold on to the very tensors."""
    network.load_state_dict({name: torch.as_tensor(one) for name, one in weights.items()})


def _moments(optimizer: Optimizer) -> list[dict[str, NDArray] | None]:
    """Of every parameter, in the order of the groups; None where it never had a gradient."""
    held = optimizer.state
    return [
        {name: _array(value) for name, value in held[one].items()} if one in held else None
        for one in _parameters(optimizer)
    ]


def _set_moments(optimizer: Optimizer, moments: list[dict[str, NDArray] | None]) -> None:
    """In place: Fabric's wrapper shares the table with the optimiser that it wraps."""
    for parameter, values in zip(_parameters(optimizer), moments, strict=True):
        if values is not None:
            optimizer.state[parameter] = {
                name: torch.as_tensor(value).to(parameter.device if value.ndim else "cpu")
                for name, value in values.items()
            }


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [one for group in optimizer.param_groups for one in group["params"]]


def _array(tensor: Tensor) -> NDArray:
    """A copy, which later steps leave alone; a shorter float exactly, as a longer one."""
    detached = tensor.detach().cpu()
    if detached.dtype in (torch.bfloat16, torch.float16):
        detached = detached.float()
    return np.array(detached.numpy())
