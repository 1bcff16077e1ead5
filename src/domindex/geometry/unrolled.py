"""The closed form as a whole: directions, map and flow of many clouds, without any learning."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.geometry.atlas import Atlas, draw_map
from domindex.geometry.flow_choice import FlowChoice, choose_flow
from domindex.geometry.projection import Projection, moving_directions

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UnrolledDomains:
    """A map of geodesics in the space where domains differ, and the flow along it."""

    projection: Projection
    choice: FlowChoice
    atlas: Atlas

    def carry(self, scaled: Floats, raw_index: Floats) -> Floats:
        """Rows of one domain at this index to β = 0: moving coordinates, then the still ones."""
        moving = self.choice.flow.carry(scaled @ self.projection.moving, raw_index)
        return np.hstack([moving, scaled @ self.projection.still])

    def locate(self, scaled: Floats) -> Floats:
        """The index at which a new domain with these rows belongs."""
        return self.atlas.locate(scaled @ self.projection.moving)


def unroll(
    domains: Sequence[Hashable],
    clouds: Sequence[Floats],
    index_dim: int,
    origin: Floats,
    n_jobs: int | None = None,
) -> UnrolledDomains:
    """Find where the domains differ, map them along geodesics, and solve for the flow.

    `clouds` are the scaled inputs of each domain and `origin` (features,) is the user's zero on
    that scale.
    """
    projection = moving_directions(clouds)
    moving = [cloud @ projection.moving for cloud in clouds]
    plain = draw_map(domains, moving, index_dim, n_jobs=n_jobs)
    choice = choose_flow(moving, plain.transport, index_dim, origin @ projection.moving)
    atlas = draw_map(
        domains,
        moving,
        index_dim,
        method=plain.method,
        neighbors=(choice.n_neighbors,),
        transport=plain.transport,
    )
    return UnrolledDomains(projection, choice, atlas)
