"""The variational network as a module: represented rows and domain numbers to z, and z to y.

A prediction takes the means of q(β|u) and q(z|x,u,β). The first is the place of the domain on the
map, so that every known domain's part of the alignment is a row of a table; the second does not
depend on u.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from domindex.committee.members import NetworkMember
from domindex.export.tables import NotExportableError, constant, rows_times
from domindex.vdi.alignments import (
    AffineAlignment,
    Alignment,
    BackboneAlignment,
    FlowAlignment,
    IdentityAlignment,
)
from domindex.vdi.backbones import FeatureExtractor
from domindex.vdi.blocks import Standardising, Whitening
from domindex.vdi.networks import ClassPredictor, ValuePredictor


class Extracted(nn.Module):
    """A backbone on flat rows, in single precision; in double from there on."""

    def __init__(self, given: FeatureExtractor) -> None:
        super().__init__()
        self.given = given

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, *self.given.input_shape).to(torch.float32)
        features = self.given.network(rows * self.given.scale + self.given.offset)
        return features.reshape(-1, self.given.n_features).to(torch.float64)


class _Flow(nn.Module):
    linear: Tensor
    shift: Tensor

    def __init__(self, given: FlowAlignment, beta: Tensor) -> None:
        super().__init__()
        self.given = given
        linear, shift = given._maps(beta)
        self.register_buffer("linear", linear.detach().clone(memory_format=torch.contiguous_format))
        self.register_buffer(
            "shift", shift[:, 0].detach().clone(memory_format=torch.contiguous_format)
        )

    def forward(self, x: Tensor, domain: Tensor) -> Tensor:
        coordinates = x @ self.given.projection
        moving = coordinates[:, : self.given.n_moving] + self.given.warp(x) + self.given.bend(x)
        moved = rows_times(moving, self.linear[domain]) + self.shift[domain]
        whitened = (moved - self.given.centre) @ self.given.whitening
        return torch.cat([whitened, coordinates[:, self.given.n_moving :]], dim=1)


class _Identity(nn.Module):
    def __init__(self, given: IdentityAlignment, beta: Tensor) -> None:
        super().__init__()
        self.given = given

    def forward(self, x: Tensor, domain: Tensor) -> Tensor:
        straight = x @ self.given.projection
        return straight + self.given.bend(straight)


class _Affine(nn.Module):
    maps: Tensor
    shift: Tensor
    mean: Tensor
    whitening: Tensor

    def __init__(self, given: AffineAlignment, beta: Tensor) -> None:
        super().__init__()
        self.projection = given.projection
        turn, stretch, shift = given._parts(beta)
        maps = torch.linalg.matrix_exp(turn) @ torch.linalg.matrix_exp(stretch)
        self.register_buffer("maps", maps.detach().clone(memory_format=torch.contiguous_format))
        self.register_buffer(
            "shift", shift[:, 0].detach().clone(memory_format=torch.contiguous_format)
        )
        self.register_buffer("mean", given.norm.mean.double())
        self.register_buffer("whitening", _whitening(given.norm))

    def forward(self, x: Tensor, domain: Tensor) -> Tensor:
        mixed = rows_times(self.projection(x), self.maps[domain]) + self.shift[domain]
        return (mixed - self.mean) @ self.whitening


def _whitening(norm: Whitening) -> Tensor:
    """What a centred row is multiplied with, (size, size), from the layer itself."""
    size = len(norm.mean)
    return copy.deepcopy(norm).eval()(torch.eye(size).to(norm.mean) + norm.mean).double()


class _Backbone(nn.Module):
    def __init__(self, given: BackboneAlignment, beta: Tensor) -> None:
        super().__init__()
        self.extracted, self.head = Extracted(given.extractor), given.head
        self.norm: Standardising = given.norm
        self.inner = _alignment(given.inner, beta)

    def forward(self, x: Tensor, domain: Tensor) -> Tensor:
        variance = self.norm.variance
        floor = 1e-3 * variance.mean() + 1e-12
        centred = self.head(self.extracted(x)) - self.norm.mean
        return self.inner(centred / (variance + floor).sqrt(), domain)


def _alignment(given: Alignment, beta: Tensor) -> nn.Module:
    kinds = {
        FlowAlignment: _Flow,
        IdentityAlignment: _Identity,
        AffineAlignment: _Affine,
        BackboneAlignment: _Backbone,
    }
    if type(given) not in kinds:
        raise NotExportableError(f"the alignment {given.name!r} has no form of its own in torch")
    return kinds[type(given)](given, beta)


class Encoder(nn.Module):
    """z of represented rows; `places` (domains, index_dim) are those of the known domains."""

    def __init__(self, member: NetworkMember, places: Tensor) -> None:
        super().__init__()
        with torch.no_grad():
            self.alignment = _alignment(member.module.alignment, places)

    def forward(self, features: Tensor, domain: Tensor) -> Tensor:
        return self.alignment(features, domain)


class Head(nn.Module):
    """p(y|z): probabilities, or values in the units of the representation."""

    offset: Tensor
    scale: Tensor

    def __init__(self, member: NetworkMember) -> None:
        super().__init__()
        given = member.module.predictor
        if not isinstance(given, ClassPredictor | ValuePredictor):
            raise NotExportableError(f"the head {given.name!r} has no form of its own in torch")
        self.linear, self.bend = given.linear, given.bend
        self.is_class = member.outputs is None
        if member.outputs is not None:
            self.register_buffer("offset", constant(member.outputs.offset))
            self.register_buffer("scale", constant(member.outputs.scale))

    def forward(self, z: Tensor) -> Tensor:
        raw = self.linear(z) + self.bend(z)
        return torch.softmax(raw, dim=1) if self.is_class else raw * self.scale + self.offset
