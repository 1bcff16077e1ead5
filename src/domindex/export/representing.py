"""Representations as modules: rows (n, features) and domain numbers (n,) to represented rows.

A known domain is a number, and all that depends on it is a row of a table. So nothing of the map,
of transport or of placing is left in a program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from domindex.export.tables import (
    NotExportableError,
    Scaled,
    by_domain,
    constant,
    rows_times,
)
from domindex.representations import PlacedRows, Representation
from domindex.representations.coral import Coral
from domindex.representations.domain_normalised import (
    DomainCentred,
    DomainScaled,
    DomainStandardised,
    WithMeans,
)
from domindex.representations.domain_whitened import DomainWhitened
from domindex.representations.flow import FlowAligned
from domindex.representations.raw import Raw, WithIndex
from domindex.representations.row_normalised import SPREAD_FLOOR, RowCentred, RowStandardised

Represented = tuple[Tensor, Tensor, Tensor]
"""Features (n, p), and the level and the spread of outputs, (n, 1) each."""


class _Plain(nn.Module):
    """Rows beside which outputs stay as they are."""

    def represent(self, x: Tensor, domain: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor, domain: Tensor) -> Represented:
        features = self.represent(x, domain)
        return features, torch.zeros_like(x[:, :1]), torch.ones_like(x[:, :1])


class _Raw(_Plain):
    def __init__(self, given: Raw, places: PlacedRows) -> None:
        super().__init__()
        self.scaled = Scaled(given.scaler)

    def represent(self, x: Tensor, domain: Tensor) -> Tensor:
        return self.scaled(x)


class _Beside(_Plain):
    """Scaled rows, and what is known of their domain beside them."""

    beside: Tensor

    def __init__(self, given: Any, beside: np.ndarray) -> None:
        super().__init__()
        self.scaled = Scaled(given.scaler)
        self.register_buffer("beside", constant(beside))

    def represent(self, x: Tensor, domain: Tensor) -> Tensor:
        return torch.cat([self.scaled(x), self.beside[domain]], dim=1)


def _with_index(given: WithIndex, places: PlacedRows) -> nn.Module:
    parts = [places.index, places.directions] if given.closes else [places.index]
    return _Beside(given, np.hstack(parts))


def _with_means(given: WithMeans, places: PlacedRows) -> nn.Module:
    return _Beside(given, by_domain(given.offsets, _names(places), given.name))


class _Centred(_Plain):
    offsets: Tensor
    scales: Tensor

    def __init__(self, given: DomainCentred, places: PlacedRows) -> None:
        super().__init__()
        self.scaled = Scaled(given.scaler)
        names = _names(places)
        self.register_buffer("offsets", constant(by_domain(given.offsets, names, given.name)))
        self.register_buffer("scales", constant(by_domain(given.scales, names, given.name)))

    def represent(self, x: Tensor, domain: Tensor) -> Tensor:
        return (self.scaled(x) - self.offsets[domain]) / self.scales[domain]


class _Whitened(_Plain):
    offsets: Tensor
    matrices: Tensor

    def __init__(self, given: DomainWhitened, places: PlacedRows) -> None:
        super().__init__()
        self.scaled = Scaled(given.scaler)
        names = _names(places)
        self.register_buffer("offsets", constant(by_domain(given.offsets, names, given.name)))
        self.register_buffer("matrices", constant(by_domain(given.matrices, names, given.name)))

    def represent(self, x: Tensor, domain: Tensor) -> Tensor:
        return rows_times(self.scaled(x) - self.offsets[domain], self.matrices[domain])


class _Coral(_Plain):
    moves: Tensor
    source_mean: Tensor
    target_mean: Tensor
    matrix: Tensor

    def __init__(self, given: Coral, places: PlacedRows) -> None:
        super().__init__()
        self.scaled = Scaled(given.scaler)
        moves = torch.tensor([[name in given.sources] for name in _names(places)])
        self.register_buffer("moves", moves)
        for name in ("source_mean", "target_mean", "matrix"):
            self.register_buffer(name, constant(getattr(given, name)))

    def represent(self, x: Tensor, domain: Tensor) -> Tensor:
        scaled = self.scaled(x)
        moved = (scaled - self.source_mean) @ self.matrix + self.target_mean
        return torch.where(self.moves[domain], moved, scaled)


class _Flow(_Plain):
    """exp(−β G) of every known domain stands in a table: there is no exponential left."""

    subspace: Tensor
    linear: Tensor
    shift: Tensor

    def __init__(self, given: FlowAligned, places: PlacedRows) -> None:
        super().__init__()
        self.scaled, self.outputs = Scaled(given.scaler), Scaled(given.outputs)
        self.n_moving = given.subspace.n_moving
        self.register_buffer("subspace", constant(given.subspace.matrix))
        along = places.index if given.around is None else places.along(given.around)[:, None]
        maps = np.stack(list(given.flow.maps(along)))
        self.register_buffer("linear", constant(maps[:, :-1, :-1].transpose(0, 2, 1)))
        self.register_buffer("shift", constant(maps[:, :-1, -1]))

    def represent(self, x: Tensor, domain: Tensor) -> Tensor:
        result = self.scaled(x) @ self.subspace
        moving = rows_times(result[:, : self.n_moving], self.linear[domain]) + self.shift[domain]
        return self.outputs(torch.cat([moving, result[:, self.n_moving :]], dim=1))


class _RowShapes(nn.Module):
    """Each row minus its own mean, over its own deviation where `standardise`."""

    def __init__(self, given: Any, standardise: bool) -> None:
        super().__init__()
        self.scaled, self.standardise = Scaled(given.scaler), standardise
        self.least = SPREAD_FLOOR * given.unit

    def forward(self, x: Tensor, domain: Tensor) -> Represented:
        level = x.mean(dim=1, keepdim=True)
        spread = torch.ones_like(level)
        if self.standardise:
            variance = ((x - level) ** 2).mean(dim=1, keepdim=True)
            spread = variance.sqrt().clamp_min(self.least)
        return self.scaled((x - level) / spread), level, spread


class _DomainScaled(nn.Module):
    both: Tensor

    def __init__(self, given: DomainScaled, places: PlacedRows) -> None:
        super().__init__()
        self.scaled = Scaled(given.scaler)
        both = by_domain(given.domains, _names(places), given.name)
        self.register_buffer("both", constant(both))

    def forward(self, x: Tensor, domain: Tensor) -> Represented:
        both = self.both[domain]
        level, spread = both[:, :1], both[:, 1:]
        return self.scaled((x - level) / spread), level, spread


MODULES: dict[type[Representation], Callable[[Any, PlacedRows], nn.Module]] = {
    Raw: _Raw,
    WithIndex: _with_index,
    WithMeans: _with_means,
    DomainCentred: _Centred,
    DomainStandardised: _Centred,
    DomainWhitened: _Whitened,
    DomainScaled: _DomainScaled,
    Coral: _Coral,
    FlowAligned: _Flow,
    RowCentred: lambda given, places: _RowShapes(given, standardise=False),
    RowStandardised: lambda given, places: _RowShapes(given, standardise=True),
}


def representation_module(given: Representation, places: PlacedRows) -> nn.Module:
    """The representation for known domains; `places` has one row a domain, in their order."""
    if type(given) not in MODULES:
        raise NotExportableError(f"the representation {given.name!r} has no form in torch")
    return MODULES[type(given)](given, places)


def _names(places: PlacedRows) -> Sequence[Hashable]:
    return [domain.name for domain in places.domains]
