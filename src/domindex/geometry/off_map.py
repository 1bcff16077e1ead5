"""Whether a domain lies off the map: whether a mix of known domains explains its signature,
quantiles of its rows along many directions, as well as it does for known domains left out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from scipy.stats import t as student

from domindex.arrays import Floats, Ints
from domindex.geometry.domain_geometry import principal_components
from domindex.geometry.settings import OFF_MAP
from domindex.geometry.transport import column_quantiles
from domindex.persistence.saved import Saved


@dataclass(frozen=True, eq=False)
class Views(Saved):
    """How rows are looked at: along directions, and how far they lie outside what these span."""

    offset: Floats  # (features,) the mean of all rows
    directions: Floats  # (features, views)
    basis: Floats  # (features, components) principal ones; none where all features are kept
    unit: float  # typical length of what lies outside

    @classmethod
    def fit(cls, clouds: Sequence[Floats], local: Floats) -> Views:
        """From the domains' scaled rows; `local` (features, local_dim) is where u starts."""
        rows = np.concatenate(clouds)
        offset, n_features = rows.mean(axis=0), rows.shape[1]
        basis = principal_components(rows, OFF_MAP.max_components)
        size = basis.shape[1]
        residual = np.concatenate([(cloud - cloud.mean(axis=0)) @ basis for cloud in clouds])
        total = np.cov(((rows - offset) @ basis).T, bias=True).reshape(size, size)
        within = residual.T @ residual / len(residual) + OFF_MAP.total_share * total
        within += 1e-3 * (np.trace(total) / size or 1.0) * np.eye(size)
        values, vectors = eigh(within)
        axes = basis @ (vectors / np.sqrt(values))
        n_mixed = OFF_MAP.n_directions if size > 1 else 0
        mixed = np.random.default_rng(0).normal(size=(size, n_mixed))
        lengths = np.sqrt(np.diag(local.T @ basis @ within @ basis.T @ local))
        along = local @ np.diag(1.0 / np.where(lengths > 0.0, lengths, 1.0))
        directions = np.hstack([axes, axes @ (mixed / np.linalg.norm(mixed, axis=0)), along])
        if size == n_features:
            return cls(offset, directions, np.zeros((n_features, 0)), 1.0)
        outside, length = _outside(rows - offset, basis), np.sqrt(np.trace(total))
        unit = np.hypot(np.sqrt((outside**2).mean()), OFF_MAP.total_share * length)
        return cls(offset, directions, basis, float(unit) or 1.0)

    def signature(self, cloud: Floats) -> Floats:
        """(views, quantiles) of the scaled rows of a domain."""
        centred = cloud - self.offset
        seen = centred @ self.directions
        if self.basis.shape[1]:
            seen = np.column_stack([seen, _outside(centred, self.basis) / self.unit])
        levels = (np.arange(OFF_MAP.n_quantiles) + 0.5) / OFF_MAP.n_quantiles
        return column_quantiles(seen, levels).T

    @property
    def n_views(self) -> int:
        return self.directions.shape[1] + bool(self.basis.shape[1])

    def _check_state(self) -> None:
        shapes = [part.shape[:-1] for part in (self.directions, self.basis)]
        if shapes != [self.offset.shape] * 2 or not 0.0 < self.unit < np.inf:
            raise ValueError("the views of the rows do not fit each other")


def _outside(centred: Floats, basis: Floats) -> Floats:
    """(rows,) lengths of what the basis does not span."""
    return np.linalg.norm(centred - centred @ basis @ basis.T, axis=1)


@dataclass(frozen=True, eq=False)
class OffMapTest(Saved):
    """Signatures of known domains, and how far domains of the family are from a mix of others'.

    Examples
    --------
    Clouds along a line, one more between them, and one beside it:

    >>> from domindex.geometry.off_map import OffMapTest
    >>> rng = np.random.default_rng(0)
    >>> def cloud(x, y): return rng.normal(size=(60, 2)) + [x, y]
    >>> known = [cloud(x, 0) for x in range(20)]
    >>> test = OffMapTest.fit(range(20), known, np.eye(2))
    >>> (test.ratios([cloud(7.5, 0), cloud(7.5, 4)]) > 1).tolist()
    [False, True]
    """

    views: Views
    domains: tuple[Hashable, ...]  # known ones that a new one is held against
    signatures: Floats  # (domains, views, quantiles)
    # (k,) rising: rows that known domains were cut to when left out; empty where these are few
    sizes: Floats
    spreads: Floats  # (k, views) root mean square residuals of domains that were left out
    thresholds: Floats  # (k,) scores exceeded with probability `false_alarms`

    @classmethod
    def fit(
        cls, domains: Sequence[Hashable], clouds: Sequence[Floats], local: Floats
    ) -> OffMapTest:
        """From the scaled rows of every known domain; `local` as in `Views.fit`."""
        rng = np.random.default_rng(0)
        kept = np.sort(rng.permutation(len(clouds))[: OFF_MAP.max_references])
        cut = [_some(clouds[number], OFF_MAP.max_rows, rng) for number in kept]
        views = Views.fit(cut, local)
        signatures = np.stack([views.signature(cloud) for cloud in cut])
        names = tuple(domains[number] for number in kept)
        left_out = np.sort(rng.permutation(len(cut))[: OFF_MAP.max_calibrated])
        rows = np.array([len(cloud) for cloud in cut])
        bare = cls(views, names, signatures, *(np.zeros(0) for _ in range(3)))
        largest = min(int(np.median(rows)), OFF_MAP.max_rows)
        sizes = [*(2**power for power in range(12) if 2**power < largest), largest]
        sizes = [n for n in sizes if (rows[left_out] >= n).sum() >= OFF_MAP.min_domains]
        if not sizes:
            return bare
        parts = [bare._calibrate(cut, left_out[rows[left_out] >= n], n, rng) for n in sizes]
        spreads, thresholds = (np.array(one) for one in zip(*parts))
        at = np.array(sizes, dtype=np.float64)
        return replace(bare, sizes=at, spreads=spreads, thresholds=thresholds)

    @property
    def is_calibrated(self) -> bool:
        """Whether there were enough known domains to leave some out in turn."""
        return len(self.sizes) > 0

    def _calibrate(
        self, clouds: Sequence[Floats], left_out: Ints, size: int, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        """Spreads (views,) of domains left out in turn, cut to so many rows, and the threshold."""
        squares, thresholds = [], []
        for _ in range(OFF_MAP.draws if size < max(map(len, clouds)) else 1):
            cut = (_some(clouds[number], size, rng) for number in left_out)
            found = np.stack([self.views.signature(cloud) for cloud in cut])
            squares.append(_residuals(found, self.signatures, left_out))
            # By the spreads of all others, as a new domain has them.
            others = (squares[-1].sum(axis=0) - squares[-1]) / (len(left_out) - 1)
            scores = _score(squares[-1], np.sqrt(np.maximum(others, 0.0)))
            thresholds.append(alarm_threshold(scores))
        return np.sqrt(np.mean(squares, axis=(0, 1))), float(np.mean(thresholds))

    def ratios(
        self, clouds: Sequence[Floats], names: Sequence[Hashable | None] | None = None
    ) -> Floats:
        """(clouds,) score over threshold: above 1 a domain lies off the map. NaN: cannot say.

        A name in `domains` is held against the others.
        """
        if not self.is_calibrated:
            return np.full(len(clouds), np.nan)
        numbers = {name: number for number, name in enumerate(self.domains)}
        own = np.array([numbers.get(name, -1) for name in names or [None] * len(clouds)])
        cut = [_some(cloud, OFF_MAP.max_rows, np.random.default_rng(0)) for cloud in clouds]
        found = np.stack([self.views.signature(cloud) for cloud in cut])
        squares = _residuals(found, self.signatures, own)
        rows = np.log([len(cloud) for cloud in cut])
        sizes = np.log(self.sizes)
        spreads = np.stack([np.interp(rows, sizes, one) for one in self.spreads.T], axis=1)
        return _score(squares, spreads) / np.interp(rows, sizes, self.thresholds)

    def _check_state(self) -> None:
        n_views, sizes, thresholds = self.views.n_views, self.sizes, self.thresholds
        if self.signatures.shape != (len(self.domains), n_views, OFF_MAP.n_quantiles):
            raise ValueError("the signatures do not fit the domains")
        if sizes.shape != thresholds.shape or not ((sizes >= 1).all() and (thresholds > 0).all()):
            raise ValueError("the thresholds of the flag are not usable numbers")
        if len(sizes) and self.spreads.shape != (len(sizes), n_views):
            raise ValueError("the spreads of the residuals do not fit the views")


def _residuals(signatures: Floats, known: Floats, own: Ints) -> Floats:
    """(queries, views) mean squares of what no mix of the nearest known signatures explains; `own`
    numbers a query among the known, to be left out, or is -1."""
    flat, others = signatures.reshape(len(signatures), -1), known.reshape(len(known), -1)
    gaps = cdist(flat, others)
    left_out = np.flatnonzero(own >= 0)
    gaps[left_out, own[left_out]] = np.inf
    count = min(OFF_MAP.n_mixed, len(known) - 1)
    nearest = np.argsort(gaps, axis=1, kind="stable")[:, :count]
    result = np.empty(signatures.shape)
    for number, neighbors in enumerate(nearest):
        ways = others[neighbors] - flat[number]
        inner = ways @ ways.T
        ridge = OFF_MAP.mix_ridge * np.trace(inner) / count + OFF_MAP.min_residual**2
        weights = np.linalg.solve(inner + ridge * np.eye(count), np.ones(count))
        result[number] = (weights / weights.sum() @ ways).reshape(signatures.shape[1:])
    return (result**2).mean(axis=-1)


def _score(squares: Floats, spreads: Floats) -> Floats:
    """(queries,) residuals in units of the family's: far views first, and no unit too small."""
    typical = np.sqrt((spreads**2).mean(axis=1, keepdims=True))
    units = np.hypot(spreads, OFF_MAP.min_share * typical) + OFF_MAP.min_residual
    return ((squares / units**2) ** (OFF_MAP.exponent / 2)).mean(axis=1) ** (1 / OFF_MAP.exponent)


def alarm_threshold(scores: Floats, alarms: float = OFF_MAP.false_alarms) -> float:
    """What one more score of the same kind exceeds with probability `alarms` at most.

    The ⌈(n + 1)(1 − alarms)⌉-th smallest of n (split conformal). Where n is too small for that,
    logarithms are taken to be normal: exp(mean + t₍ₙ₋₁₎ s √(1 + 1/n)), no less than the largest.
    """
    ordered = np.sort(np.maximum(scores, OFF_MAP.min_residual))
    n_known = len(ordered)
    rank = int(np.ceil((n_known + 1) * (1.0 - alarms)))
    if rank <= n_known:
        return float(ordered[rank - 1])
    logs = np.log(ordered)
    margin = student.ppf(1.0 - alarms, n_known - 1) * logs.std(ddof=1)
    bound = np.exp(logs.mean() + margin * np.sqrt(1.0 + 1.0 / n_known))
    return float(max(bound, ordered[-1]))


def _some(cloud: Floats, most: int, rng: np.random.Generator) -> Floats:
    """At most so many rows."""
    return cloud if len(cloud) <= most else cloud[rng.permutation(len(cloud))[:most]]
