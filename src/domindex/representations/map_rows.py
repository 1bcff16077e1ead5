"""Which rows the map of the domains is drawn from: those of sources that resemble the targets'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment, minimize
from scipy.spatial.distance import cdist

from domindex.arrays import Floats, Ints
from domindex.geometry.settings import MAP
from domindex.geometry.transport import whitening
from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler
from domindex.representations.base import PlacedRows
from domindex.representations.normalised import SHAPES, inputs_share_units


def rows_for_map(data: DomainData) -> list[Ints] | None:
    """For every domain the rows to draw the map from; None where all serve.

    When sources hold more kinds of rows than targets, all seasons against one, distances show the
    mix of rows and not the domains: then each source is cut to the rows that resemble the targets'.
    """
    scaled = InputScaler.fit(data).apply_flat(data.inputs)
    clouds = [scaled[rows] for rows in data.rows_by_domain()]
    if not may_be_cut(clouds, data.is_source):
        return None
    represented, n_features = [scaled], int(np.prod(data.inputs.shape[1:]))
    if inputs_share_units(data):
        kinds = [kind for kind in SHAPES if n_features >= kind.min_features]
        represented += [kind.of(data).apply(PlacedRows.of_data(data)).features for kind in kinds]
    sources = data.row_is_source
    weights = [balancing_weights(rows[sources], rows[~sources]) for rows in represented]
    of_rows = np.ones(data.n_rows)  # most source rows shall look like the targets' to begin with
    of_rows[sources] = max(weights, key=effective_sample_fraction)
    by_domain = [of_rows[rows] for rows in data.rows_by_domain()]
    return resembling_rows(clouds, data.is_source, by_domain)


def balancing_weights(rows: Floats, goal: Floats) -> Floats:
    """Weights (n,) of `rows` (n, p), summing to 1, with the first and second moments of `goal`, φ,
    and the largest entropy: wᵢ ∝ exp(θ·φ(zᵢ)), where θ minimises log mean exp(θ·φ) − θ·φ̄(goal)."""
    values, vectors = eigh(np.atleast_2d(np.cov(rows.T, bias=True)))
    varying = values > 1e-8 * max(values[-1], 1e-300)
    directions = vectors[:, varying][:, -MAP.balanced_directions :]
    moments, wanted = _moments(rows @ directions), _moments(goal @ directions)
    centre, spread = moments.mean(axis=0), moments.std(axis=0)
    spread[spread == 0.0] = 1.0
    moments = (moments - centre) / spread
    wanted_mean = ((wanted - centre) / spread).mean(axis=0)
    penalty = MAP.balancing_penalty
    some = moments[np.random.default_rng(0).permutation(len(moments))[: MAP.balanced_rows]]

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        weights, log_mean = _tilted(some, multipliers)
        value = log_mean - multipliers @ wanted_mean + penalty / 2 * multipliers @ multipliers
        return value, weights @ some - wanted_mean + penalty * multipliers

    start = np.zeros(moments.shape[1])
    if not len(start):  # nothing varies; older SciPy fails on nothing to look for
        return _tilted(moments, start)[0]
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


def _moments(rows: Floats) -> Floats:
    first, second = np.triu_indices(rows.shape[1])
    return np.hstack([rows, rows[:, first] * rows[:, second]])


def resembling_rows(
    clouds: Sequence[Floats], is_source: NDArray[np.bool_], weights: Sequence[Floats]
) -> list[Ints]:
    """For every cloud the rows to keep: all, or a source's that resemble the targets' rows.

    `weights` says how target-like rows are to begin with. Large sources are cut to the size of the
    median target, unless mirror images of the targets' patterns are found in them just as well.
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
    # All rows alike where none of them counts.
    shares = {n: weights[n] if weights[n].any() else np.ones(len(weights[n])) for n in large}
    shares = {number: share / share.sum() for number, share in shares.items()}
    if _cost_against_mirror(targets, sources, shares) >= MAP.max_matching_cost:
        return everything
    for turn in range(MAP.matching_rounds):
        cut = {n: sources[n][_most(shares[n], size)] for n in large} if turn else {}
        for number, cloud in sources.items():
            others = [rows for other, rows in cut.items() if other != number]
            shares[number] = _share_of_plans([*targets, *others], cloud, shares[number])
    for number, share in shares.items():
        everything[number] = np.sort(_most(share, size))
    return everything


def may_be_cut(clouds: Sequence[Floats], is_source: NDArray[np.bool_]) -> bool:
    """Whether there is a source that `resembling_rows` could cut at all."""
    sizes = [len(cloud) for cloud, source in zip(clouds, is_source) if not source]
    usable = [size for size in sizes if size <= MAP.matched_rows]
    return bool(usable and _wide_sources(clouds, is_source, int(np.median(usable))))


def _wide_sources(clouds: Sequence[Floats], is_source: NDArray[np.bool_], size: int) -> list[int]:
    """Sources that are wider than every target, with more rows, and not too many to match."""
    if size < 2:
        return []
    variances = np.stack([cloud.var(axis=0) for cloud in clouds])
    unit = variances[~is_source].mean(axis=0)
    widths = (variances / np.where(unit > 0.0, unit, 1.0)).mean(axis=1)
    widest = widths[~is_source].max()
    found = [
        number
        for number, cloud in enumerate(clouds)
        if is_source[number] and size < len(cloud) <= MAP.matched_rows and widths[number] > widest
    ]
    return [] if len(clouds) > MAP.max_drawn and len(found) > MAP.max_cut_sources else found


def _spread_out(targets: list[Floats]) -> list[Floats]:
    """At most `max_patterns` of them, evenly among all that are not too large."""
    usable = [target for target in targets if len(target) <= MAP.matched_rows]
    chosen = np.linspace(0, len(usable) - 1, min(len(usable), MAP.max_patterns)).round().astype(int)
    return [usable[number] for number in np.unique(chosen)]


def _most(shares: Floats, size: int) -> Ints:
    return np.argsort(-shares, kind="stable")[:size]


def _match(pattern: Floats, cloud: Floats, start: Floats) -> tuple[float, Ints]:
    """Every row of the pattern, shifted as one, to a row of its own: the cost, and the rows."""
    shift = start - pattern.mean(axis=0)
    cost, used = np.inf, np.arange(0)
    for _ in range(MAP.max_shifts):  # assignment and shift take turns until the shift rests
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
    trust = np.exp(-MAP.sharpness * excess)
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
