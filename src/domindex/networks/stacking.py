"""Copies of a network that run as one, each on its own rows.

Small networks spend their time on calls, not on numbers: eight copies in one call cost far less
than eight calls. Rows of all copies stand one after the other along the first axis, so that what
knows nothing of copies, because it treats every domain alike, takes them as so many more domains.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from domindex.errors import InputError
from domindex.networks.alignments import FlowAlignment
from domindex.networks.blocks import Standardising, Whitening
from domindex.networks.feature_extractor import FeatureExtractor

Network = TypeVar("Network", bound=nn.Module)


def stacked(copies: Sequence[Network]) -> Network:
    """One network with the weights of all, (copies, ...) each; what is fixed must be the same.

    Its inputs are (copies · n, ...), the first n for the first copy, and so are its outputs. A
    layer that is frozen alike in all copies is left as it is.
    """
    twin = copy.deepcopy(copies[0])
    backbones = [layer.network for layer in twin.modules() if isinstance(layer, FeatureExtractor)]
    inside = {id(layer) for backbone in backbones for layer in backbone.modules()}
    for layers in zip(list(twin.modules()), *(list(one.modules()) for one in copies)):
        if isinstance(layers[0], FeatureExtractor):
            _stack_backbone(layers[0], layers[1:])
        elif id(layers[0]) not in inside:
            _stack_layer(layers[0], layers[1:])
    return twin


def unstacked(network: nn.Module, copies: Sequence[Network]) -> list[Network]:
    """The weights of a stacked network in copies like those that it was made of."""
    twins = [copy.deepcopy(one) for one in copies]
    weights = dict([*network.named_parameters(), *network.named_buffers()])
    with torch.no_grad():
        for number, twin in enumerate(twins):
            for name, own in [*twin.named_parameters(), *twin.named_buffers()]:
                held = weights[name]
                own.copy_(held if held.shape == own.shape else held[number])
    return twins


def _stack_layer(twin: nn.Module, layers: Sequence[nn.Module]) -> None:
    states = [dict(layer.named_parameters(recurse=False)) for layer in layers]
    if isinstance(twin, Whitening | Standardising):
        if isinstance(twin, Whitening):
            twin.__class__ = _StackedWhitening
        for name, value in list(twin.named_buffers()):
            setattr(twin, name, torch.stack([value] * len(layers)))
        return
    for name, value in twin.named_buffers(recurse=False):
        if any(not torch.equal(value, layer.get_buffer(name)) for layer in layers):
            raise InputError(f"The starts differ in {name!r}, which training does not change.")
    if isinstance(twin, FlowAlignment):
        warps = [dict(layer.get_submodule("warp").named_parameters()) for layer in layers]
        if not _frozen_alike(warps):
            raise InputError("The starts differ in their warp, which training does not change.")
    if not states[0] or _frozen_alike(states):
        return
    if type(twin) not in _STACKED:
        raise InputError(f"Copies of {type(twin).__name__} cannot be trained as one.")
    twin.__class__ = _STACKED[type(twin)]
    for name, first in states[0].items():
        values = torch.stack([state[name].detach() for state in states])
        setattr(twin, name, nn.Parameter(values, requires_grad=first.requires_grad))


def _stack_backbone(twin: nn.Module, layers: Sequence[nn.Module]) -> None:
    """Weights and statistics of any network, (copies, ...) each, under the names that they had."""
    twin.__class__ = _StackedExtractor
    owners = dict(twin.named_modules())
    for kind in ("parameters", "buffers"):
        parts = [
            dict(getattr(layer.network, f"named_{kind}")(remove_duplicate=False))
            for layer in layers
        ]
        stacked_once: dict[int, Tensor] = {}
        for name, first in parts[0].items():
            if id(first) not in stacked_once:
                values = torch.stack([part[name].detach() for part in parts])
                is_weight = isinstance(first, nn.Parameter)
                stacked_once[id(first)] = (
                    nn.Parameter(values, requires_grad=first.requires_grad) if is_weight else values
                )
            owner, _, last = f"network.{name}".rpartition(".")
            setattr(owners[owner], last, stacked_once[id(first)])


def _frozen_alike(states: Sequence[dict[str, nn.Parameter]]) -> bool:
    return not any(one.requires_grad for one in states[0].values()) and all(
        torch.equal(state[name], value) for state in states for name, value in states[0].items()
    )


class _StackedLinear(nn.Linear):
    """Weight (copies, outputs, inputs)."""

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(len(self.weight), -1, x.shape[-1])
        if self.bias is None:
            out = torch.bmm(rows, self.weight.mT)
        else:
            out = _Linear.apply(rows, self.weight, self.bias)
        return out.view(*x.shape[:-1], -1)


class _Linear(torch.autograd.Function):
    """Of rows (copies, n, inputs), weights (copies, outputs, inputs) and bias (copies, outputs).

    Products of long and narrow matrices take several times longer in one order than in the other;
    the gradients are taken in the faster one.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return torch.baddbmm(bias.unsqueeze(1), rows, weight.mT)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (out,), saved = gradients, ctx.saved_tensors
        rows, weight = (one.to(out.dtype) for one in saved)  # of mixed precision, out is the lower
        of_rows, of_weight, of_bias = None, None, None
        if ctx.needs_input_grad[0]:
            of_rows = torch.bmm(out, weight.mT.contiguous().mT)
        if ctx.needs_input_grad[1]:
            narrow = rows.shape[-1] < out.shape[-1]
            of_weight = torch.bmm(rows.mT, out).mT if narrow else torch.bmm(out.mT, rows)
        if ctx.needs_input_grad[2]:
            of_bias = out.sum(dim=1)
        return of_rows, of_weight, of_bias


class _StackedWhitening(Whitening):
    """Statistics (copies, ...): each of its own rows."""

    def forward(self, rows: Tensor) -> Tensor:
        return super().forward(rows.unflatten(0, (len(self.mean), -1))).flatten(0, 1)


class _StackedExtractor(FeatureExtractor):
    """A backbone with weights (copies, ...), which takes its copies one after the other.

    Any module can be taken so, with batch normalisation too. Convolutions of four copies were also
    faster than under `torch.vmap`, 0.36 s a step against 0.57, and a small perceptron was as fast.
    """

    def features(self, rows: Tensor) -> Tensor:
        held = dict([*self.network.named_parameters(), *self.network.named_buffers()])
        parts = rows.chunk(len(next(iter(held.values())))) if held else (rows,)
        return torch.cat(
            [
                functional_call(
                    self.network, {name: value[number] for name, value in held.items()}, (part,)
                )
                for number, part in enumerate(parts)
            ]
        )


class _StackedFlow(FlowAlignment):
    """Coefficients (copies, components, coefficients); a warp is the same in all copies."""

    def _directions(self, beta: Tensor) -> Tensor:
        n_copies, n_components, _ = self.coefficients.shape
        along = beta[:, :n_components].unflatten(0, (n_copies, -1))
        return torch.bmm(along, self.coefficients).flatten(0, 1)

    def _coordinates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n_copies = len(self.coefficients)
        moving, still = super()._coordinates(x[: len(x) // n_copies])
        return moving.repeat(n_copies, 1, 1), still.repeat(n_copies, 1, 1)


_STACKED: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: _StackedLinear,
    FlowAlignment: _StackedFlow,
}
