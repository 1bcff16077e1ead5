"""The networks' door: inputs of any shape to features."""

from __future__ import annotations

from math import prod

from torch import Tensor, nn


class Flatten(nn.Module):
    """Rows of any shape, (..., *input_shape), to (..., features), as they are."""

    def __init__(self, input_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.input_shape = input_shape
        self.n_features = prod(input_shape)

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(start_dim=x.ndim - len(self.input_shape))
