"""Weights under which the rows of one group look like those of another, to second moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment, minimize
from scipy.spatial.distance import cdist

from domindex.arrays import Floats
from domindex.geometry.neighbors import MOST_DRAWN
from domindex.geometry.subspace import whitening

BALANCED_DIRECTIONS = 8
"""Principal directions whose moments are balanced: 8 have 44 moments."""

BALANCED_ROWS = 10_000
"""Rows on which the multipliers are found; they weigh all."""

BALANCING_PENALTY = 1e-3
"""Of the squared multipliers, for moments in units of their deviation: moments that only extreme
weights could match are matched in part."""


def balancing_weights(rows: Floats, goal: Floats) -> Floats:
    """Weights (n,) of `rows` (n, p), summing to 1, with the first and second moments of `goal`.

    Of all such weights, those of largest entropy: wᵢ ∝ exp(θ·φ(zᵢ)), with φ the moments along the
    principal directions of `rows`. θ minimises the convex log mean exp(θ·φ) − θ·φ̄(goal).
    """
    directions = _principal_directions(rows)
    moments, wanted = _moments(rows @ directions), _moments(goal @ directions)
    centre, spread = moments.mean(axis=0), moments.std(axis=0)
    spread[spread == 0.0] = 1.0
    moments = (moments - centre) / spread
    wanted_mean = ((wanted - centre) / spread).mean(axis=0)
    some = moments[np.random.default_rng(0).permutation(len(moments))[:BALANCED_ROWS]]

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        weights, log_mean = _tilted(some, multipliers)
        value = (
            log_mean - multipliers @ wanted_mean + BALANCING_PENALTY / 2 * multipliers @ multipliers
        )
        return value, weights @ some - wanted_mean + BALANCING_PENALTY * multipliers

    start = np.zeros(moments.shape[1])
    found = minimize(dual, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return _tilted(moments, found)[0]


def effective_sample_fraction(weights: Floats) -> float:
    """The share of rows that weights summing to 1 really use: 1 where all count the same."""
    return float(1.0 / (len(weights) * (weights @ weights)))


def _tilted(moments: Floats, multipliers: Floats) -> tuple[Floats, float]:
    """Weights ∝ exp(θ·φ), and log mean exp(θ·φ)."""
    exponents = moments @ multipliers
    top = exponents.max()
    tilt = np.exp(exponents - top)
    return tilt / tilt.sum(), float(top + np.log(tilt.mean()))


def _principal_directions(rows: Floats) -> Floats:
    """(p, ≤ 8), without directions along which the rows do not vary."""
    values, vectors = eigh(np.atleast_2d(np.cov(rows.T, bias=True)))
    varying = values > 1e-8 * max(values[-1], 1e-300)
    return vectors[:, varying][:, -BALANCED_DIRECTIONS:]


def _moments(rows: Floats) -> Floats:
    first, second = np.triu_indices(rows.shape[1])
    return np.hstack([rows, rows[:, first] * rows[:, second]])


ROUNDS = 4
"""Of matching; from the second on, sources cut so far are patterns too."""

MAX_SHIFTS = 8
SHARPNESS = 5.0
"""How much a pattern counts that costs less than others: e⁵ between the mean and the least cost."""

MAX_PATTERNS = 48
MATCHED_ROWS = 300
"""Patterns to which a source is matched, and rows of a domain that take part."""

MOST_CUT = 100
"""Sources that are cut at most, where domains are more than `MOST_DRAWN`: every one is matched to
all patterns, and to those of the others. With more of them nothing is cut. For time."""

MOST_COST = 0.87
"""Cost of matching, relative to matching the mirror image, below which the patterns are shared.
Set with the maps of TPT-48 in view."""


def resembling_rows(
    clouds: Sequence[Floats],
    is_source: NDArray[np.bool_],
    weights: Sequence[Floats],
    most_cost: float = MOST_COST,
) -> list[NDArray[np.int64]]:
    """For every cloud the rows to keep: all, or a source's that resemble the targets' rows.

    `weights` says for the rows of each source how target-like they are to begin with. Sources
    larger than the median target are cut to its size. Where the targets' patterns cannot be found
    in the sources any better than their mirror images, which have the same mean and covariance,
    nothing is cut.
    """
    everything = [np.arange(len(cloud)) for cloud in clouds]
    targets = _spread_out([cloud for cloud, source in zip(clouds, is_source) if not source])
    size = int(np.median([len(target) for target in targets])) if targets else 0
    large = _wide_sources(clouds, is_source, size)
    if not large:
        return everything
    whiten = whitening(np.concatenate([target - target.mean(axis=0) for target in targets]))
    targets = [target @ whiten for target in targets]
    sources = {number: clouds[number] @ whiten for number in large}
    shares = {number: _shares(weights[number]) for number in large}
    if _cost_against_mirror(targets, sources, shares) >= most_cost:
        return everything
    for turn in range(ROUNDS):
        cut = {n: sources[n][_most(shares[n], size)] for n in large} if turn else {}
        shares = {
            number: _share_of_plans(
                [*targets, *(rows for other, rows in cut.items() if other != number)],
                cloud,
                shares[number],
            )
            for number, cloud in sources.items()
        }
    return [
        np.sort(_most(shares[number], size)) if number in shares else rows
        for number, rows in enumerate(everything)
    ]


def may_be_cut(clouds: Sequence[Floats], is_source: NDArray[np.bool_]) -> bool:
    """Whether there is a source that `resembling_rows` could cut at all."""
    sizes = [len(cloud) for cloud, source in zip(clouds, is_source) if not source]
    usable = [size for size in sizes if size <= MATCHED_ROWS]
    return bool(usable and _wide_sources(clouds, is_source, int(np.median(usable))))


def _wide_sources(clouds: Sequence[Floats], is_source: NDArray[np.bool_], size: int) -> list[int]:
    """Sources that are wider than every target, with more rows, and not too many to match.

    A source that holds more kinds of rows than the targets spreads further than any of them.
    """
    if size < 2:
        return []
    variances = np.stack([cloud.var(axis=0) for cloud in clouds])
    unit = variances[~is_source].mean(axis=0)
    widths = (variances / np.where(unit > 0.0, unit, 1.0)).mean(axis=1)
    widest = widths[~is_source].max()
    found = [
        number
        for number, cloud in enumerate(clouds)
        if is_source[number] and size < len(cloud) <= MATCHED_ROWS and widths[number] > widest
    ]
    return [] if len(clouds) > MOST_DRAWN and len(found) > MOST_CUT else found


def _spread_out(targets: list[Floats]) -> list[Floats]:
    """At most `MAX_PATTERNS` of them, evenly among all that are not too large."""
    usable = [target for target in targets if len(target) <= MATCHED_ROWS]
    chosen = np.linspace(0, len(usable) - 1, min(len(usable), MAX_PATTERNS)).round().astype(int)
    return [usable[number] for number in np.unique(chosen)]


def _shares(weights: Floats) -> Floats:
    """Weights summing to 1; all the same where none of the rows counts."""
    total = weights.sum()
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / len(weights))


def _most(shares: Floats, size: int) -> NDArray[np.int64]:
    return np.argsort(-shares, kind="stable")[:size]


def _match(pattern: Floats, cloud: Floats, start: Floats) -> tuple[float, NDArray[np.int64]]:
    """Every row of the pattern, shifted as one, to a row of its own: the cost, and the rows.

    Assignment and shift take turns until the shift rests. A pattern with more rows than the cloud
    uses them all.
    """
    shift = start - pattern.mean(axis=0)
    cost, used = np.inf, np.arange(0)
    for _ in range(MAX_SHIFTS):
        squares = cdist(pattern + shift, cloud, "sqeuclidean")
        rows, used = linear_sum_assignment(squares)
        cost = float(squares[rows, used].mean())
        moved = cloud[used].mean(axis=0) - pattern[rows].mean(axis=0)
        if np.allclose(moved, shift):
            break
        shift = moved
    return cost, used


def _share_of_plans(patterns: Sequence[Floats], cloud: Floats, shares: Floats) -> Floats:
    """How much the plans of the patterns that fit best use each row of the cloud, (rows,)."""
    plans = [_match(pattern, cloud, shares @ cloud) for pattern in patterns]
    costs = np.array([cost for cost, _ in plans])
    excess = (costs - costs.min()) / ((costs.mean() - costs.min()) or 1.0)
    trust = np.exp(-SHARPNESS * excess)
    result = np.zeros(len(cloud))
    for share, (_, used) in zip(trust / trust.sum(), plans):
        result[used] += share / len(used)
    return result


def _cost_against_mirror(
    targets: Sequence[Floats], sources: dict[int, Floats], shares: dict[int, Floats]
) -> float:
    """Least cost of a target's pattern over that of its mirror image, averaged over sources."""
    ratios = []
    for number, cloud in sources.items():
        start = shares[number] @ cloud
        own = min(_match(target, cloud, start)[0] for target in targets)
        mirrored = min(_match(2 * t.mean(axis=0) - t, cloud, start)[0] for t in targets)
        ratios.append(own / (mirrored or 1.0))
    return float(np.mean(ratios))
