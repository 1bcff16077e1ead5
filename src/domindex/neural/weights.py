"""Networks as sizes and arrays, and built again from them: no code is read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Network = TypeVar("Network", bound=nn.Module)
Sizes = Mapping[str, Any]


def network_state(network: nn.Module, sizes: Sizes) -> dict[str, Any]:
    """Sizes, plain values, and weights, arrays by name."""
    weights = {
        name: (tensor if tensor.is_floating_point() else tensor.double()).numpy()
        for name, tensor in network.state_dict().items()
    }
    return {"sizes": dict(sizes), "weights": weights}


def _in_single_precision(network: nn.Module) -> tuple[str, ...]:
    """What the names of weights start with that stay so: those of backbones."""
    return tuple(
        f"{name}." if name else ""
        for name, part in network.named_modules()
        if getattr(part, "in_single_precision", False)
    )


def network_from_state(build: Callable[[Sizes], Network], state: Mapping[str, Any]) -> Network:
    """What `build` makes of the sizes, with the weights, ready to predict in double precision (a
    backbone stays in single precision).

    It is laid out without memory first, so that sizes in a file cannot ask for more than the
    arrays that came with it. ValueError where the two do not agree.
    """
    arrays: Mapping[str, NDArray] = state["weights"]
    with torch.device("meta"):
        network = build(state["sizes"])
    held = network.state_dict()
    expected = {name: tuple(tensor.shape) for name, tensor in held.items()}
    found = {name: array.shape for name, array in arrays.items()}
    if expected != found:
        names = expected.keys() | found.keys()
        odd = sorted(name for name in names if expected.get(name) != found.get(name))
        raise ValueError(f"the weights of {odd[0]} do not fit the sizes")
    single = _in_single_precision(network)
    wrong = [
        name
        for name, array in arrays.items()
        if array.dtype != np.float64 and not (array.dtype == np.float32 and name.startswith(single))
    ]
    if wrong:
        raise ValueError(f"the weights of {wrong[0]} are not in double precision")
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    for name, tensor in tensors.items():  # counters of batches, for example
        if not held[name].is_floating_point():
            tensors[name] = tensor.to(held[name].dtype)
    network.load_state_dict(tensors, assign=True)
    return network.double().eval()


def count(sizes: Sizes, name: str) -> int:
    """A size that is a whole number of 1 or more; ValueError for anything else."""
    value = sizes[name]
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} is {value!r}")
    return value


def counts(sizes: Sizes, *, may_be_zero: tuple[str, ...] = ()) -> dict[str, int]:
    """All sizes, checked; those that `may_be_zero` may."""
    for name, value in sizes.items():
        if not (name in may_be_zero and type(value) is int and value == 0):
            count(sizes, name)
    return dict(sizes)
