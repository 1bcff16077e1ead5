"""How well a flow carries the pictures of one domain onto those of another: sliced distances.

A slice is a smooth picture θ; every picture x of a domain has a number ⟨θ, x⟩ in it. Pictures of
domain d are carried to the place of domain e and compared, slice by slice and quantile by quantile,
with e's own, which stay as they are: so nothing is gained by carrying everything out of sight.
Carrying is linear in the pictures, and is done to the slices instead: ⟨θ, S x⟩ = ⟨Sᵀθ, x⟩.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.linalg import expm

from domindex.geometry.grid import Grid
from domindex.geometry.grid_flow import exponents

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def draw_slices(
    n_slices: int, n_channels: int, grid: Grid, widths: Sequence[float], seed: int
) -> Floats:
    """Random smooth pictures (slices, channels, cells), as many of every width.

    A width is the deviation of the blur, as a share of the longest side.
    """
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n_slices, n_channels, *grid.sides))
    for number in range(n_slices):
        blur = widths[number % len(widths)] * max(grid.sides)
        for channel in range(n_channels):
            noise[number, channel] = ndimage.gaussian_filter(noise[number, channel], blur)
    slices = noise.reshape(n_slices, n_channels, -1)
    return slices / np.linalg.norm(slices, axis=(1, 2), keepdims=True)


@dataclass(frozen=True, eq=False)
class FlowParameters:
    """Of a flow along features of the index.

    Attributes
    ----------
    motion : (features, generators)
    gains, offsets : (features, channels) each
    """

    motion: Floats
    gains: Floats
    offsets: Floats

    @classmethod
    def still(cls, n_features: int, n_generators: int, n_channels: int) -> FlowParameters:
        lit = (n_features, n_channels)
        return cls(np.zeros((n_features, n_generators)), np.zeros(lit), np.zeros(lit))

    @property
    def flat(self) -> Floats:
        """All of them in one row, the motion first."""
        return np.concatenate([self.motion.ravel(), self.gains.ravel(), self.offsets.ravel()])

    def filled(self, flat: Floats) -> FlowParameters:
        """Parameters of the same shapes from such a row, or from its beginning."""
        whole = self.flat
        whole[: len(flat)] = flat
        cuts = np.cumsum([self.motion.size, self.gains.size])
        motion, gains, offsets = np.split(whole, cuts)
        shapes = self.motion.shape, self.gains.shape, self.offsets.shape
        parts = [part.reshape(shape) for part, shape in zip((motion, gains, offsets), shapes)]
        return FlowParameters(*parts)


@dataclass(frozen=True, eq=False)
class _Pass:
    """What one evaluation leaves for its gradient: a pair a row in everything but the maps."""

    gap: Floats
    order: Numbers
    numbers: Numbers
    slopes: Floats
    toned: Floats
    ratio: Floats
    offsets: Floats
    turned: Floats
    forward: Floats
    backward: Floats


class PairLoss:
    """Squared sliced distances over pairs of domains, with their gradient.

    Parameters
    ----------
    pictures : (domains, channels, cells, rows), centred on what stands outside of them, the same
        number of rows in every domain
    grid : whose cells they are
    slices : (slices, channels, cells)
    pairs : (pairs, 2) from which domain to which
    features : (domains, features) of the index
    """

    def __init__(
        self, pictures: Floats, grid: Grid, slices: Floats, pairs: Numbers, features: Floats
    ) -> None:
        self.grid, self.features, self.pairs = grid, features, pairs
        self.first, self.second = pairs.T
        n_domains, self.n_channels, _, n_rows = pictures.shape
        flat = pictures.reshape(n_domains, -1, n_rows)
        own = slices.reshape(len(slices), -1) @ flat
        unit = own.std(axis=(0, 2))
        unit[unit == 0] = 1.0
        self.slices, own = slices / unit[:, None, None], own / unit[:, None]
        self.goals = np.sort(own, axis=2)[self.second]
        self.pictures = flat[self.first]
        self.totals = self.slices.sum(axis=2)

    def by_pair(self, flow: FlowParameters, generators: Floats) -> Floats:
        """(pairs,) mean squared difference of quantiles, in units of the slices' variance."""
        return (self._forward(flow, generators).gap ** 2).mean(axis=(1, 2))

    def mean(self, flow: FlowParameters, generators: Floats) -> tuple[float, FlowParameters]:
        """Over all pairs, and its gradient."""
        found = self._forward(flow, generators)
        by_value = np.empty_like(found.gap)
        np.put_along_axis(by_value, found.order, 2 * found.gap / found.gap.size, axis=2)
        return float((found.gap**2).mean()), self._gradient(by_value, found, generators)

    def _forward(self, flow: FlowParameters, generators: Floats) -> _Pass:
        turned = exponents(self.features @ flow.motion, generators)
        forward, backward = expm(turned), expm(-turned)
        matrices = (forward[self.first] @ backward[self.second])[:, : generators.shape[1]]
        positions = self.grid.homogeneous @ matrices.swapaxes(1, 2)
        numbers, weights, slopes = self.grid.taps(positions)
        gains, offsets = self.features @ flow.gains, self.features @ flow.offsets
        ratio = np.exp(gains[self.second] - gains[self.first])
        toned = self._seen(numbers, weights) * ratio[:, None, :, None]
        level = np.einsum("jkc,jc->jk", toned.sum(axis=3), offsets[self.first])
        rise = offsets[self.second] @ self.totals.T
        flat = toned.reshape(len(self.pairs), len(self.slices), -1)
        values = flat @ self.pictures + (rise - level)[:, :, None]
        order = np.argsort(values, axis=2)
        gap = np.take_along_axis(values, order, axis=2) - self.goals
        return _Pass(gap, order, numbers, slopes, toned, ratio, offsets, turned, forward, backward)

    def _seen(self, numbers: Numbers, weights: Floats) -> Floats:
        """Slices (pairs, slices, channels, cells) as they fall on the first domain's cells."""
        n_pairs, n_cells, n_taps = numbers.shape
        rows = (numbers + n_cells * np.arange(n_pairs)[:, None, None]).ravel()
        starts = np.arange(0, rows.size + 1, n_taps)
        cells = np.tile(np.arange(n_cells), n_pairs)
        onto = sparse.csr_array(
            (weights.ravel(), rows, starts), shape=(n_pairs * n_cells, n_pairs * n_cells)
        )
        flat = self.slices.reshape(-1, n_cells).T
        seen = (onto.T @ flat[cells]).reshape(n_pairs, n_cells, *self.slices.shape[:2])
        return np.moveaxis(seen, 1, 3)

    def _gradient(self, by_value: Floats, found: _Pass, generators: Floats) -> FlowParameters:
        by_level, toned = by_value.sum(axis=2), found.toned
        by_toned = (by_value @ self.pictures.swapaxes(1, 2)).reshape(toned.shape)
        tint = found.offsets[self.first][:, None, :, None]
        by_toned = by_toned - by_level[:, :, None, None] * tint
        by_ratio = (by_toned * toned).sum(axis=(1, 3))
        by_first = -np.einsum("jk,jkc->jc", by_level, toned.sum(axis=3))
        gains, offsets = np.zeros_like(found.offsets), np.zeros_like(found.offsets)
        np.add.at(gains, self.second, by_ratio)
        np.add.at(gains, self.first, -by_ratio)
        np.add.at(offsets, self.first, by_first)
        np.add.at(offsets, self.second, by_level @ self.totals)
        by_seen = by_toned * found.ratio[:, None, :, None]
        motion = self._by_motion(self._by_position(by_seen, found), found, generators)
        return FlowParameters(motion, self.features.T @ gains, self.features.T @ offsets)

    def _by_position(self, by_seen: Floats, found: _Pass) -> Floats:
        """(pairs, cells, axes): what moving the place that a cell is seen at is worth."""
        flat = self.slices.reshape(-1, self.grid.size).T
        mixed = flat @ by_seen.reshape(len(by_seen), -1, self.grid.size)
        worth = np.take_along_axis(mixed, found.numbers, axis=2)
        return np.einsum("jpt,jpta->jpa", worth, found.slopes)

    def _by_motion(self, by_position: Floats, found: _Pass, generators: Floats) -> Floats:
        """Through the maps of both domains and their exponentials, (features, generators)."""
        n_axes = generators.shape[1]
        by_matrix = np.zeros((len(self.pairs), n_axes + 1, n_axes + 1))
        by_matrix[:, :n_axes] = by_position.swapaxes(1, 2) @ self.grid.homogeneous
        forward, backward = found.forward.swapaxes(1, 2), found.backward.swapaxes(1, 2)
        by_forward, by_backward = np.zeros_like(forward), np.zeros_like(forward)
        np.add.at(by_forward, self.first, by_matrix @ backward[self.second])
        np.add.at(by_backward, self.second, forward[self.first] @ by_matrix)
        by_exponent = _through_exponential(found.turned, by_forward)
        by_exponent -= _through_exponential(-found.turned, by_backward)
        by_coordinate = np.einsum("nij,rij->nr", by_exponent[:, :n_axes], generators)
        return self.features.T @ by_coordinate


def _through_exponential(matrices: Floats, gradient: Floats) -> Floats:
    """The gradient with respect to X where `gradient` is that with respect to exp(X)."""
    size = matrices.shape[1]
    block = np.zeros((len(matrices), 2 * size, 2 * size))
    block[:, :size, :size] = block[:, size:, size:] = matrices.swapaxes(1, 2)
    block[:, :size, size:] = gradient
    return expm(block)[:, :size, size:]
