"""Classical scaling: from distances to a map, turned onto an older one, with room for newcomers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, orthogonal_procrustes

from domindex.errors import InputError
from domindex.geometry.distance_checks import check_distances

FLAT_AXIS = 1e-3
"""Spread of an axis, relative to the widest, below which it cannot tell where a newcomer lies."""


def classical_scaling(distances: ArrayLike, n_components: int) -> NDArray[np.float64]:
    """Coordinates (N, n_components), centred, whose distances come closest in inner products.

    With B = −½ J D² J (J centres), X = V √Λ from B's largest eigenpairs; negative eigenvalues,
    which a distance that is not Euclidean can have, count as zero. The entry of largest size in
    each column is positive, so the same distances always give the same map.

    Examples
    --------
    Three points on a line come back on a line:

    >>> from domindex.geometry import classical_scaling
    >>> classical_scaling([[0, 1, 3], [1, 0, 2], [3, 2, 0]], n_components=1)[:, 0].round(3)
    array([-1.333, -0.333,  1.667])
    """
    matrix = check_distances(distances)
    if n_components < 1:
        raise InputError(f"n_components is {n_components}. Ask for 1 or more.")
    kept = min(n_components, len(matrix))
    values, vectors = eigh(
        _centred_products(matrix), subset_by_index=[len(matrix) - kept, len(matrix) - 1]
    )
    coordinates = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    largest = np.abs(coordinates).argmax(axis=0)
    coordinates *= np.where(coordinates[largest, np.arange(kept)] < 0, -1.0, 1.0)
    return np.pad(coordinates, ((0, 0), (0, n_components - kept)))


def unit_scale(coordinates: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Points divided by their root mean square length, and that length (1 where all are zero)."""
    length = float(np.sqrt((coordinates**2).sum(axis=1).mean())) or 1.0
    return coordinates / length, length


def scaling_spectrum(distances: ArrayLike) -> NDArray[np.float64]:
    """All N eigenvalues of B in falling order: how many directions the map really has.

    Examples
    --------
    Points on a line need one direction:

    >>> from domindex.geometry import scaling_spectrum
    >>> (scaling_spectrum([[0, 1, 3], [1, 0, 2], [3, 2, 0]]) > 1e-9).tolist()
    [True, False, False]
    """
    return eigh(_centred_products(check_distances(distances)), eigvals_only=True)[::-1]


def procrustes_align(embedding: ArrayLike, reference: ArrayLike) -> NDArray[np.float64]:
    """Rotate, reflect and shift `embedding` onto `reference`, both (domains, components).

    Scaling fixes distances, not orientation: unaligned, the index would flip between epochs.

    Examples
    --------
    A map that was turned by a right angle is turned back:

    >>> import numpy as np
    >>> from domindex.geometry import procrustes_align
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> turned = points @ [[0.0, 1.0], [-1.0, 0.0]]
    >>> bool(np.allclose(procrustes_align(turned, points), points))
    True
    """
    points = np.asarray(embedding, dtype=np.float64)
    goal = np.asarray(reference, dtype=np.float64)
    if points.shape != goal.shape or points.ndim != 2:
        raise InputError(
            f"embedding has shape {points.shape} and reference {goal.shape}. "
            "Both must be (domains, components), with the domains in the same order."
        )
    centred = points - points.mean(axis=0)
    rotation, _ = orthogonal_procrustes(centred, goal - goal.mean(axis=0))
    return centred @ rotation + goal.mean(axis=0)


def place(
    distances_to_known: ArrayLike,
    embedding: ArrayLike,
    known_distances: ArrayLike | None = None,
    flat_axis: float = FLAT_AXIS,
) -> NDArray[np.float64]:
    """Put new domains into an existing map without moving it.

    Gower's formula, with X the centred map and δ² the squared distances to its points:
    x = ½ X⁺ (mean of D² over columns − δ²). Exact where the map shows the distances exactly.

    Parameters
    ----------
    distances_to_known : (known,) or (new, known)
    embedding : (known, components)
    known_distances : (known, known), the distances the map was made from; the map's own where None
    flat_axis : spread of an axis, relative to the widest, below which newcomers lie at its middle

    Returns
    -------
    (components,) or (new, components)

    Examples
    --------
    Between two points, one length from each:

    >>> from domindex.geometry import place
    >>> place([1.0, 1.0], [[0.0], [2.0]]).tolist()
    [1.0]
    """
    points = np.asarray(embedding, dtype=np.float64)
    gaps = np.asarray(distances_to_known, dtype=np.float64)
    if points.ndim != 2 or gaps.ndim not in (1, 2) or gaps.shape[-1] != len(points):
        raise InputError(
            f"distances_to_known has shape {gaps.shape} and embedding {points.shape}. "
            "Pass one distance to every known domain: (known,) or (new, known)."
        )
    if not np.isfinite(gaps).all() or (gaps < 0).any():
        raise InputError("distances_to_known holds NaN, infinite or negative entries.")
    centre = points.mean(axis=0)
    centred = points - centre
    if known_distances is None:
        squares = ((centred[:, None, :] - centred[None, :, :]) ** 2).sum(axis=-1)
    else:
        squares = check_distances(known_distances) ** 2
    inverse = np.linalg.pinv(centred, rcond=flat_axis)
    return centre + 0.5 * (squares.mean(axis=0) - gaps**2) @ inverse.T


def _centred_products(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = matrix**2
    means = squares.mean(axis=0)
    return -0.5 * (squares - means[:, None] - means[None, :] + means.mean())
