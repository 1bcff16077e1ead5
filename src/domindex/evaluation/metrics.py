"""How good a map is (beside what is known of the domains, and itself), and predictions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.stats import norm, spearmanr
from sklearn.metrics import r2_score, roc_auc_score

from domindex.arrays import Floats
from domindex.datasets import DomainDataset
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.inputs import check_domain_names, group_rows
from domindex.inputs.messages import preview

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
    variance that is explained; 1 where the shapes are the same. The number of components may
    differ. With few domains chance is far from 0: three random points agree well with most others.

    Examples
    --------
    >>> square = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
    >>> round(procrustes_agreement(square, [[0.0, 0.0], [0.0, 1.0], [5.0, 1.0], [5.0, 0.0]]), 4)
    0.6923
    """
    points, known = _matching_maps(coordinates, truth)
    overlap = np.linalg.svd(_unit_shape(points).T @ _unit_shape(known), compute_uv=False).sum()
    return float(min(overlap, 1.0) ** 2)


def distance_rank_correlation(coordinates: ArrayLike, truth: ArrayLike) -> float:
    """Spearman's correlation of the distances on the map with those of a true index, −1 to 1.

    Only the order of the distances counts, so a map that is bent but keeps near and far scores 1.

    Examples
    --------
    >>> round(distance_rank_correlation([[0.0], [1.0], [5.0], [20.0]], [0.0, 1.0, 3.0, 7.0]), 6)
    1.0
    """
    points, known = _matching_maps(coordinates, truth)
    if len(points) < 3:
        raise InputError(f"There are {len(points)} domains. Ranks of distances need 3 or more.")
    distances, true_distances = _tied_distances(points), _tied_distances(known)
    if np.ptp(distances) == 0.0 or np.ptp(true_distances) == 0.0:
        raise InputError("All distances are equal in one of the two maps, so they have no order.")
    return float(spearmanr(distances, true_distances).statistic)


def neighbour_agreement(coordinates: ArrayLike, groups: ArrayLike) -> float:
    """Share of the domains whose nearest other on the map is of the same group, 0 to 1.

    `groups` has a number or a text for each domain, such as the viewpoint of its pictures.

    Examples
    --------
    >>> neighbour_agreement([[0.0], [1.0], [5.0], [6.5], [8.5]], ["a", "a", "b", "b", "c"])
    0.8
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

    Examples
    --------
    >>> round(map_agreement(data, data.domains, -data.true_index)["index_auc"], 6)
    1.0
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


@dataclass(frozen=True)
class MapStability:
    """Procrustes agreement over all pairs of maps: their mean, and the pair that agrees least.

    Examples
    --------
    >>> MapStability(mean=0.98, worst=0.95).worst
    0.95
    """

    mean: float
    worst: float


def map_stability(maps: Sequence[DomainIndex | ArrayLike]) -> MapStability:
    """Whether fits with different seeds draw the same map.

    `maps` are two or more `DomainIndex` values of the same domains, or arrays (domains, components)
    with the domains in the same order.

    Examples
    --------
    >>> round(map_stability([[[0.0], [1.0], [3.0]], [[0.0], [-2.0], [-6.0]]]).worst, 6)
    1.0
    """
    if len(maps) < 2:
        raise InputError(f"There are {len(maps)} maps. Pass the maps of two fits or more.")
    pairs = combinations(_in_one_order(maps), 2)
    agreements = [procrustes_agreement(one, other) for one, other in pairs]
    return MapStability(mean=float(np.mean(agreements)), worst=min(agreements))


def _in_one_order(maps: Sequence[DomainIndex | ArrayLike]) -> list[ArrayLike]:
    """Coordinates of all maps, rows in the order of the first map's domains."""
    named = [one for one in maps if isinstance(one, DomainIndex)]
    if not named:
        return list(maps)  # type: ignore[arg-type]
    if len(named) < len(maps):
        raise InputError("maps mixes DomainIndex values with plain arrays. Pass one kind only.")
    domains = named[0].domains
    for index in named[1:]:
        if set(index.domains) != set(domains):
            strange = list(set(index.domains) ^ set(domains))
            raise InputError(
                f"The maps show different domains: {strange[0]!r} is not on all of them. "
                "Compare fits on the same domains."
            )
    return [index.coordinates[[index.domains.index(d) for d in domains]] for index in named]


def _tied_distances(points: Floats) -> Floats:
    """Distances in units of the largest; those that differ by rounding only are equal."""
    distances = pdist(points)
    return np.round(distances / distances.max(), 9)


def _unit_shape(points: Floats) -> Floats:
    centred = points - points.mean(axis=0)
    return centred / np.linalg.norm(centred)


def _matching_maps(coordinates: ArrayLike, truth: ArrayLike) -> tuple[Floats, Floats]:
    points, known = np.array(coordinates, dtype=np.float64), np.array(truth, dtype=np.float64)
    known = known[:, None] if known.ndim == 1 else known
    if points.ndim != 2 or known.ndim != 2 or len(points) != len(known):
        raise InputError(
            f"One map has shape {points.shape} and the other {known.shape}. "
            "Pass (domains, components) for both, with the same domains in the same order."
        )
    for values in (points, known):
        if not np.isfinite(values).all():
            raise InputError("A map holds NaN or infinity. Pass a finite point for every domain.")
        if not len(values) or not np.ptp(values, axis=0).any():
            raise InputError("All domains lie on one point of a map, so it has no shape.")
    return points, known


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
    if (truth.dtype.kind in "US") != (guess.dtype.kind in "US"):
        raise InputError(
            f"y holds {truth.dtype} and predicted {guess.dtype}, which can never be equal. "
            "Spell classes the same way in both."
        )
    return float((truth == guess).mean())


def squared_error(y: Any, predicted: Any) -> float:
    """Squared errors added over a row's outputs, averaged over rows.

    Examples
    --------
    >>> squared_error([[0.0, 0.0], [1.0, 1.0]], [[3.0, 4.0], [1.0, 1.0]])
    12.5
    """
    truth, guess = (_numbers(values) for values in _same_rows(y, predicted))
    return float(((truth - guess) ** 2).reshape(len(truth), -1).sum(axis=1).mean())


def r2(y: Any, predicted: Any) -> float:
    """1 for perfect predictions, 0 for the mean of `y`; averaged over outputs.

    Examples
    --------
    >>> r2([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), r2([1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    (1.0, 0.0)
    """
    truth, guess = (_numbers(values) for values in _same_rows(y, predicted))
    if len(truth) < 2:
        raise InputError(
            "R² compares with the spread of y, and there is one row. Pass two or more."
        )
    return float(r2_score(truth, guess))


def interval_coverage(y: Any, mean: Any, deviation: Any, level: float = 0.9) -> float:
    """Share of values inside the central Gaussian intervals that should hold `level` of them.

    Examples
    --------
    >>> interval_coverage([0.0, 1.0, 5.0, 0.5], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    0.75
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}. Choose a share between 0 and 1, such as 0.9.")
    truth, centre = (_numbers(values) for values in _same_rows(y, mean))
    _, width = (_numbers(values) for values in _same_rows(y, deviation))
    return float((np.abs(truth - centre) <= norm.ppf((1 + level) / 2) * width).mean())


def target_accuracy(dataset: DomainDataset, predicted: Any) -> float:
    """Accuracy over all rows of target domains; `predicted` has a class for every row.

    Examples
    --------
    >>> target_accuracy(data, np.where(data.is_source, 0, data.y))
    1.0
    """
    _same_rows(dataset.y, predicted)
    target = ~dataset.is_source
    if not target.any():
        raise InputError(f"{dataset.name} has no rows in target domains, so nothing to score.")
    return accuracy(dataset.y[target], np.asarray(predicted)[target])


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


def paper_error(y: Any, predicted: Any, sample_domain: Any) -> float:
    """The error that the paper reports for regression.

    Squared errors are added over outputs, averaged over a domain's rows, then over domains: a
    domain with many rows counts no more than another. Pass `y` on the standardised scale, as the
    datasets hold it, and the rows of target domains only.

    Examples
    --------
    >>> paper_error([0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], ["TX", "FL", "FL", "FL"])
    2.0
    """
    errors = scores_by_domain(y, predicted, sample_domain, squared_error)
    return float(np.mean(list(errors.values())))


def scores_by_level(
    by_domain: Mapping[Hashable, float], levels: Mapping[Hashable, int] | None
) -> dict[int, float]:
    """The mean score of the domains at each level, as in `DomainDataset.levels`, nearest first.

    Examples
    --------
    >>> scores_by_level({"NV": 0.5, "UT": 0.25, "ME": 2.0}, {"NV": 1, "UT": 1, "ME": 3})
    {1: 0.375, 3: 2.0}
    """
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
