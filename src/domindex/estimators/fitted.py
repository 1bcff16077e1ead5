"""What a fit leaves behind: everything a prediction needs, and nothing of scikit-learn."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Distribution

from domindex.data import group_rows
from domindex.data.standardizing import InputScaler
from domindex.estimators.representation import RowRepresentation
from domindex.geometry import DomainIndex
from domindex.geometry.atlas import Atlas
from domindex.geometry.views import CloudView
from domindex.model.latents import Latents
from domindex.model.module import VDIModule

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained module with the map it was trained on.

    Attributes
    ----------
    scaler : inputs to the scale of the map and of the indices' networks
    representation : inputs as the encoder of z is given them; None where they are only scaled
    module : the averaged networks, on the CPU, in double precision: a row's prediction then does
        not depend on the rows beside it
    atlas : the map before q(β|u), with what it takes to place a new domain
    view : how the atlas sees scaled inputs; None where it was drawn from local indices
    """

    scaler: InputScaler
    representation: RowRepresentation | None
    module: VDIModule
    atlas: Atlas
    view: CloudView | None

    def index(self) -> tuple[DomainIndex, Floats]:
        """The map as q(β|u) sees it: a `DomainIndex` and its deviations, (domains, index_dim)."""
        raw = self.atlas.index
        with torch.no_grad():
            posterior = self.module.index_encoder(_tensor(raw.coordinates))
        mean, deviation = _array(posterior.mean), _array(posterior.stddev)
        return DomainIndex(raw.domains, mean, raw.distances, raw.eigenvalues), deviation

    def deviations(self, coordinates: Floats) -> Floats:
        """Of q(β|u) at points of the map, (points, index_dim)."""
        with torch.no_grad():
            return _array(self.module.index_encoder(_tensor(coordinates)).stddev)

    def local_indices(self, scaled: Floats) -> Floats:
        """The means of q(u|x), (rows, local_dim): no domain needed."""
        with torch.no_grad():
            return _array(self.module.local_encoder(_tensor(scaled)).mean)

    def raw_index(self, name: Hashable | None, scaled: Floats) -> Floats:
        """The raw index of a known domain, or where a new one with these rows belongs."""
        known = self.atlas.index.find(name)
        if known is not None:
            return known
        cloud = self.local_indices(scaled) if self.view is None else self.view.apply(scaled)
        return self.atlas.locate(cloud)

    def place(self, inputs: NDArray, names: Sequence[Hashable] | None) -> dict[Hashable, Floats]:
        """The raw index of every domain among these rows."""
        scaled = self.scaler.apply(inputs)
        groups = group_rows(names, len(scaled))
        return {name: np.array(self.raw_index(name, scaled[rows])) for name, rows in groups}

    def by_domain(
        self, inputs: NDArray, names: Sequence[Hashable] | None
    ) -> Iterator[tuple[NDArray[np.int64], Latents, Distribution]]:
        """A domain at a time: its rows, and the posterior means and prediction for them.

        Rows without names are taken for one new domain.
        """
        scaled = self.scaler.apply(inputs)
        normalized = (
            scaled if self.representation is None else self.representation.apply(inputs, names)
        )
        for name, rows in group_rows(names, len(scaled)):
            raw_index = _tensor(self.raw_index(name, scaled[rows]))
            x, told = _tensor(scaled[rows]), _tensor(normalized[rows])
            with torch.no_grad():
                latents = self.module.infer(x[None], told[None], raw_index[None], sample=False)
                yield rows, latents, self.module.predict(latents.z)


def _tensor(array: NDArray) -> Tensor:
    return torch.tensor(array, dtype=torch.float64)


def _array(tensor: Tensor) -> Floats:
    return tensor.numpy()
