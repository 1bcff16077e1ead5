"""The map of the domains as a value."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist, squareform

from domindex.errors import InputError
from domindex.geometry.scaling import classical_scaling, scaling_spectrum


@dataclass(frozen=True, eq=False)
class DomainIndex:
    """One point per domain, and what it was made from.

    Attributes
    ----------
    domains : names, in the order of all rows below
    coordinates : (domains, components)
    distances : (domains, domains), what the coordinates were scaled from; (domains, landmarks)
        where there are landmarks
    eigenvalues : (domains,), falling; a gap tells how many components the map needs. Of landmarks
        only where there are any
    angles : (domains,) in (−π, π] around the ring that the domains lie on; None on an open map
    landmarks : rising numbers of the domains that the map was drawn from, where there are too many
        to draw it from all (`geometry.landmarks`); None where it was

    Examples
    --------
    >>> from domindex.geometry import DomainIndex
    >>> index = DomainIndex.from_distances(["a", "b", "c"], [[0, 1, 3], [1, 0, 2], [3, 2, 0]], 1)
    >>> index.find("c").round(3).tolist(), round(index.stress, 6)
    ([1.667], 0.0)
    """

    domains: tuple[Hashable, ...]
    coordinates: NDArray[np.float64]
    distances: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    angles: NDArray[np.float64] | None = None
    landmarks: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        arrays = (self.coordinates, self.distances, self.eigenvalues, self.angles, self.landmarks)
        for array in arrays:
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def from_distances(
        cls, domains: Sequence[Hashable], distances: ArrayLike, n_components: int = 2
    ) -> DomainIndex:
        """The map that classical scaling makes of `distances`."""
        matrix = np.array(distances, dtype=np.float64)
        if len(domains) != len(matrix):
            raise InputError(
                f"There are {len(domains)} domain names, but distances has {len(matrix)} rows. "
                "Name each row once."
            )
        coordinates = classical_scaling(matrix, n_components)
        return cls(tuple(domains), coordinates, matrix, scaling_spectrum(matrix))

    def find(self, name: Hashable) -> NDArray[np.float64] | None:
        """The point of a domain, None where it is not on the map."""
        if name not in self.domains:
            return None
        return self.coordinates[self.domains.index(name)]

    @property
    def map_distances(self) -> NDArray[np.float64]:
        """Distances between the points of the map, (domains, domains): not for thousands."""
        return squareform(pdist(self.coordinates))

    @property
    def stress(self) -> float:
        """Kruskal's stress: the share of the distances that the map does not show, 0 is perfect."""
        total = float((self.distances**2).sum())
        if self.landmarks is None:
            shown = self.map_distances
        else:
            shown = cdist(self.coordinates, self.coordinates[self.landmarks])
        return float(np.sqrt(((shown - self.distances) ** 2).sum() / (total or 1.0)))

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "domains": self.domains,
            "coordinates": self.coordinates,
            "distances": self.distances,
            "eigenvalues": self.eigenvalues,
        }
        if self.landmarks is not None:
            state["landmarks"] = self.landmarks.tolist()
        return state if self.angles is None else state | {"angles": self.angles}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> DomainIndex:
        domains, n_domains = tuple(state["domains"]), len(state["domains"])
        if not domains or len(set(domains)) < n_domains:
            raise ValueError("the domains do not have a name each")
        shapes = [state[name].shape for name in ("distances", "eigenvalues", "coordinates")]
        index_dim = state["coordinates"].shape[-1]
        landmarks = _landmarks(state.get("landmarks"), n_domains)
        n_drawn = n_domains if landmarks is None else len(landmarks)
        if shapes != [(n_domains, n_drawn), (n_drawn,), (n_domains, index_dim)]:
            raise ValueError(f"arrays of shapes {shapes} are no map of {n_domains} domains")
        angles = state.get("angles")  # only maps that close have them
        if angles is not None and angles.shape != (n_domains,):
            raise ValueError("the angles do not match the domains")
        coordinates, distances, eigenvalues = (
            state[name] for name in ("coordinates", "distances", "eigenvalues")
        )
        return cls(domains, coordinates, distances, eigenvalues, angles, landmarks)


def _landmarks(numbers: list[int] | None, n_domains: int) -> NDArray[np.int64] | None:
    """Of a state: rising numbers of domains, or none."""
    if numbers is None:
        return None
    if any(type(number) is not int for number in numbers):
        raise ValueError("the landmarks are no numbers of domains")
    landmarks = np.array(numbers, dtype=np.int64)
    if not len(landmarks) or landmarks[0] < 0 or landmarks[-1] >= n_domains:
        raise ValueError("the landmarks are no numbers of domains")
    if (np.diff(landmarks) <= 0).any():
        raise ValueError("the landmarks do not rise")
    return landmarks
