"""How far the domains are from coinciding, in figures that need no label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from domindex.geometry.transport import thin, transport_distances

Floats = NDArray[np.float64]

N_SHUFFLES = 3


def misalignment(clouds: Sequence[Floats]) -> float:
    """Mean distance between domains relative to their spread: 0 where all clouds coincide.

    Sliced distances between the clouds, whitened by their pooled covariance, per dimension.
    """
    whiten = whitening(np.concatenate(clouds))
    distances = transport_distances([cloud @ whiten for cloud in clouds], method="sliced")
    return float(distances[np.triu_indices(len(clouds), k=1)].mean() / len(whiten) ** 0.5)


def misfit(clouds: Sequence[Floats]) -> float:
    """`misalignment` relative to that of the same rows shuffled over the domains.

    About 1 or less where nothing but chance tells the domains apart.
    """
    rng = np.random.default_rng(0)
    clouds = [thin(cloud) for cloud in clouds]
    pooled = np.concatenate(clouds)
    cuts = np.cumsum([len(cloud) for cloud in clouds])[:-1]
    shuffled = [np.split(rng.permutation(pooled), cuts) for _ in range(N_SHUFFLES)]
    floor = float(np.mean([misalignment(parts) for parts in shuffled]))
    return misalignment(clouds) / (floor or 1.0)


def whitening(points: Floats) -> Floats:
    """W (p, p) such that the rows of points @ W have unit covariance."""
    covariance = np.atleast_2d(np.cov(points.T, bias=True))
    covariance += 1e-9 * (np.trace(covariance) or 1.0) * np.eye(len(covariance))
    return np.linalg.inv(np.linalg.cholesky(covariance)).T
