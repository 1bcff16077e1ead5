"""Where the domains of a table lie, so that distances say where a rule carries over.

A domain lies at the mean of its rows: of their columns, each by its ranks, and of their labels,
known in sources and predicted in targets. Domains of few rows are drawn towards the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge

from domindex.arrays import Floats, Ints
from domindex.geometry.domain_map import rank_correlation
from domindex.geometry.scaling import DomainIndex, reordering, scaling_spectrum
from domindex.geometry.settings import TRANSFER
from domindex.persistence.saved import Saved, require_distinct

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class TransferMap(Saved):
    """A map of domains by the means of their ranked columns and of their labels.

    Along each axis a domain's mean m of n rows is drawn to m·b / (b + w/n): b is the variance
    between domains without what sampling adds, w the variance of rows within them.

    Examples
    --------
    Alike in their only column, but not in what it means for the labels:

    >>> from domindex.geometry.transfer_map import TransferMap
    >>> rows = [np.random.default_rng(k).normal(size=(200, 1)) for k in range(3)]
    >>> labels = [rows[0] > 0, rows[1] > 0, rows[2] > -9.0]
    >>> transfer = TransferMap.fit(["a", "b", "c"], rows, [one.astype(float) for one in labels])
    >>> apart = transfer.index.map_distances
    >>> bool(apart[0, 1] < apart[0, 2] / 5)
    True
    """

    domains: tuple[Hashable, ...]
    positions: Floats  # (domains, axes) along all axes, of which the map shows the first
    sizes: Floats  # (domains,) rows of each
    quantiles: Floats  # (levels, features) rising: values to ranks
    label_range: Floats  # (2, outputs) labels beyond are drawn to the edge
    matrix: Floats  # (features + outputs, axes) ranks and labels to axes
    centre: Floats  # (axes,) what lies at the origin
    within: Floats  # (axes,) variance of rows within domains
    between: Floats  # (axes,) variance of domains
    index_dim: int
    # rising numbers of domains that distances are held to; None where to all
    landmarks: Ints | None = field(default=None, metadata={"omitted": True})
    # rank correlation of distances between sources with what rules lose there: `rule_losses`
    source_correlation: float | None = None
    n_compared: int = 0  # sources that it is measured on

    @classmethod
    def fit(
        cls,
        domains: Sequence[Hashable],
        clouds: Sequence[Floats],
        labels: Sequence[Floats],
        index_dim: int = 2,
        landmarks: Ints | None = None,
        is_source: NDArray[np.bool_] | None = None,
    ) -> Self | None:
        """From inputs (rows, features) and known or predicted labels (rows, outputs) of each
        domain; None where domains differ by no more than chance."""
        rows, said = np.concatenate(clouds), np.concatenate(labels)
        tail = TRANSFER.label_tail
        label_range = np.quantile(said, (tail, 1.0 - tail), axis=0)
        some = np.random.default_rng(0).permutation(len(rows))[: TRANSFER.quantile_rows]
        levels = np.linspace(0.0, 1.0, TRANSFER.n_quantiles)
        quantiles = np.quantile(rows[some], levels, axis=0)
        described = np.hstack([column_ranks(rows, quantiles), np.clip(said, *label_range)])
        weights = _column_weights(described, rows.shape[1])
        sizes = np.array([len(cloud) for cloud in clouds], dtype=np.float64)
        starts = np.cumsum(sizes[:-1]).astype(np.int64)
        described *= weights
        means = np.add.reduceat(described, np.append(0, starts), axis=0) / sizes[:, None]
        described -= np.repeat(means, sizes.astype(np.int64), axis=0)
        within = described.T @ described / max(len(rows) - len(sizes), 1)
        axes = _axes(means, within, sizes)
        if axes is None:
            return None
        centre, directions, between = axes
        bare = cls(
            tuple(domains),
            np.empty((len(sizes), directions.shape[1])),
            sizes,
            quantiles,
            label_range,
            weights[:, None] * directions,
            centre @ directions,
            np.einsum("ij,ik,kj->j", directions, within, directions),
            between,
            index_dim,
            landmarks,
        )
        placed = bare._drawn_in(means @ directions, sizes)
        shown = placed[:, :index_dim]
        unit = float(np.sqrt((shown**2).sum(axis=1).mean())) or 1.0
        largest = np.abs(placed).argmax(axis=0)
        turn = np.where(placed[largest, np.arange(placed.shape[1])] < 0, -1.0, 1.0) / unit
        drawn = replace(
            bare,
            positions=placed * turn,
            matrix=bare.matrix * turn,
            centre=bare.centre * turn,
            within=bare.within / unit**2,
            between=bare.between / unit**2,
        )
        return drawn if is_source is None else drawn._compared(clouds, labels, is_source)

    def _compared(
        self, clouds: Sequence[Floats], labels: Sequence[Floats], is_source: NDArray[np.bool_]
    ) -> Self:
        """With the correlation on sources of enough rows; without, where they are too few."""
        large = np.flatnonzero(is_source & (self.sizes >= TRANSFER.compared_rows))
        if len(large) < TRANSFER.min_compared:
            return self
        spread = np.linspace(0, len(large) - 1, min(len(large), TRANSFER.max_compared))
        used = large[np.unique(spread.round().astype(int))]
        columns = [column_ranks(clouds[number], self.quantiles) for number in used]
        losses = rule_losses(columns, [labels[number] for number in used])
        points, apart = self.shown(self.positions[used]), ~np.eye(len(used), dtype=bool)
        found = rank_correlation(cdist(points, points)[apart], losses[apart])
        return replace(self, source_correlation=found, n_compared=len(used))

    def locate(self, clouds: Sequence[Floats], labels: Sequence[Floats]) -> Floats:
        """Where domains with these rows and labels belong, (new, axes). The map stays."""
        if not clouds:
            return np.empty((0, len(self.centre)))
        described = [
            np.hstack([column_ranks(one, self.quantiles), np.clip(said, *self.label_range)])
            for one, said in zip(clouds, labels)
        ]
        sizes = np.array([len(cloud) for cloud in clouds], dtype=np.float64)
        return self._drawn_in(
            np.stack([one.mean(axis=0) for one in described]) @ self.matrix, sizes
        )

    def with_domains(
        self, names: Sequence[Hashable], clouds: Sequence[Floats], labels: Sequence[Floats]
    ) -> Self:
        """The same map with more domains on it, each where `locate` puts it. Nothing else moves."""
        return replace(
            self,
            domains=(*self.domains, *names),
            positions=np.vstack([self.positions, self.locate(clouds, labels)]),
            sizes=np.append(self.sizes, [len(cloud) for cloud in clouds]),
        )

    def in_order(self, names: Sequence[Hashable]) -> Self:
        """The same map with its domains in this order."""
        order, _, landmarks = reordering(self.domains, names, self.landmarks)
        return replace(
            self,
            domains=tuple(names),
            positions=self.positions[order],
            sizes=self.sizes[order],
            landmarks=landmarks,
        )

    def shown(self, positions: Floats) -> Floats:
        """(domains, index_dim) of positions (domains, axes); axes that the data lack are empty."""
        missing = max(self.index_dim - positions.shape[1], 0)
        return np.pad(positions[:, : self.index_dim], ((0, 0), (0, missing)))

    def deviations(self, sizes: Floats) -> Floats:
        """(domains, index_dim) by which another sample of as many rows of a domain would lie
        elsewhere: what is not known of its place, and what that sample adds."""
        share = self._share(sizes)
        return self.shown(np.sqrt((share + share**2) * self.within / sizes[:, None]))

    @cached_property
    def index(self) -> DomainIndex:
        """Coordinates, and the distances along all axes that they show."""
        drawn = np.arange(len(self.domains)) if self.landmarks is None else self.landmarks
        distances = cdist(self.positions, self.positions[drawn])
        spectrum = scaling_spectrum(distances[drawn])
        shown, landmarks = self.shown(self.positions), self.landmarks
        return DomainIndex(self.domains, shown, distances, spectrum, None, landmarks)

    def _share(self, sizes: Floats) -> Floats:
        """(domains, axes) of its own mean that a domain of so many rows keeps."""
        noise = self.within / sizes[:, None]
        return self.between / np.maximum(self.between + noise, np.finfo(np.float64).tiny)

    def _drawn_in(self, means: Floats, sizes: Floats) -> Floats:
        return (means - self.centre) * self._share(sizes)

    def _check_state(self) -> None:
        require_distinct(self.domains)
        n_domains, n_axes = len(self.domains), len(self.centre)
        if self.positions.shape != (n_domains, n_axes) or self.sizes.shape != (n_domains,):
            raise ValueError("the places do not match the domains")
        if self.matrix.ndim != 2 or self.quantiles.ndim != 2 or self.index_dim < 1:
            raise ValueError("the axes of the map are damaged")
        if {self.matrix.shape[1:], self.within.shape, self.between.shape} != {(n_axes,)}:
            raise ValueError("the axes of the map do not fit each other")
        if self.label_range.ndim != 2 or len(self.label_range) != 2:
            raise ValueError("the range of labels is damaged")
        n_described = self.quantiles.shape[1] + self.label_range.shape[1]
        if n_described != len(self.matrix) or not (self.sizes >= 1.0).all():
            raise ValueError("the columns of the map do not fit its axes")
        numbers = self.landmarks
        if numbers is not None and not (len(numbers) and 0 <= numbers.min() <= numbers.max()):
            raise ValueError("the landmarks are no numbers of domains")
        if numbers is not None and numbers.max() >= n_domains:
            raise ValueError("a landmark is no domain of the map")


def column_ranks(rows: Floats, quantiles: Floats) -> Floats:
    """The share of values below each one, ties half, (rows, features): 0.5 in the middle.

    Examples
    --------
    >>> from domindex.geometry.transfer_map import column_ranks
    >>> column_ranks(np.array([[0.0], [5.0]]), np.array([[0.0], [0.0], [0.0], [9.0]])).ravel()
    array([0.33333333, 0.85185185])
    """
    levels = np.linspace(0.0, 1.0, len(quantiles))
    ranks = np.empty(rows.shape)
    for number, (values, known) in enumerate(zip(rows.T, quantiles.T)):
        above = np.interp(values, known, levels)
        below = 1.0 - np.interp(-values, -known[::-1], levels)
        ranks[:, number] = (above + below) / 2
    return ranks


def rule_losses(columns: Sequence[Floats], labels: Sequence[Floats]) -> Floats:
    """(domains, domains) mean squared errors of ridge learned in one domain and tried in another,
    less those of the rule that was learned there."""
    unit = np.concatenate(columns).std(axis=0)
    scaled = [one / np.where(unit > 0.0, unit, 1.0) for one in columns]
    losses = np.empty((len(scaled), len(scaled)))
    for number, (known, said) in enumerate(zip(scaled, labels)):
        rule = Ridge(alpha=TRANSFER.ridge * len(known)).fit(known, said)
        predicted = [rule.predict(one).reshape(len(one), -1) for one in scaled]
        losses[number] = [((one - y) ** 2).mean() for one, y in zip(predicted, labels)]
    return losses - np.diag(losses)


def _column_weights(described: Floats, n_features: int) -> Floats:
    """(features + outputs,): columns count alike, and labels with their share."""
    variance, share = described.var(axis=0), TRANSFER.label_share
    varies, weights = variance > np.finfo(np.float64).eps, np.zeros(len(variance))
    for part, of_all in ((slice(n_features), 1.0 - share), (slice(n_features, None), share)):
        count = max(int(varies[part].sum()), 1)
        weights[part] = of_all / count / np.where(varies[part], variance[part], np.inf)
    return np.sqrt(weights)


def _axes(means: Floats, within: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats] | None:
    """The centre (p,) of means (domains, p), and axes (p, axes) along which domains differ by more
    than sampling, with the variance along each; None where there is no such axis."""
    total = sizes.sum()
    spread = ((means - sizes @ means / total) ** 2).sum(axis=1) @ sizes / total
    differing = spread - np.trace(within) * (len(sizes) - 1) / total
    if differing <= np.finfo(np.float64).eps:
        return None
    weights = sizes / (sizes + np.trace(within) / differing)
    weights /= weights.sum()
    centre = weights @ means
    residual = means - centre
    covariance = (residual * weights[:, None]).T @ residual - within * (weights / sizes).sum()
    values, vectors = eigh(covariance)
    kept = np.flatnonzero(values > 1e-9 * max(values[-1], 0.0))[::-1][: TRANSFER.max_axes]
    return (centre, vectors[:, kept], values[kept]) if len(kept) else None
