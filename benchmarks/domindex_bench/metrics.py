"""Scores that only the benchmark needs: how a map agrees with a known one; intervals, levels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist, squareform
from scipy.stats import norm

from domindex.datasets import DomainDataset
from domindex.errors import InputError
from domindex.evaluation import circular_correlation, graph_auc, index_correlation, linear_r2
from domindex.geometry import DomainIndex
from domindex.inputs.messages import preview


def map_agreement(
    dataset: DomainDataset,
    domains: Sequence[Hashable],
    coordinates: ArrayLike,
    angles: ArrayLike | None = None,
) -> dict[str, float]:
    """How well a map agrees with what is known of a dataset's domains; empty where nothing is.

    A true index of several numbers is read off the map linearly (`index_<name>`, R²), a true graph
    by closeness (`index_auc`), a single true number along the map's main axis
    (`index_correlation`). A true number that repeats is also compared with the angles of a map that
    closes (`index_circular`). `domains` are those on the map, in its order.
    """
    order = [dataset.domains.index(name) for name in domains]
    truth = None if dataset.true_index is None else dataset.true_index[order]
    points = np.asarray(coordinates, dtype=np.float64)
    found: dict[str, float] = {}
    if truth is not None and truth.shape[1] > 1:
        columns = zip(dataset.index_names, truth.T)
        found = {f"index_{name}": linear_r2(points, column) for name, column in columns}
    elif dataset.graph is not None:
        distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
        index = DomainIndex(tuple(domains), points.copy(), distances, np.zeros(len(domains)))
        found = {"index_auc": graph_auc(index, dataset.graph)}
    elif truth is not None:
        found = {"index_correlation": index_correlation(points, truth)}
    if angles is not None and dataset.period is not None and truth is not None:
        found["index_circular"] = circular_correlation(angles, truth[:, 0], dataset.period)
    return found


def neighbour_agreement(coordinates: ArrayLike, groups: ArrayLike) -> float:
    """Share of the domains whose nearest other on the map is of the same group, 0 to 1.

    `groups` has a number or a text for each domain, such as the viewpoint of its pictures.
    """
    points, names = np.asarray(coordinates, dtype=np.float64), np.asarray(groups)
    if points.ndim != 2 or names.shape != (len(points),) or len(points) < 2:
        raise InputError(
            f"coordinates has shape {points.shape} and groups {names.shape}. "
            "Pass (domains, components) and one group per domain, of two domains or more."
        )
    if not np.isfinite(points).all():
        raise InputError("A map holds NaN or infinity. Pass a finite point for every domain.")
    apart = squareform(pdist(points))
    np.fill_diagonal(apart, np.inf)
    return float(np.mean(names[apart.argmin(axis=1)] == names))


def interval_coverage(y: Any, mean: Any, deviation: Any, level: float = 0.9) -> float:
    """Share of values inside the central Gaussian intervals that should hold `level` of them."""
    if not 0 < level < 1:
        raise InputError(f"level is {level}. Choose a share between 0 and 1, such as 0.9.")
    away = np.abs(np.asarray(y) - np.asarray(mean))
    return float((away <= norm.ppf((1 + level) / 2) * np.asarray(deviation)).mean())


def scores_by_level(
    by_domain: Mapping[Hashable, float], levels: Mapping[Hashable, int] | None
) -> dict[int, float]:
    """The mean score of the domains at each level, as in `DomainDataset.levels`, nearest first."""
    if not levels:
        raise InputError("levels is empty or None: this dataset does not say how far targets lie.")
    missing = [name for name in levels if name not in by_domain]
    if missing:
        raise InputError(
            f"by_domain lacks {preview(missing)}, which levels names; it holds "
            f"{preview(by_domain)}. Score every target domain first."
        )
    members: dict[int, list[float]] = {}
    for name, level in levels.items():
        members.setdefault(int(level), []).append(by_domain[name])
    return {level: float(np.mean(members[level])) for level in sorted(members)}
