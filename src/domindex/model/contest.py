"""An objective and the opponent it may have: what the training loop runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.func import functional_call

if TYPE_CHECKING:
    from domindex.model.objectives import Batch

Terms = dict[str, Tensor]


class Contest(nn.Module):
    """A loss of `module`, and perhaps an opponent with a loss of its own on what it is shown.

    In a step the opponent learns first, on detached tensors; then the module learns, with the
    opponent's weights held fixed. What is trained beside the module may be kept here as submodules.
    """

    def __init__(self, module: nn.Module, opponent: nn.Module | None = None) -> None:
        super().__init__()
        self.module = module
        # Not a submodule: the module's optimiser and averages must never touch the opponent.
        self._opponent = [opponent]

    @property
    def opponent(self) -> nn.Module | None:
        """Called with what is `shown`, gives its own loss."""
        return self._opponent[0]

    @abstractmethod
    def infer(self, batch: Batch) -> Any:
        """The latents of a batch, with gradients."""

    @abstractmethod
    def forward(self, batch: Batch, latents: Any, ramp: float) -> tuple[Tensor, Terms]:
        """The loss, and its terms by name; `ramp` rises from 0 to 1 over the training."""

    def shown(self, batch: Batch, latents: Any) -> tuple[Any, ...]:
        """What the opponent reads: z, and the facts it tries to tell from it."""
        return latents.z, batch.facts

    def opposed(self, *shown: Any) -> Tensor:
        """The opponent's loss with its weights held fixed: no gradient leaks into them."""
        opponent = self.opponent
        assert opponent is not None
        frozen = {name: value.detach() for name, value in opponent.named_parameters()}
        return functional_call(opponent, frozen, shown)
