"""How the clouds of the domains are looked at when a map is drawn of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.geometry.flow_choice import whitening
from domindex.geometry.transport import Method, transport_distances

Floats = NDArray[np.float64]

RELIABLE = 0.25
"""Correlation between halves of the domains from which their inner shapes count as real."""

REPEATS = 6

MAX_ROWS = 48
MAX_EXACT_DOMAINS = 60
"""Rows of a domain, and number of domains, for which the two parts of a distance are weighed by
exact transport: the balance needs no more."""


@dataclass(frozen=True, eq=False)
class CloudView:
    """A cloud (rows, features) seen as (x − (1 − mean_share) · mean of the cloud) · matrix.

    A squared transport distance is that of the means plus that of the centred clouds;
    `mean_share` below 1 lets the second be heard beside a first that is much larger.
    """

    matrix: Floats
    mean_share: float = 1.0

    def apply(self, cloud: Floats) -> Floats:
        if self.mean_share == 1.0:
            return cloud @ self.matrix
        return (cloud - (1.0 - self.mean_share) * cloud.mean(axis=0)) @ self.matrix


def choose_view(clouds: Sequence[Floats]) -> CloudView:
    """Levels and shapes in balance where domains differ most by level, but in shape as well.

    Where the means are further apart than the centred clouds, and the distances of the centred
    clouds are the same for random halves of the domains, clouds are whitened and the means drawn
    together until both parts weigh the same. Everywhere else clouds are seen as they are.
    """
    plain = CloudView(np.eye(clouds[0].shape[1]))
    rng = np.random.default_rng(0)
    clouds = [rng.permutation(cloud)[:MAX_ROWS] for cloud in clouds]
    means = [cloud.mean(axis=0, keepdims=True) for cloud in clouds]
    centred = [cloud - mean for cloud, mean in zip(clouds, means)]
    if _mean_square(means, "sliced") <= _mean_square(centred, "sliced"):
        return plain
    matrix = whitening(np.concatenate([cloud / len(cloud) ** 0.5 for cloud in centred]))
    matrix *= len(clouds) ** -0.5
    white = [cloud @ matrix for cloud in centred]
    method: Method = "exact" if len(clouds) <= MAX_EXACT_DOMAINS else "sliced"
    if _reliability(white, method, rng) <= RELIABLE:
        return plain
    levels = _mean_square([mean @ matrix for mean in means], method)
    share = np.sqrt(min(1.0, _mean_square(white, method) / levels))
    return CloudView(matrix, float(share))


def _mean_square(clouds: Sequence[Floats], method: Method) -> float:
    return float((transport_distances(clouds, method=method) ** 2).mean())


def _reliability(clouds: Sequence[Floats], method: Method, rng: np.random.Generator) -> float:
    """Correlation of the distances between random halves of every domain, averaged."""
    if len(clouds) < 4 or min(len(cloud) for cloud in clouds) < 4:
        return 0.0
    pairs = np.triu_indices(len(clouds), 1)
    correlations = []
    for _ in range(REPEATS):
        halves = [np.array_split(rng.permutation(cloud), 2) for cloud in clouds]
        first, second = (
            transport_distances([half - half.mean(axis=0) for half in side], method)[pairs]
            for side in zip(*halves)
        )
        if first.std() > 0 and second.std() > 0:
            correlations.append(float(np.corrcoef(first, second)[0, 1]))
    return float(np.mean(correlations)) if correlations else 0.0
