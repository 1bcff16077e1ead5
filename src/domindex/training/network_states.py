"""Networks and their optimisers as arrays, and put back in place: nothing is made anew."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

Weights = dict[str, NDArray]
Moments = list[dict[str, NDArray] | None]

STEP = "step"
"""What Adam counts its steps by: a number in single precision, on the CPU whatever it trains."""


def weights_of(network: nn.Module) -> Weights:
    """Parameters and buffers by name."""
    return {name: _array(tensor) for name, tensor in network.state_dict().items()}


def set_weights(network: nn.Module, weights: Weights) -> None:
    """In place: optimisers and averages hold on to the very tensors."""
    network.load_state_dict({name: torch.as_tensor(one) for name, one in weights.items()})


def moments_of(optimizer: Optimizer) -> Moments:
    """Of every parameter, in the order of the groups; None where it never had a gradient."""
    held = optimizer.state
    return [
        {name: _array(value) for name, value in held[one].items()} if one in held else None
        for one in _parameters(optimizer)
    ]


def set_moments(optimizer: Optimizer, moments: Moments) -> None:
    """In the table that is there, which Fabric's wrapper knows too; `moments` stay as they are."""
    for parameter, values in zip(_parameters(optimizer), moments, strict=True):
        if values is None:
            optimizer.state.pop(parameter, None)
        else:
            optimizer.state[parameter] = {
                name: torch.tensor(value) if name == STEP else torch.tensor(value).to(parameter)
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
