"""How good a map is (beside what is known of the domains, and itself), and predictions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.metrics import roc_auc_score

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.inputs import check_domain_names, group_rows

Score = Callable[[Any, Any], float]


def graph_auc(index: DomainIndex, graph: nx.Graph) -> float:
    """Area under the ROC curve of "closer on the map" as a predictor of "joined in `graph`".

    1 where all joined pairs are closer than all others, ½ for a map that knows nothing.

    Examples
    --------
    >>> graph_auc(model.domain_index_, nx.path_graph(5)) > 0.5
    True
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
        raise InputError("graph joins all pairs or none, so there is nothing to distinguish.")
    return float(roc_auc_score(joined[upper], -pdist(index.coordinates)))


def index_correlation(coordinates: ArrayLike, truth: ArrayLike) -> float:
    """|Pearson r| of the map's first principal axis with a known number per domain.

    A map has no direction, so one that runs backwards is as good.

    Examples
    --------
    >>> round(index_correlation([[3.0], [2.0], [1.0]], truth=[10.0, 20.0, 30.0]), 6)
    1.0
    """
    points, known = _matching(coordinates, truth)
    centred = points - points.mean(axis=0)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    return float(abs(np.corrcoef(centred @ axis, known)[0, 1]))


def circular_correlation(angles: ArrayLike, truth: ArrayLike, period: float = 2 * np.pi) -> float:
    """|ρ| of Fisher and Lee (1983) between angles and a known number that repeats, 0 to 1.

    With a and b the two as angles, Σ sin(aᵢ − aⱼ) sin(bᵢ − bⱼ) over the pairs, normalised: it does
    not matter where a circle begins and which way it runs. `angles` are in radians, `truth`
    repeats after `period`.

    Examples
    --------
    >>> months = np.arange(12)
    >>> round(circular_correlation(1.5 - 2 * np.pi * months / 12, months, period=12), 6)
    1.0
    """
    points, known = _matching(np.asarray(angles, dtype=np.float64).reshape(-1, 1), truth)
    if not (np.isfinite(period) and period > 0):
        raise InputError(f"period is {period}. Pass the length after which truth repeats.")
    upper = np.triu_indices(len(points), k=1)
    found = np.sin(points - points.T)[upper]
    true = np.sin(2 * np.pi / period * (known[:, None] - known[None, :]))[upper]
    size = float(np.sqrt((found @ found) * (true @ true)))
    if size < 1e-12:
        raise InputError("All angles are equal or opposite, so they have no direction to compare.")
    return float(abs(found @ true) / size)


def linear_r2(coordinates: ArrayLike, truth: ArrayLike) -> float:
    """R² of the least-squares fit of a known number per domain by the map's coordinates.

    Examples
    --------
    >>> corners = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> round(linear_r2(corners, truth=[0.0, 1.0, 2.0, 3.0]), 6)
    1.0
    """
    points, known = _matching(coordinates, truth)
    design = np.column_stack([points, np.ones(len(points))])
    residual = known - design @ np.linalg.lstsq(design, known, rcond=None)[0]
    return float(1.0 - residual @ residual / ((known - known.mean()) ** 2).sum())


def procrustes_agreement(coordinates: ArrayLike, truth: ArrayLike) -> float:
    """How well the map becomes a true one by shift, rotation, reflection and one scale, 0 to 1.

    With both centred and of unit norm, (Σ singular values of AᵀB)²: the share of the true map's
    variance that is explained. The number of components may differ. Three random points agree well
    with most others. Also says whether fits with different seeds draw the same map.

    Examples
    --------
    >>> square = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
    >>> round(procrustes_agreement(square, [[0.0, 0.0], [0.0, 1.0], [5.0, 1.0], [5.0, 0.0]]), 4)
    0.6923
    """
    points, known = (np.array(one, dtype=np.float64) for one in (coordinates, truth))
    known = known[:, None] if known.ndim == 1 else known
    if points.ndim != 2 or known.ndim != 2 or len(points) != len(known):
        raise InputError(
            f"One map has shape {points.shape} and the other {known.shape}. "
            "Pass (domains, components) for both, with the same domains in the same order."
        )
    for one in (points, known):
        if not np.isfinite(one).all():
            raise InputError("A map holds NaN or infinity. Pass a finite point for every domain.")
        if not len(one) or not np.ptp(one, axis=0).any():
            raise InputError("All domains lie on one point of a map, so it has no shape.")
        one -= one.mean(axis=0)
        one /= np.linalg.norm(one)
    overlap = np.linalg.svd(points.T @ known, compute_uv=False).sum()
    return float(min(overlap, 1.0) ** 2)


def _matching(coordinates: ArrayLike, truth: ArrayLike) -> tuple[Floats, Floats]:
    points = np.asarray(coordinates, dtype=np.float64)
    known = np.asarray(truth, dtype=np.float64).squeeze()
    if points.ndim != 2 or known.shape != (len(points),):
        raise InputError(
            f"coordinates has shape {points.shape} and truth {known.shape}. "
            "Pass (domains, components) and one number per domain."
        )
    if not np.isfinite(points).all() or not np.isfinite(known).all():
        raise InputError(
            "coordinates or truth holds NaN or infinity. Leave out the domains that are not known."
        )
    if np.ptp(known) == 0:
        raise InputError("truth is the same number for every domain, so nothing can follow it.")
    return points, known


def accuracy(y: Any, predicted: Any) -> float:
    """Share of rows whose class is predicted.

    Examples
    --------
    >>> accuracy(["no", "yes", "yes", "no"], ["no", "yes", "no", "no"])
    0.75
    """
    truth, guess = _same_rows(y, predicted)
    if truth.ndim != 1:
        raise InputError(
            f"y has shape {truth.shape}, but accuracy counts one class per row. "
            "Pass 1-D classes; squared_error scores several outputs."
        )
    if _holds_texts(truth) != _holds_texts(guess):
        raise InputError(
            f"y holds {truth.dtype} and predicted {guess.dtype}, which can never be equal. "
            "Spell classes the same way in both."
        )
    return float((truth == guess).mean())


def _holds_texts(classes: NDArray) -> bool:
    """Also as objects, which pandas makes of texts."""
    if classes.dtype == object:
        return all(isinstance(one, str) for one in classes)
    return classes.dtype.kind in "US"


def squared_error(y: Any, predicted: Any) -> float:
    """Squared errors added over a row's outputs, averaged over rows.

    Examples
    --------
    >>> squared_error([[0.0, 0.0], [1.0, 1.0]], [[3.0, 4.0], [1.0, 1.0]])
    12.5
    """
    truth, guess = (_numbers(values) for values in _same_rows(y, predicted))
    return float(((truth - guess) ** 2).reshape(len(truth), -1).sum(axis=1).mean())


def scores_by_domain(
    y: Any, predicted: Any, sample_domain: Any, score: Score = accuracy
) -> dict[Hashable, float]:
    """`score(y, predicted)` of each domain's rows, in the order of the names.

    `score` is `accuracy`, `squared_error` or any function of these two arrays.

    Examples
    --------
    >>> scores_by_domain([0, 1, 1, 0], [0, 1, 0, 0], ["south", "north", "north", "south"])
    {'north': 0.5, 'south': 1.0}
    """
    truth, guess = _same_rows(y, predicted)
    names = check_domain_names(sample_domain, len(truth))
    return {
        name: float(score(truth[rows], guess[rows])) for name, rows in group_rows(names, len(truth))
    }


def _same_rows(y: Any, predicted: Any) -> tuple[NDArray, NDArray]:
    truth, guess = np.asarray(y), np.asarray(predicted)
    if truth.shape != guess.shape or truth.ndim not in (1, 2) or not truth.size:
        raise InputError(
            f"y has shape {truth.shape} and predicted {guess.shape}. "
            "Pass the same rows in both, as (rows,) or (rows, outputs), and at least one."
        )
    return truth, guess


def _numbers(values: NDArray) -> NDArray[np.float64]:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"An error needs numbers, but there are values of type {values.dtype}. "
            "Use accuracy for classes."
        ) from None
    if not np.isfinite(numbers).all():
        raise InputError("y or predicted holds NaN or infinity. Score rows with known values only.")
    return numbers
