"""The indices once they are inferred: local ones for any row, places for any domain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from domindex.arrays import Floats
from domindex.geometry import DomainIndex, DomainMap
from domindex.inputs import group_rows
from domindex.inputs.standardizing import InputScaler
from domindex.persistence.saved import Saved
from domindex.representations import PlacedRows
from domindex.vdi.module import IndexModule, Indices


@dataclass(frozen=True, eq=False)
class FittedIndices(Saved):
    """q(u|x) and the map drawn from it, with q(β|u) around its points.

    Attributes
    ----------
    scaler : inputs to the scale of the networks
    module : the networks, on the CPU, in double precision: what is inferred of a row then does not
        depend on the rows beside it
    domain_map : the raw index of every domain, and what it takes to place a new one
    """

    scaler: InputScaler
    module: IndexModule
    domain_map: DomainMap

    def index(self) -> tuple[DomainIndex, Floats]:
        """The map as q(β|u) sees it: a `DomainIndex` and its deviations, (domains, index_dim)."""
        raw = self.domain_map.index
        mean, deviation = self.index_at(raw.coordinates)
        return replace(raw, coordinates=mean), deviation

    def index_at(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Means and deviations of q(β|u) at points of the map, (points, index_dim) each."""
        with torch.no_grad():
            posterior = self.module.index_encoder(_tensor(coordinates))
        return posterior.mean.numpy(), posterior.stddev.numpy()

    def deviations(self, coordinates: Floats) -> Floats:
        """Of q(β|u) at points of the map, (points, index_dim)."""
        return self.index_at(coordinates)[1]

    def local_indices(self, inputs: NDArray) -> Floats:
        """The means of q(u|x), (rows, local_dim): no domain needed."""
        with torch.no_grad():
            return self.module.local_posterior(_tensor(self.scaler.apply(inputs))).mean.numpy()

    def place(self, inputs: NDArray, names: Sequence[Hashable] | None) -> dict[Hashable, Floats]:
        """The raw index of every domain among these rows; new ones are placed by their rows."""
        return self._place(inputs, names)[0]

    def with_domains(self, inputs: NDArray, names: Sequence[Hashable]) -> FittedIndices:
        """The same networks, and a map with the domains of these rows, all new, added to it."""
        groups = dict(group_rows(names, len(inputs)))
        clouds = self._clouds(inputs, list(groups.values()))
        return replace(self, domain_map=self.domain_map.with_domains(list(groups), clouds))

    def _clouds(self, inputs: NDArray, groups: Sequence[NDArray[np.int64]]) -> list[Floats]:
        """The local indices of each group of rows; a row's do not depend on the rows beside it."""
        if not groups:
            return []
        local = self.local_indices(inputs[np.concatenate(groups)])
        return np.split(local, np.cumsum([len(rows) for rows in groups])[:-1])

    def placed(self, inputs: NDArray, names: Sequence[Hashable] | None) -> PlacedRows:
        """Rows with their domains' places."""
        return PlacedRows.of(inputs, names, *self._place(inputs, names))

    def _place(
        self, inputs: NDArray, names: Sequence[Hashable] | None
    ) -> tuple[dict[Hashable, Floats], dict[Hashable | None, float] | None]:
        """Places on the map, and angles around its ring where it closes; new domains at once."""
        index = self.domain_map.index
        numbers = {name: number for number, name in enumerate(index.domains)}
        groups = dict(group_rows(names, len(inputs)))
        new = [name for name in groups if name not in numbers]
        clouds = self._clouds(inputs, [groups[name] for name in new])
        places = dict(zip(new, self.domain_map.locate_all(clouds)))
        for name in groups.keys() & numbers.keys():
            places[name] = np.array(index.coordinates[numbers[name]])
        around = self.domain_map.angles_of(clouds)
        if around is None or index.angles is None:
            return places, None
        angles: dict[Hashable | None, float] = dict(zip(new, around.tolist()))
        for name in groups.keys() & numbers.keys():
            angles[name] = float(index.angles[numbers[name]])
        return places, angles

    def means(self, inputs: NDArray, place: Floats) -> Indices:
        """u of the rows of one domain and β of that domain, as a batch of one, at their means."""
        x = _tensor(self.scaler.apply(inputs))
        with torch.no_grad():
            return self.module.infer(x[None], _tensor(place)[None], sample=False)

    @property
    def local_dim(self) -> int:
        """Components of the local index."""
        return self.module.local_dim

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether rows of this shape fit the networks."""
        return shape == self.module.flatten.input_shape

    def _check_state(self) -> None:
        module = self.module
        self._check_sizes(module.flatten.n_features, module.local_dim, module.index_dim)

    def _check_sizes(self, n_features: int, local_dim: int, index_dim: int) -> None:
        """ValueError where networks of these sizes do not fit the scale or the map."""
        if len(self.scaler.offset) != n_features:
            raise ValueError("the scale does not fit the networks")
        if self.domain_map.coordinates.shape[1] != index_dim:
            raise ValueError("the map does not fit the networks")
        if any(cloud.shape[1:] != (local_dim,) for cloud in self.domain_map.clouds):
            raise ValueError("the clouds do not fit the networks")


def _tensor(array: NDArray) -> Tensor:
    return torch.tensor(array, dtype=torch.float64)
