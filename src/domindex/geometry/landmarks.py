"""Beyond so many domains, the map is drawn from some of them: landmarks, to which others are held.

Distances between all pairs, geodesics and scaling grow with the square and the cube of the number
of domains. So the geometry of many domains is solved on landmarks, and all others are placed by
their distances to these, by the formula that places new domains. How much that costs is measured
on random pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from domindex.geometry.transport import transport_of_pairs

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_DRAWN = 500
"""Domains up to which the map is drawn from all of them, and landmarks beyond. For time and memory:
with 500 a map of 1,000 domains agrees with that drawn from all (docs/scaling.md)."""

LEAST_SOURCE_SHARE = 0.1
"""Of the landmarks that are sources, where there are so many: the flow, and the cut of a ring, are
told from where the labels are. Not tuned."""

SUMMARY_LEVELS = (0.1, 0.5, 0.9)
"""Quantiles of every feature that stand beside its mean and deviation in a domain's summary."""

N_PAIRS = 300
"""Random pairs of domains, and of landmarks, whose exact distances say what the map is worth."""


def choose_landmarks(
    clouds: Sequence[Floats], is_source: NDArray[np.bool_] | None = None, most: int = MOST_DRAWN
) -> Numbers:
    """The rising numbers of at most `most` of the clouds (rows, features), spread over all.

    As k-means++ starts: one after the other, each with a chance that grows with the square of its
    distance to the nearest chosen so far. Farthest points would be those with the noisiest rows;
    plain chance would leave what is rare to itself. Sources have their share, and a tenth at least.

    Examples
    --------
    Of two dense places both are chosen, and the single domain far away:

    >>> import numpy as np
    >>> from domindex.geometry.landmarks import choose_landmarks
    >>> cloud = np.random.default_rng(0).normal(size=(20, 2))
    >>> places = [0.0] * 50 + [9.0] * 50 + [90.0]
    >>> choose_landmarks([cloud + place for place in places], most=3).tolist()[-1]
    100
    """
    n_clouds = len(clouds)
    if n_clouds <= most:
        return np.arange(n_clouds)
    summaries, rng = domain_summaries(clouds), np.random.default_rng(0)
    away = np.full(n_clouds, np.inf)
    chosen: list[int] = []
    for group, count in _shares(n_clouds, is_source, most):
        for _ in range(count):
            chosen.append(_draw(group, away, chosen, rng))
            gaps = ((summaries - summaries[chosen[-1]]) ** 2).sum(axis=1)
            away = np.minimum(away, gaps)
    return np.sort(np.array(chosen, dtype=np.int64))


def _shares(
    n_clouds: int, is_source: NDArray[np.bool_] | None, most: int
) -> Iterator[tuple[Numbers, int]]:
    """Who is to be chosen from, and how many."""
    if is_source is None or not is_source.any() or is_source.all():
        yield np.arange(n_clouds), most
        return
    n_sources = int(is_source.sum())
    count = max(round(most * n_sources / n_clouds), min(n_sources, int(LEAST_SOURCE_SHARE * most)))
    count = max(1, min(count, most - 1))
    yield np.flatnonzero(is_source), count
    yield np.flatnonzero(~is_source), min(most - count, n_clouds - n_sources)


def _draw(group: Numbers, away: Floats, chosen: list[int], rng: np.random.Generator) -> int:
    """One of the group by its squared distance to what was chosen; any where all coincide."""
    weights = np.where(np.isfinite(away[group]), away[group], 1.0)
    if weights.sum() <= 0.0:
        left = np.setdiff1d(group, chosen)
        return int(rng.choice(left))
    return int(rng.choice(group, p=weights / weights.sum()))


def domain_summaries(clouds: Sequence[Floats]) -> Floats:
    """(clouds, summaries): means, deviations and a few quantiles of every feature.

    Clouds of one size are summarised at once.
    """
    by_size: dict[int, list[int]] = {}
    for number, cloud in enumerate(clouds):
        by_size.setdefault(len(cloud), []).append(number)
    n_features = clouds[0].shape[1]
    result = np.empty((len(clouds), (2 + len(SUMMARY_LEVELS)) * n_features))
    for numbers in by_size.values():
        rows = np.stack([clouds[number] for number in numbers])
        levels = np.quantile(rows, SUMMARY_LEVELS, axis=1)
        result[numbers] = np.hstack([rows.mean(axis=1), rows.std(axis=1), *levels])
    return result


@dataclass(frozen=True)
class LandmarkError:
    """How well distances on a map that was drawn from landmarks follow exact transport.

    The map shows few dimensions, and geodesics: so even between landmarks, which it was drawn from,
    the two differ. What placing the others by landmarks adds is the difference between the figures
    of all domains and those of the landmarks.

    Attributes
    ----------
    n_landmarks, n_domains : how many there are
    n_pairs : random pairs that were measured exactly, of each kind
    spearman : rank correlation of map distances with exact ones, pairs of any domains
    stress : share of the exact distances that the map, at its best scale, does not show
    landmark_spearman, landmark_stress : the same of pairs of landmarks
    """

    n_landmarks: int
    n_domains: int
    n_pairs: int
    spearman: float
    stress: float
    landmark_spearman: float
    landmark_stress: float

    def __str__(self) -> str:
        return (
            f"The map was drawn from {self.n_landmarks} of {self.n_domains} domains; on "
            f"{self.n_pairs} random pairs its distances follow exact ones with a rank correlation "
            f"of {self.spearman:.3f} (landmarks: {self.landmark_spearman:.3f}) and a stress of "
            f"{self.stress:.3f} ({self.landmark_stress:.3f})."
        )


def measure_error(
    clouds: Sequence[Floats], coordinates: Floats, landmarks: Numbers, n_pairs: int = N_PAIRS
) -> LandmarkError:
    """Exact transport between clouds against distances of coordinates (domains, index_dim)."""
    rng = np.random.default_rng(0)
    found = []
    for numbers in (np.arange(len(clouds)), landmarks):
        pairs = random_pairs(numbers, n_pairs, rng)
        exact = transport_of_pairs(clouds, pairs)
        first, second = pairs.T
        shown = np.linalg.norm(coordinates[first] - coordinates[second], axis=1)
        found += [rank_correlation(shown, exact), _stress(shown, exact)]
    return LandmarkError(len(landmarks), len(clouds), n_pairs, *found)


def random_pairs(numbers: Numbers, count: int, rng: np.random.Generator) -> Numbers:
    """(count, 2) of the numbers, two different ones each."""
    first = rng.integers(len(numbers), size=count)
    second = (first + rng.integers(1, len(numbers), size=count)) % len(numbers)
    return np.stack([numbers[first], numbers[second]], axis=1)


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's; 1 where one of the two has no order to be missed."""
    if np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return 1.0
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def _stress(shown: Floats, exact: Floats) -> float:
    scale = float(shown @ exact) / (float(shown @ shown) or 1.0)
    return float(np.linalg.norm(scale * shown - exact) / (np.linalg.norm(exact) or 1.0))
