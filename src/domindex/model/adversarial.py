"""An objective and the adversary it may have: what the trainer runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.func import functional_call

if TYPE_CHECKING:
    from domindex.model.batch import Batch

Terms = dict[str, Tensor]


class Objective(nn.Module):
    """A loss of `module`, and perhaps an adversary with a loss of its own on what it reads.

    In a step the adversary learns first, on detached tensors; then the module learns, with the
    adversary's weights held fixed. What is trained beside the module may be kept here as
    submodules.
    """

    def __init__(self, module: nn.Module, adversary: nn.Module | None = None) -> None:
        super().__init__()
        self.module = module
        # Not a submodule: the module's optimiser and averages must never touch the adversary.
        self._adversary = [adversary]

    @property
    def adversary(self) -> nn.Module | None:
        """Called with `adversary_inputs`, gives its own loss."""
        return self._adversary[0]

    @abstractmethod
    def infer(self, batch: Batch) -> Any:
        """The latents of a batch, with gradients."""

    @abstractmethod
    def forward(self, batch: Batch, latents: Any, ramp: float) -> tuple[Tensor, Terms]:
        """The loss, and its terms by name; `ramp` rises from 0 to 1 over the training."""

    def adversary_inputs(self, batch: Batch, latents: Any) -> tuple[Any, ...]:
        """What the adversary reads: z, and the facts it tries to tell from it."""
        return latents.z, batch.facts

    def fixed_adversary(self, *inputs: Any) -> Tensor:
        """The adversary's loss with its weights held fixed: no gradient leaks into them."""
        adversary = self.adversary
        assert adversary is not None
        frozen = {name: value.detach() for name, value in adversary.named_parameters()}
        return functional_call(adversary, frozen, inputs)
