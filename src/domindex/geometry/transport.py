"""2-Wasserstein distances between the clouds of many domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.metrics.pairwise import euclidean_distances

from domindex.arrays import Floats, Ints
from domindex.cluster import cluster_errors
from domindex.errors import InputError
from domindex.geometry.settings import MAP

Method = Literal["exact", "sinkhorn", "sliced"]
Distance = Callable[[Floats, Floats], float]


def transport_distances(
    samples: Sequence[ArrayLike], method: Method = "exact", n_jobs: int | None = None
) -> Floats:
    """Distances W₂(k, j) between every two clouds, a symmetric (N, N) matrix with zero diagonal.

    W₂²(k, j) = min over couplings π of E_π ‖x − x'‖², each row of a cloud with equal weight.

    Parameters
    ----------
    samples : N arrays (rows, features); the numbers of rows may differ
    method : "exact" solves the transport problem of every pair. "sinkhorn" takes the debiased
        entropic cost OT(k, j) − ½OT(k, k) − ½OT(j, j). "sliced", for many domains, takes the mean
        over random directions of 1-D distances, times the dimension: a shift costs its length
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
    if method not in get_args(Method):
        raise InputError(f"method is {method!r}. Choose 'exact', 'sinkhorn' or 'sliced'.")
    if method == "sliced":
        return squareform(pdist(_sliced_vectors(clouds, _n_levels({len(c) for c in clouds}))))
    pairs = np.stack(np.triu_indices(len(clouds), k=1), axis=1)
    if method == "exact":
        found = _solve_pairs(clouds, pairs, _exact, n_jobs)
    else:
        # One scale, and so one regularisation, for all pairs: else the debiasing would not cancel.
        scale = float(np.sqrt(2.0 * np.concatenate(clouds).var(axis=0).sum())) or 1.0
        unit = [cloud / scale for cloud in clouds]
        own = np.array([_entropic_cost(cloud, cloud) for cloud in unit])
        between = _solve_pairs(unit, pairs, _entropic_cost, n_jobs)
        found = np.sqrt(np.maximum(between - own[pairs].mean(axis=1), 0.0)) * scale
    distances = np.zeros((len(clouds), len(clouds)))
    distances[tuple(pairs.T)] = found
    return distances + distances.T


def transport_of_pairs(clouds: Sequence[Floats], pairs: Ints) -> Floats:
    """Exact distances (pairs,) between the clouds that each of `pairs` (pairs, 2) numbers."""
    return np.array([_exact(clouds[first], clouds[second]) for first, second in pairs])


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


def _solve_pairs(
    clouds: Sequence[Floats], pairs: Ints, distance: Distance, n_jobs: int | None
) -> Floats:
    n_chunks = max(min(4 * effective_n_jobs(n_jobs), len(pairs)), 1)  # much work for a process
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


def _n_levels(sizes: set[int]) -> int:
    """How many quantiles clouds of these sizes are compared by: all values where few and alike."""
    return max(sizes) if len(sizes) == 1 and max(sizes) <= MAP.n_quantiles else MAP.n_quantiles


def _sliced_vectors(clouds: Sequence[Floats], n_levels: int) -> Floats:
    """(clouds, levels · directions): their Euclidean distances are those of "sliced"."""
    n_features = clouds[0].shape[1]  # along a line there is only one direction
    shape = (n_features, MAP.n_directions if n_features > 1 else 1)
    directions = np.random.default_rng(0).normal(size=shape)
    directions /= np.linalg.norm(directions, axis=0)
    levels = (np.arange(n_levels) + 0.5) / n_levels
    vectors = np.empty((len(clouds), n_levels * shape[1]))
    for vector, cloud in zip(vectors, clouds):
        vector[:] = column_quantiles(cloud @ directions, levels).ravel()
    vectors *= np.sqrt(n_features / vectors.shape[1])
    return vectors


def column_quantiles(values: NDArray, levels: NDArray) -> NDArray:
    """np.quantile(…, method="hazen") down each column, to the bit, in a thirtieth of the time."""
    ordered, size = np.sort(values.T, axis=1), len(values)
    place = np.clip(size * levels - 0.5, 0, size - 1)
    low = np.floor(place).astype(np.int64)
    share = place - low
    below, above = ordered[:, low], ordered[:, np.minimum(low + 1, size - 1)]
    step = above - below
    return np.where(share < 0.5, below + step * share, above - step * (1 - share)).T


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

    With `n_nearest`, exact distances beyond that many nearest, and beyond `reach` (known,), may be
    left at infinity: geodesics start with a step to one of these. With `at_once`, sliced distances
    of many clouds come from one product, right up to rounding.
    """
    clouds = check_clouds([*known, *new])[len(known) :]
    if method == "sliced":
        return _sliced_to_known(clouds, known, at_once)
    if n_nearest is None or n_nearest >= len(known):
        return np.array([[_exact(other, cloud) for other in known] for cloud in clouds])
    bounds = moment_bounds(clouds, known) * (1.0 - 1e-7)  # rounding must not make it too large
    result = np.full(bounds.shape, np.inf)
    for found, cloud, bound in zip(result, clouds, bounds):
        order = np.argsort(bound, kind="stable")
        within = np.flatnonzero(bound <= (0.0 if reach is None else reach))
        first = np.union1d(order[:n_nearest], within)
        found[first] = [_exact(known[number], cloud) for number in first]
        for number in order[np.isinf(found[order])]:
            if bound[number] > np.partition(found, n_nearest - 1)[n_nearest - 1]:
                break
            found[number] = _exact(known[number], cloud)
    return result


def _sliced_to_known(new: Sequence[Floats], known: Sequence[Floats], at_once: bool) -> Floats:
    """Levels depend on the sizes that are compared: a pass for each number of them, so that a new
    cloud is measured alike whatever other new ones come with it."""
    sizes = {len(cloud) for cloud in known}
    n_levels = np.array([_n_levels(sizes | {len(cloud)}) for cloud in new])
    result = np.empty((len(new), len(known)))
    for count in np.unique(n_levels).tolist():
        goal, numbers = _sliced_vectors(known, count), np.flatnonzero(n_levels == count)
        centre = goal.mean(axis=0)
        for start in range(0, len(numbers), MAP.block):
            part = numbers[start : start + MAP.block]
            vectors = _sliced_vectors([new[number] for number in part], count)
            if at_once:
                result[part] = euclidean_distances(vectors - centre, goal - centre)
            else:
                result[part] = cdist(vectors, goal)
    return result


def moment_bounds(new: Sequence[Floats], known: Sequence[Floats]) -> Floats:
    """(new, known) lower bounds of transport, by the clouds' moments (Gelbrich):
    W₂² ≥ ‖m − m'‖² + tr(C + C' − 2 (C½ C' C½)½).
    """
    _, means, covariances = moments_of(new)
    _, known_means, known_covariances = moments_of(known)
    values, vectors = np.linalg.eigh(known_covariances)
    roots = np.einsum("kij,kj,klj->kil", vectors, np.sqrt(np.maximum(values, 0.0)), vectors)
    inner = np.einsum("kij,njl,klm->nkim", roots, covariances, roots)
    crossed = np.sqrt(np.maximum(np.linalg.eigvalsh(inner), 0.0)).sum(axis=-1)
    traces = np.trace(covariances, axis1=1, axis2=2)[:, None]
    shape = traces + np.trace(known_covariances, axis1=1, axis2=2) - 2.0 * crossed
    scale = traces + (means**2).sum(axis=1)[:, None]
    squares = cdist(means, known_means, "sqeuclidean") + np.maximum(shape, 0.0)
    return np.sqrt(np.maximum(squares - 1e-7 * scale, 0.0))


def moments_of(clouds: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
    """Sizes (clouds,), means (clouds, p) and covariances (clouds, p, p)."""
    sizes = np.array([len(cloud) for cloud in clouds], dtype=np.float64)
    means = np.stack([cloud.mean(axis=0) for cloud in clouds])
    own = [(cloud - mean).T @ (cloud - mean) / len(cloud) for cloud, mean in zip(clouds, means)]
    return sizes, means, np.stack(own)


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
