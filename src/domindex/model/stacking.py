"""Copies of a network trained as one: their weights in one tensor, their steps in one pass."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional

from domindex.networks.alignments import ParameterGroup
from domindex.networks.blocks import Whitening

Network = TypeVar("Network", bound=nn.Module)


class Stacked(nn.Module, Generic[Network]):
    """Copies of one network that differ in their weights, called at once.

    Weights that are trained stand in one tensor (copies, weights) a group, so that an optimiser
    takes a few large steps in place of many small ones; Adam moves every weight by itself, so the
    copies stay independent. Weights that are not trained are shared where they are the same, and
    what is computed from them alone is computed once.

    Every copy draws the same random numbers: that of one copy is what it would be alone.
    """

    def __init__(self, copies: Sequence[Network], groups: Sequence[ParameterGroup]) -> None:
        """`groups` are of the first copy's parameters."""
        super().__init__()
        self._pattern = [_by_rows(copies[0])]  # not a submodule: its own weights are never used
        states = [{**dict(one.named_parameters()), **dict(one.named_buffers())} for one in copies]
        names = {id(parameter): name for name, parameter in copies[0].named_parameters()}
        trained = [[names[id(p)] for p in group.parameters] for group in groups if group.parameters]
        self._trained = trained
        self.rates = [group.rate for group in groups if group.parameters]
        self.flat = nn.ParameterList(_flattened(states, group) for group in trained)
        self._shapes = {name: value.shape for name, value in states[0].items()}
        self._others: dict[str, str] = {}
        running = _running(copies[0])
        for name in states[0].keys() - {name for group in trained for name in group}:
            values = [state[name].detach() for state in states]
            differs = name in running or any(not torch.equal(values[0], v) for v in values)
            kind = "own" if differs else "shared"
            self._others[name] = f"{kind}_{name.replace('.', '_')}"
            self.register_buffer(
                self._others[name], torch.stack(values) if differs else values[0].clone()
            )

    def groups(self) -> list[ParameterGroup]:
        """What is to be trained, and how fast."""
        return [ParameterGroup([flat], rate) for flat, rate in zip(self.flat, self.rates)]

    def forward(self, own: Tensor, *shared: Any) -> Any:
        """What the copies give, each of its part of `own` (copies, ...) and all of `shared`."""
        weights = self._weights()
        axes = {name: 0 if self._is_own(name) else None for name in weights}

        def one(weights: dict[str, Tensor], own: Tensor) -> Any:
            return functional_call(self._pattern[0], weights, (own, *shared))

        return vmap(one, in_dims=(axes, 0), randomness="same")(weights, own)

    def unstacked(self) -> list[Network]:
        """The copies, each a network again."""
        weights = self._weights()
        copies = []
        for number in range(len(self.flat[0])):
            one = copy.deepcopy(self._pattern[0])
            own = {n: v[number] if self._is_own(n) else v for n, v in weights.items()}
            one.load_state_dict({name: value.detach() for name, value in own.items()})
            copies.append(_plain(one))
        return copies

    def _is_own(self, name: str) -> bool:
        return not self._others.get(name, "own").startswith("shared")

    def _weights(self) -> dict[str, Tensor]:
        """By the names that they have in one network, (copies, ...) where each has its own."""
        weights = {name: getattr(self, place) for name, place in self._others.items()}
        for names, flat in zip(self._trained, self.flat):
            shapes = [self._shapes[name] for name in names]
            parts = flat.split([shape.numel() for shape in shapes], dim=1)
            weights |= {
                name: part.view(len(flat), *shape)
                for name, part, shape in zip(names, parts, shapes)
            }
        return weights


class _RowLinear(nn.Linear):
    """A linear layer whose stacked copies are one product of matrices, whatever the rows' shape."""

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, -2)
        return functional.linear(rows, self.weight, self.bias).unflatten(0, x.shape[:-1])


def _by_rows(network: Network) -> Network:
    twin = copy.deepcopy(network)
    for layer in twin.modules():
        if type(layer) is nn.Linear:
            layer.__class__ = _RowLinear
    return twin


def _plain(network: Network) -> Network:
    for layer in network.modules():
        if type(layer) is _RowLinear:
            layer.__class__ = nn.Linear
    return network


def _running(network: nn.Module) -> set[str]:
    """Names of the statistics that change as the network is called."""
    return {
        f"{place}.{name}" if place else name
        for place, layer in network.named_modules()
        if isinstance(layer, Whitening)
        for name, _ in layer.named_buffers()
    }


def _flattened(states: Sequence[dict[str, Tensor]], names: Sequence[str]) -> nn.Parameter:
    """(copies, weights)"""
    rows = [torch.cat([state[name].detach().flatten() for name in names]) for state in states]
    return nn.Parameter(torch.stack(rows))
