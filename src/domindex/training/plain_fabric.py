"""What training asks of Lightning Fabric, on one CPU in single precision: no more than torch.

Importing Fabric takes a second or two, nearly all of it for torch's compiler, which nothing here
uses. A default fit needs none of what Fabric can do; whatever else was asked for goes through it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from inspect import unwrap
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from domindex.training.settings import Training

_SINGLE = ("32-true", "32")


class TrainingFabric(Protocol):
    """What training asks for: Lightning's `Fabric` has it, and `PlainFabric`."""

    @property
    def device(self) -> torch.device:
        """Of networks and batches."""

    def setup(self, module: nn.Module, *optimizers: Optimizer) -> Any:
        """A module on its device and its optimisers, ready for steps."""

    def backward(self, tensor: Tensor) -> None:
        """Gradients of a loss."""

    def clip_gradients(
        self,
        module: nn.Module,
        optimizer: Optimizer,
        *,
        max_norm: float,
        error_if_nonfinite: bool,
    ) -> Tensor | None:
        """Bound the length of the gradient over all parameters of an optimiser."""


class PlainFabric:
    """One CPU, single precision: step for step what Fabric does there."""

    device = torch.device("cpu")

    @staticmethod
    def serves(training: Training) -> bool:
        """Whether nothing was asked for that needs Fabric, also not by `fabric run`."""
        return (
            training.accelerator == "cpu"
            and training.devices in (1, "1")
            and training.strategy in ("auto", "ddp")
            and training.precision in _SINGLE
            and not any(name.startswith("LT_") for name in os.environ)
        )

    def setup(self, module: nn.Module, *optimizers: Optimizer) -> Any:
        return module.to(self.device), *optimizers

    def backward(self, tensor: Tensor) -> None:
        tensor.backward()

    def clip_gradients(
        self,
        module: nn.Module,
        optimizer: Optimizer,
        *,
        max_norm: float,
        error_if_nonfinite: bool,
    ) -> Tensor:
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        return nn.utils.clip_grad_norm_(parameters, max_norm, error_if_nonfinite=error_if_nonfinite)


class EagerAdam(Adam):
    """Adam that is never compiled: the same steps, to the bit.

    torch wraps methods of its optimisers to tell its compiler what not to compile, and these
    wrappers import it; they are left out here.
    """

    def __init__(self, params: Iterable[Any], lr: float, betas: tuple[float, float]) -> None:
        super().__init__(params, lr=lr, betas=betas)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        unwrap(Adam.add_param_group)(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        unwrap(Adam.zero_grad)(self, set_to_none)

    def step(self, closure: Any = None) -> Any:
        with torch.no_grad():
            return unwrap(Adam.step)(self, closure)
