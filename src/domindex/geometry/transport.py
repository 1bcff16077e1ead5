"""2-Wasserstein distances between the clouds of many domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist, pdist, squareform

from domindex.arrays import Floats, Ints
from domindex.cluster import cluster_errors
from domindex.errors import InputError
from domindex.geometry.settings import MAP

Method = Literal["exact", "sinkhorn", "sliced"]


def transport_distances(
    samples: Sequence[ArrayLike], method: Method = "exact", n_jobs: int | None = None
) -> Floats:
    """Distances W₂(k, j) between every two clouds, a symmetric (N, N) matrix with zero diagonal.

    W₂²(k, j) = min over couplings π of E_π ‖x − x'‖², each row of a cloud with equal weight.

    Parameters
    ----------
    samples : N arrays (rows, features); the numbers of rows may differ
    method : "exact" solves the transport problem of every pair. "sinkhorn" takes the debiased
        entropic cost OT(k, j) − ½OT(k, k) − ½OT(j, j). "sliced" takes the mean over random
        directions of 1-D distances, times the dimension, so that a shift costs its length as in
        the other two; there is no loop over pairs: for many domains.
    n_jobs : processes for the pairs, as in joblib; the result does not depend on it

    Examples
    --------
    Moving a cloud costs exactly the shift:

    >>> from domindex.geometry import transport_distances
    >>> cloud = np.random.default_rng(0).normal(size=(20, 2))
    >>> transport_distances([cloud, cloud + [3.0, 4.0]]).round(6).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    clouds = check_clouds(samples)
    if method == "sliced":
        return squareform(pdist(sliced_vectors(clouds)))
    pairs = np.stack(np.triu_indices(len(clouds), k=1), axis=1)
    distances = np.zeros((len(clouds), len(clouds)))
    if len(pairs):
        distances[tuple(pairs.T)] = _pair_distances(clouds, pairs, method, n_jobs)
    return distances + distances.T


def transport_of_pairs(samples: Sequence[ArrayLike], pairs: ArrayLike) -> Floats:
    """Exact distances (pairs,) between the clouds that each of `pairs` (pairs, 2) numbers."""
    used, places = np.unique(np.asarray(pairs, dtype=np.int64), return_inverse=True)
    clouds = check_clouds([samples[number] for number in used])
    return _pair_distances(clouds, places.reshape(-1, 2), "exact", None)


def thin(cloud: Floats) -> Floats:
    """At most `max_points` rows, the same ones every time."""
    if len(cloud) <= MAP.max_points:
        return cloud
    return cloud[np.random.default_rng(0).permutation(len(cloud))[: MAP.max_points]]


def check_clouds(samples: Sequence[ArrayLike]) -> list[Floats]:
    """One finite (rows, features) array per domain, all with the same features."""
    clouds = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if not clouds:
        raise InputError("samples is empty. Pass one array (rows, features) per domain.")
    for number, cloud in enumerate(clouds):
        if cloud.ndim != 2 or 0 in cloud.shape:
            raise InputError(
                f"samples[{number}] has shape {cloud.shape}. "
                "Pass one non-empty array (rows, features) per domain."
            )
        if cloud.shape[1] != clouds[0].shape[1]:
            raise InputError(
                f"samples[{number}] has {cloud.shape[1]} features, but samples[0] has "
                f"{clouds[0].shape[1]}. Give every domain the same features."
            )
        if not np.isfinite(cloud).all():
            raise InputError(f"samples[{number}] holds NaN or infinity. Impute or drop these rows.")
    return clouds


def check_distances(distances: ArrayLike) -> Floats:
    """A finite, symmetric, non-negative (N, N) matrix with zero diagonal, as a new array."""
    matrix = np.array(distances, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise InputError(
            f"distances has shape {matrix.shape}. Pass a square matrix with a row per domain."
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InputError(
            "distances holds NaN, infinite or negative entries. "
            "Pass finite distances, for example from transport_distances."
        )
    tolerance = 1e-8 * max(float(matrix.max()), np.finfo(float).tiny)
    if np.abs(matrix - matrix.T).max() > tolerance or np.abs(np.diag(matrix)).max() > tolerance:
        raise InputError(
            "distances is not symmetric with a zero diagonal. "
            "Symmetrise it with (D + D.T) / 2 and set its diagonal to zero."
        )
    return matrix


def _pair_distances(
    clouds: Sequence[Floats], pairs: Ints, method: Method, n_jobs: int | None
) -> Floats:
    if method == "exact":
        return _solve_pairs(clouds, pairs, _exact, n_jobs)
    if method != "sinkhorn":
        raise InputError(f"method is {method!r}. Choose 'exact', 'sinkhorn' or 'sliced'.")
    # One scale, and so one regularisation, for all pairs: else the debiasing would not cancel.
    scale = float(np.sqrt(2.0 * np.concatenate(clouds).var(axis=0).sum())) or 1.0
    unit = [cloud / scale for cloud in clouds]
    own = np.array([_entropic_cost(cloud, cloud) for cloud in unit])
    between = _solve_pairs(unit, pairs, _entropic_cost, n_jobs)
    return np.sqrt(np.maximum(between - own[pairs].mean(axis=1), 0.0)) * scale


Distance = Callable[[Floats, Floats], float]


def _solve_pairs(
    clouds: Sequence[Floats], pairs: Ints, distance: Distance, n_jobs: int | None
) -> Floats:
    n_chunks = min(4 * effective_n_jobs(n_jobs), len(pairs))  # much work at once for a process
    with cluster_errors():
        results = Parallel(n_jobs=n_jobs)(
            delayed(_chunk_distances)(clouds, chunk.tolist(), distance)
            for chunk in np.array_split(pairs, n_chunks)
        )
    return np.concatenate(results)


def _chunk_distances(
    clouds: Sequence[Floats], chunk: list[list[int]], distance: Distance
) -> list[float]:
    return [distance(clouds[first], clouds[second]) for first, second in chunk]


def _exact(first: Floats, second: Floats) -> float:
    """By assignment where that is faster than the network simplex; on a line by order."""
    is_line = first.shape[1] == 1
    if not is_line:
        cost = cdist(first, second, "sqeuclidean")
        if len(first) == len(second) <= 130:
            return float(np.sqrt(max(cost[linear_sum_assignment(cost)].mean(), 0.0)))
    import ot  # here, not above: it imports every tensor library, and workers start often

    if is_line:
        value = ot.wasserstein_1d(first[:, 0], second[:, 0], p=2)
    else:
        value = ot.emd2([], [], cost, numItermax=10_000_000, check_marginals=False)
    return float(np.sqrt(max(value, 0.0)))


def _entropic_cost(first: Floats, second: Floats, entropy: float = 0.1) -> float:
    """`entropy` is relative to the mean squared distance; logarithms where kernels underflow."""
    import ot

    cost = cdist(first, second, "sqeuclidean")
    method = "sinkhorn" if cost.max() / entropy < 500.0 else "sinkhorn_log"
    return float(ot.sinkhorn2([], [], cost, reg=entropy, method=method, stopThr=1e-6, warn=False))


def sliced_levels(sizes: set[int]) -> Floats:
    """Levels of the quantiles that clouds of these sizes are compared by."""
    size = max(sizes)
    if len(sizes) > 1 or size > MAP.n_quantiles:
        size = MAP.n_quantiles  # else the order statistics themselves
    return (np.arange(size) + 0.5) / size


def sliced_vectors(clouds: Sequence[Floats], levels: Floats | None = None) -> Floats:
    """(clouds, directions · levels): quantiles along fixed directions.

    Their Euclidean distances are those of "sliced". The levels follow the sizes where None.
    """
    if levels is None:
        levels = sliced_levels({len(cloud) for cloud in clouds})
    directions = _directions(clouds[0].shape[1], MAP.n_directions)
    vectors = np.empty((len(clouds), len(levels) * MAP.n_directions))
    for vector, cloud in zip(vectors, clouds):
        vector[:] = column_quantiles(cloud @ directions, levels).ravel()
    vectors *= np.sqrt(len(directions) / vectors.shape[1])
    return vectors


def _sliced_vectors_at_once(clouds: Sequence[Floats], levels: Floats) -> Floats:
    """`sliced_vectors` up to order and rounding, clouds of one size in one product."""
    n_features = clouds[0].shape[1]  # along a line there is only one direction
    directions = _directions(n_features, MAP.n_directions if n_features > 1 else 1)
    vectors = np.empty((len(clouds), directions.shape[1] * len(levels)))
    for numbers in groups_by_size(clouds):
        rows = np.concatenate([clouds[number] for number in numbers]) @ directions
        columns = rows.reshape(len(numbers), -1, directions.shape[1]).swapaxes(1, 2)
        vectors[numbers] = _at_levels(np.sort(columns, axis=2), levels).reshape(len(numbers), -1)
    vectors *= np.sqrt(n_features / vectors.shape[1])
    return vectors


def groups_by_size(arrays: Sequence[Floats]) -> list[list[int]]:
    """Numbers of the arrays, those of equal length together."""
    by_size: dict[int, list[int]] = {}
    for number, array in enumerate(arrays):
        by_size.setdefault(len(array), []).append(number)
    return list(by_size.values())


def _directions(n_features: int, count: int) -> Floats:
    """(n_features, count) random ones of length 1."""
    directions = np.random.default_rng(0).normal(size=(n_features, count))
    directions /= np.linalg.norm(directions, axis=0)
    return directions


def column_quantiles(values: NDArray, levels: NDArray) -> NDArray:
    """Quantiles down each column at `levels`; the order statistics where there are as many.

    To the bit np.quantile(…, method="hazen"), which for so many levels takes thirty times as long.
    """
    return _at_levels(np.sort(values.T, axis=1), levels).T


def _at_levels(ordered: NDArray, levels: NDArray) -> NDArray:
    """Quantiles along the last axis, whose values rise."""
    size = ordered.shape[-1]
    place = np.clip(size * levels - 0.5, 0, size - 1)
    low = np.floor(place).astype(np.int64)
    share = place - low
    below, above = ordered[..., low], ordered[..., np.minimum(low + 1, size - 1)]
    step = above - below
    return np.where(share < 0.5, below + step * share, above - step * (1 - share))


def transport_to_known(
    new: Sequence[Floats],
    known: Sequence[Floats],
    method: Method,
    n_nearest: int | None = None,
    reach: Floats | None = None,
    *,
    at_once: bool = False,
) -> Floats:
    """(new, known) distances, each as if its new cloud had come alone; "sinkhorn" is exact here.

    With `n_nearest`, distances beyond that many nearest, and beyond `reach` (known,), may be left
    at infinity: geodesics start with a step to one of these, and exact transport takes long. A
    lower bound by moments says who can be among them, so the result is that of the full search.
    With `at_once`, sliced distances of many clouds come from one product, right up to rounding.
    """
    clouds = check_clouds([*known, *new])[len(known) :]
    if method == "sliced":
        return _sliced_to_known(clouds, known, at_once)
    if n_nearest is None or n_nearest >= len(known):
        return np.array([[_exact(other, cloud) for other in known] for cloud in clouds])
    bounds = moment_bounds(clouds, known) * (1.0 - 1e-7)  # rounding must not make it too large
    reach = np.zeros(len(known)) if reach is None else reach
    return np.stack(
        [_to_nearest(cloud, known, bound, n_nearest, reach) for cloud, bound in zip(clouds, bounds)]
    )


def _to_nearest(
    cloud: Floats, known: Sequence[Floats], bounds: Floats, n_nearest: int, reach: Floats
) -> Floats:
    """(known,) exact distances where the bound leaves a chance to be near."""
    result = np.full(len(known), np.inf)
    order = np.argsort(bounds, kind="stable")
    first = np.union1d(order[:n_nearest], np.flatnonzero(bounds <= reach))
    result[first] = [_exact(known[number], cloud) for number in first]
    for number in order[np.isinf(result[order])]:
        if bounds[number] > np.partition(result, n_nearest - 1)[n_nearest - 1]:
            break
        result[number] = _exact(known[number], cloud)
    return result


def _sliced_to_known(new: Sequence[Floats], known: Sequence[Floats], at_once: bool) -> Floats:
    """Levels depend on the sizes of the clouds compared: one pass for each kind, so that a new
    cloud is measured alike whatever other new ones come with it."""
    sizes = {len(cloud) for cloud in known}
    levels_of = [sliced_levels(sizes | {len(cloud)}) for cloud in new]
    vectors_of = _sliced_vectors_at_once if at_once else sliced_vectors
    distances_of = _product_distances if at_once else cdist
    result = np.empty((len(new), len(known)))
    for numbers in groups_by_size(levels_of):
        levels = levels_of[numbers[0]]
        goal = vectors_of(known, levels)
        for start in range(0, len(numbers), MAP.block):
            part = numbers[start : start + MAP.block]
            result[part] = distances_of(vectors_of([new[n] for n in part], levels), goal)
    return result


def _product_distances(first: Floats, second: Floats) -> Floats:
    """Euclidean distances of long vectors by a product: fast, right to 1e-8 of their length."""
    centre = second.mean(axis=0)
    first, second = first - centre, second - centre
    squares = -2.0 * first @ second.T
    squares += np.einsum("ij,ij->i", first, first)[:, None]
    squares += np.einsum("ij,ij->i", second, second)
    return np.sqrt(np.maximum(squares, 0.0))


def moment_bounds(new: Sequence[Floats], known: Sequence[Floats]) -> Floats:
    """(new, known) lower bounds of transport, by the clouds' moments (Gelbrich):
    W₂² ≥ ‖m − m'‖² + tr(C + C' − 2 (C½ C' C½)½).
    """
    means, covariances = _moments(new)
    known_means, known_covariances = _moments(known)
    values, vectors = np.linalg.eigh(known_covariances)
    roots = np.einsum("kij,kj,klj->kil", vectors, np.sqrt(np.maximum(values, 0.0)), vectors)
    inner = np.einsum("kij,njl,klm->nkim", roots, covariances, roots)
    crossed = np.sqrt(np.maximum(np.linalg.eigvalsh(inner), 0.0)).sum(axis=-1)
    traces = np.trace(covariances, axis1=1, axis2=2)[:, None]
    shape = traces + np.trace(known_covariances, axis1=1, axis2=2) - 2.0 * crossed
    scale = traces + (means**2).sum(axis=1)[:, None]
    squares = cdist(means, known_means, "sqeuclidean") + np.maximum(shape, 0.0)
    return np.sqrt(np.maximum(squares - 1e-7 * scale, 0.0))


def _moments(clouds: Sequence[Floats]) -> tuple[Floats, Floats]:
    means = np.stack([cloud.mean(axis=0) for cloud in clouds])
    centred = [cloud - mean for cloud, mean in zip(clouds, means)]
    return means, np.stack([part.T @ part / len(part) for part in centred])


def misalignment(clouds: Sequence[Floats]) -> float:
    """Mean sliced distance between whitened clouds, per dimension: 0 where all coincide."""
    whiten = whitening(np.concatenate(clouds))
    distances = transport_distances([cloud @ whiten for cloud in clouds], method="sliced")
    return float(distances[np.triu_indices(len(clouds), k=1)].mean() / len(whiten) ** 0.5)


def misfit(clouds: Sequence[Floats], n_shuffles: int = 3) -> float:
    """`misalignment` relative to that of the same rows shuffled over the domains.

    About 1 or less where domains differ by chance alone.
    """
    rng = np.random.default_rng(0)
    clouds = [thin(cloud) for cloud in clouds]
    pooled = np.concatenate(clouds)
    cuts = np.cumsum([len(cloud) for cloud in clouds])[:-1]
    shuffled = [np.split(rng.permutation(pooled), cuts) for _ in range(n_shuffles)]
    floor = float(np.mean([misalignment(parts) for parts in shuffled]))
    return misalignment(clouds) / (floor or 1.0)


def whitening(points: Floats) -> Floats:
    """W (p, p) such that the rows of points @ W have unit covariance."""
    covariance = np.atleast_2d(np.cov(points.T, bias=True))
    covariance += 1e-9 * (np.trace(covariance) or 1.0) * np.eye(len(covariance))
    return np.linalg.inv(np.linalg.cholesky(covariance)).T
