"""Where local indices start: the directions along which the domains differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.geometry.misfit import whitening
from domindex.geometry.subspace import Subspace
from domindex.geometry.transport import Method, transport_distances

Floats = NDArray[np.float64]

RELIABLE = 0.25
"""Correlation between halves of the domains from which their inner shapes count as real. Set with
the maps of TPT-48 in view."""

HALVINGS = 6
"""Random halves of every domain over which reliability is averaged; not tuned."""

SHAPE_ROWS = 48
SHAPE_DOMAINS = 60
"""Rows of a domain, and number of domains, for which levels and shapes are weighed by exact
transport: the balance needs no more."""


@dataclass(frozen=True, eq=False)
class LocalProjection:
    """u = x · matrix, and how much of a domain's mean counts on the map drawn from it.

    Attributes
    ----------
    matrix : (features, local_dim)
    level_share : see `DomainMap`
    """

    matrix: Floats
    level_share: float = 1.0


def local_projections(
    clouds: Sequence[Floats],
    subspace: Subspace,
    local_dim: int | None = None,
    reliable: float = RELIABLE,
) -> list[LocalProjection]:
    """Directions in which the domains, clouds (rows, features), may be told apart.

    The subspace that holds the differences; and, where domains differ most by level but also,
    reliably, in shape, every feature: clouds whitened, and the levels drawn together until both
    weigh the same. `local_dim` asks for other than all directions.
    """
    moving = subspace.n_moving if local_dim is None else local_dim
    found = [LocalProjection(subspace.matrix[:, :moving])]
    balanced = _balanced(clouds, reliable)
    if balanced is not None:
        size = balanced.matrix.shape[1] if local_dim is None else local_dim
        found.append(LocalProjection(balanced.matrix[:, :size], balanced.level_share))
    return found


def _balanced(clouds: Sequence[Floats], reliable: float) -> LocalProjection | None:
    """Levels and shapes in balance; None where one of them is all there is."""
    rng = np.random.default_rng(0)
    clouds = [rng.permutation(cloud)[:SHAPE_ROWS] for cloud in clouds]
    means = [cloud.mean(axis=0, keepdims=True) for cloud in clouds]
    centred = [cloud - mean for cloud, mean in zip(clouds, means)]
    if _mean_square(means, "sliced") <= _mean_square(centred, "sliced"):
        return None
    matrix = whitening(np.concatenate([cloud / len(cloud) ** 0.5 for cloud in centred]))
    matrix *= (len(clouds) / sum(len(cloud) for cloud in clouds)) ** 0.5
    white = [cloud @ matrix for cloud in centred]
    method: Method = "exact" if len(clouds) <= SHAPE_DOMAINS else "sliced"
    if _reliability(white, method, rng) <= reliable:
        return None
    levels = np.concatenate([mean @ matrix for mean in means])
    share = np.sqrt(min(1.0, _mean_square(white, method) / _mean_square(levels[:, None], method)))
    widest_first = np.linalg.svd(levels - levels.mean(axis=0))[2].T
    return LocalProjection(matrix @ widest_first, float(share))


def _mean_square(clouds: Sequence[Floats] | Floats, method: Method) -> float:
    return float((transport_distances(list(clouds), method=method) ** 2).mean())


def _reliability(clouds: Sequence[Floats], method: Method, rng: np.random.Generator) -> float:
    """Correlation of the distances between random halves of every domain, averaged."""
    if len(clouds) < 4 or min(len(cloud) for cloud in clouds) < 4:
        return 0.0
    pairs = np.triu_indices(len(clouds), 1)
    correlations = []
    for _ in range(HALVINGS):
        halves = [np.array_split(rng.permutation(cloud), 2) for cloud in clouds]
        first, second = (
            transport_distances([half - half.mean(axis=0) for half in side], method)[pairs]
            for side in zip(*halves)
        )
        if first.std() > 0 and second.std() > 0:
            correlations.append(float(np.corrcoef(first, second)[0, 1]))
    return float(np.mean(correlations)) if correlations else 0.0
