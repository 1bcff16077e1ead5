"""Agreement of an inferred index with what is known about the domains."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.metrics import roc_auc_score

from domindex.errors import InputError
from domindex.geometry import DomainIndex


def graph_auc(index: DomainIndex, graph: nx.Graph) -> float:
    """Area under the ROC curve of "closer on the map" as a predictor of "joined in `graph`".

    1 where all joined pairs are closer than all others, ½ for a map that knows nothing.
    """
    missing = [name for name in index.domains if name not in graph]
    if missing:
        raise InputError(
            f"graph lacks the domain {missing[0]!r} and {len(missing) - 1} more. "
            "Its nodes must be named like the domains of the index."
        )
    joined = nx.to_numpy_array(graph, nodelist=list(index.domains), weight=None) > 0
    upper = np.triu_indices(len(joined), k=1)
    if joined[upper].all() or not joined[upper].any():
        raise InputError("graph joins all pairs or none, so there is nothing to tell apart.")
    return float(roc_auc_score(joined[upper], -pdist(index.coordinates)))


def index_correlation(coordinates: ArrayLike, truth: ArrayLike) -> float:
    """|Pearson r| of the map's first principal axis with a known number per domain."""
    points, known = _matching(coordinates, truth)
    centred = points - points.mean(axis=0)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    return float(abs(np.corrcoef(centred @ axis, known)[0, 1]))


def linear_r2(coordinates: ArrayLike, truth: ArrayLike) -> float:
    """R² of the least-squares fit of a known number per domain by the map's coordinates."""
    points, known = _matching(coordinates, truth)
    design = np.column_stack([points, np.ones(len(points))])
    residual = known - design @ np.linalg.lstsq(design, known, rcond=None)[0]
    return float(1.0 - residual @ residual / ((known - known.mean()) ** 2).sum())


def _matching(coordinates: ArrayLike, truth: ArrayLike) -> tuple[NDArray, NDArray]:
    points = np.asarray(coordinates, dtype=np.float64)
    known = np.asarray(truth, dtype=np.float64).squeeze()
    if points.ndim != 2 or known.shape != (len(points),):
        raise InputError(
            f"coordinates has shape {points.shape} and truth {known.shape}. "
            "Pass (domains, components) and one number per domain."
        )
    if np.ptp(known) == 0:
        raise InputError("truth is the same number for every domain, so nothing can follow it.")
    return points, known
