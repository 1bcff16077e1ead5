"""Transport distances from many new clouds to the known ones, no more of them than are needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from domindex.geometry.transport import (
    Method,
    check_clouds,
    sliced_levels,
    sliced_vectors,
    sliced_vectors_at_once,
    transport_distances_to,
)

Floats = NDArray[np.float64]

SAFETY = 1e-7
"""Relative to a bound: rounding must not make it larger than the distance it bounds."""


BLOCK = 256
"""New clouds that are measured together; for memory."""


def transport_to_known(
    new: Sequence[Floats],
    known: Sequence[Floats],
    method: Method,
    n_nearest: int | None = None,
    reach: Floats | None = None,
    *,
    at_once: bool = False,
) -> Floats:
    """(new, known) distances, each as `transport_distances_to` measures it for one new cloud alone.

    With `n_nearest`, distances beyond that many nearest, and beyond `reach` (known,), may be left
    at infinity: geodesics start with a step to one of these, and exact transport is the dear part.
    Which known clouds can be among them is told by a bound from moments (Gelbrich),
    W₂² ≥ ‖m − m'‖² + tr(C + C' − 2 (C½ C' C½)½), so the result is that of the full search.
    With `at_once`, sliced distances of many clouds come from one product, right up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.geometry.nearest_transport import transport_to_known
    >>> cloud = np.random.default_rng(0).normal(size=(30, 2))
    >>> known = [cloud + [x, 0.0] for x in range(5)]
    >>> transport_to_known([cloud + [1.2, 0.0]], known, "exact", n_nearest=2).round(3).tolist()
    [[inf, 0.2, 0.8, inf, inf]]
    """
    clouds = check_clouds([*known, *new])[len(known) :]
    if method == "sliced":
        return _sliced(clouds, known, at_once)
    if n_nearest is None or n_nearest >= len(known) or method != "exact":
        return np.stack([transport_distances_to(cloud, known, method=method) for cloud in clouds])
    bounds = moment_bounds(clouds, known) * (1.0 - SAFETY)
    reach = np.zeros(len(known)) if reach is None else reach
    return np.stack(
        [_nearest(cloud, known, bound, n_nearest, reach) for cloud, bound in zip(clouds, bounds)]
    )


def _nearest(
    cloud: Floats, known: Sequence[Floats], bounds: Floats, n_nearest: int, reach: Floats
) -> Floats:
    """(known,) exact distances where the bound leaves a chance to be near."""
    result = np.full(len(known), np.inf)
    order = np.argsort(bounds, kind="stable")
    first = np.union1d(order[:n_nearest], np.flatnonzero(bounds <= reach))
    result[first] = transport_distances_to(cloud, [known[k] for k in first])
    for number in order[np.isinf(result[order])]:
        if bounds[number] > np.partition(result, n_nearest - 1)[n_nearest - 1]:
            break
        result[number] = transport_distances_to(cloud, [known[number]])[0]
    return result


def _sliced(new: Sequence[Floats], known: Sequence[Floats], at_once: bool) -> Floats:
    """Levels depend on the sizes of the clouds compared: one pass for each kind, so that a new
    cloud is measured alike whatever other new ones come with it."""
    sizes = {len(cloud) for cloud in known}
    by_levels: dict[int, list[int]] = {}
    for number, cloud in enumerate(new):
        by_levels.setdefault(len(sliced_levels(sizes | {len(cloud)})), []).append(number)
    vectors_of = sliced_vectors_at_once if at_once else sliced_vectors
    distances_of = _product_distances if at_once else cdist
    result = np.empty((len(new), len(known)))
    for numbers in by_levels.values():
        levels = sliced_levels(sizes | {len(new[numbers[0]])})
        goal = vectors_of(known, levels)
        for start in range(0, len(numbers), BLOCK):
            part = numbers[start : start + BLOCK]
            result[part] = distances_of(vectors_of([new[n] for n in part], levels), goal)
    return result


def _product_distances(first: Floats, second: Floats) -> Floats:
    """Euclidean distances of long vectors by a product: a fraction of the time, right to 1e-8 of
    their length."""
    centre = second.mean(axis=0)
    first, second = first - centre, second - centre
    squares = -2.0 * first @ second.T
    squares += np.einsum("ij,ij->i", first, first)[:, None]
    squares += np.einsum("ij,ij->i", second, second)
    return np.sqrt(np.maximum(squares, 0.0))


def moment_bounds(new: Sequence[Floats], known: Sequence[Floats]) -> Floats:
    """(new, known) distances of normal clouds with the same moments: no transport is shorter."""
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
    return np.sqrt(np.maximum(squares - SAFETY * scale, 0.0))


def _moments(clouds: Sequence[Floats]) -> tuple[Floats, Floats]:
    means = np.stack([cloud.mean(axis=0) for cloud in clouds])
    centred = [cloud - mean for cloud, mean in zip(clouds, means)]
    return means, np.stack([part.T @ part / len(part) for part in centred])
