"""Distances between the points of a map: a matrix of few, and of many no more than is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.neighbors import NearestNeighbors

from domindex.geometry.landmarks import MOST_DRAWN

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PointDistances:
    """Distances between the domains of a map.

    Attributes
    ----------
    points : (domains, index_dim)
    matrix : (domains, domains) where domains are few; None beyond `MOST_DRAWN`

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.geometry.point_distances import PointDistances
    >>> line = PointDistances.of(np.array([[0.0], [1.0], [5.0]]))
    >>> line.row(1).tolist(), line.to_nearest(np.array([2]), np.array([0, 1])).tolist()
    ([1.0, 0.0, 4.0], [4.0])
    """

    points: Floats
    matrix: Floats | None

    @classmethod
    def of(cls, points: Floats) -> PointDistances:
        """Of the coordinates of a map."""
        return cls(points, squareform(pdist(points)) if len(points) <= MOST_DRAWN else None)

    @classmethod
    def of_matrix(cls, matrix: Floats) -> PointDistances:
        """Of distances that are known already."""
        return cls(np.empty((len(matrix), 0)), matrix)

    def row(self, number: int) -> Floats:
        """(domains,) from one domain to all."""
        if self.matrix is not None:
            return self.matrix[number]
        return cdist(self.points[number : number + 1], self.points)[0]

    def to_nearest(self, numbers: Numbers, others: Numbers) -> Floats:
        """(numbers,) from each domain to the nearest of the others."""
        if self.matrix is not None:
            return self.matrix[np.ix_(numbers, others)].min(axis=1)
        search = NearestNeighbors(n_neighbors=1).fit(self.points[others])
        return search.kneighbors(self.points[numbers])[0][:, 0]


def nearest_points(
    points: Floats, count: int, goals: Floats | None = None, own: Numbers | None = None
) -> tuple[Numbers, Floats]:
    """(points, count) numbers of the nearest goals, and their distances.

    Of the other points where `goals` is None. `own` (points,) numbers each point among the goals,
    to be left out; -1 where it is none of them. Of many by a tree, without a matrix; of few by a
    stable sort, so that of domains at one place the first comes first.
    """
    if goals is None:
        goals, own = points, np.arange(len(points))
    if own is None:
        own = np.full(len(points), -1)
    if max(len(points), len(goals)) <= MOST_DRAWN:
        gaps = cdist(points, goals)
        left_out = np.flatnonzero(own >= 0)
        gaps[left_out, own[left_out]] = np.inf
        found = np.argsort(gaps, axis=1, kind="stable")[:, :count]
        return found, np.take_along_axis(gaps, found, axis=1)
    more = min(count + 1, len(goals))
    gaps, found = NearestNeighbors(n_neighbors=more).fit(goals).kneighbors(points)
    # A point itself goes to the end; where it is not among those found, the last one does.
    order = np.argsort(found == own[:, None], axis=1, kind="stable")[:, :count]
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(gaps, order, axis=1)
