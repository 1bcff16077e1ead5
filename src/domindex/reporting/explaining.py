"""Why a domain lies where it does: the columns in which it differs from those around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.inputs.profiles import ColumnProfile
from domindex.reporting.records import ColumnRecord, DifferenceRecord, MissingRecord

MOST_SHOWN = 5
"""Columns that are shown of a domain."""

LEAST_MISSING = 0.005
"""Share of missing values below which a column is not mentioned."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One column of all domains beside their neighbours and the sources.

    Attributes
    ----------
    profile : the column
    sources : (bins,) shares of the sources, each counting alike
    neighbours : (domains, bins) shares of each domain's neighbours
    from_neighbours, from_sources : (domains,) distances from 0 to 1; 0 where nothing is known
    chance : (domains,) what as few rows would differ by without any reason
    missing : (domains,) share of missing values
    """

    profile: ColumnProfile
    sources: Floats
    neighbours: Floats
    from_neighbours: Floats
    from_sources: Floats
    chance: Floats
    missing: Floats

    @classmethod
    def of(
        cls, profile: ColumnProfile, nearest: NDArray[np.int64], is_source: NDArray[np.bool_]
    ) -> Comparison:
        """`nearest` (domains, neighbours) are numbers, `is_source` (domains,) roles."""
        shares, known = profile.shares, profile.counts.sum(axis=1)
        there = (known > 0).astype(np.float64)
        around = there[nearest].sum(axis=1)
        neighbours = shares[nearest].sum(axis=1) / np.maximum(around, 1.0)[:, None]
        sources = profile.pooled(is_source)
        from_neighbours = profile.distance(shares, neighbours) * (there * (around > 0))
        from_sources = profile.distance(shares, sources[None]) * there * bool(sources.any())
        total = np.maximum(known + profile.missing, 1.0)
        chance = _chance(profile, neighbours, np.maximum(known, 1.0))
        missing = profile.missing / total
        return cls(profile, sources, neighbours, from_neighbours, from_sources, chance, missing)

    @property
    def strength(self) -> Floats:
        """(domains,) by which columns are ordered: the mean of both distances beyond chance."""
        return (self.from_neighbours + self.from_sources) / 2.0 - self.chance

    def record(self, is_source: NDArray[np.bool_]) -> ColumnRecord:
        missing = self.missing[is_source]
        return ColumnRecord(
            self.profile.name,
            self.profile.bin_names,
            not self.profile.levels,
            _rounded(self.sources),
            float(missing.mean()) if len(missing) else 0.0,
        )


@dataclass(frozen=True, eq=False)
class Explanations:
    """The columns, and for every domain those in which it differs and those that it lacks."""

    columns: tuple[ColumnRecord, ...]
    differences: list[tuple[DifferenceRecord, ...]]
    missing: list[tuple[MissingRecord, ...]]


def compare(
    profiles: Sequence[ColumnProfile], nearest: NDArray[np.int64], is_source: NDArray[np.bool_]
) -> list[Comparison]:
    """Every column; domains that profiles do not hold yet, such as added ones, have no counts."""
    n_domains = len(nearest)
    return [Comparison.of(_grown(one, n_domains), nearest, is_source) for one in profiles]


def explain(comparisons: Sequence[Comparison], is_source: NDArray[np.bool_]) -> Explanations:
    """For each domain at most `MOST_SHOWN` columns, the largest difference first."""
    n_domains = len(is_source)
    if not comparisons:
        return Explanations((), [()] * n_domains, [()] * n_domains)
    strength = np.stack([one.strength for one in comparisons], axis=1)
    lacking = np.stack([one.missing for one in comparisons], axis=1)
    strongest = np.argsort(-strength, axis=1, kind="stable")[:, :MOST_SHOWN]
    emptiest = np.argsort(-lacking, axis=1, kind="stable")[:, :MOST_SHOWN]
    return Explanations(
        tuple(one.record(is_source) for one in comparisons),
        [
            tuple(
                difference(comparisons[column], int(column), domain)
                for column in strongest[domain]
                if strength[domain, column] > 0
            )
            for domain in range(n_domains)
        ],
        [
            tuple(
                MissingRecord(int(column), float(lacking[domain, column]))
                for column in emptiest[domain]
                if lacking[domain, column] >= LEAST_MISSING
            )
            for domain in range(n_domains)
        ],
    )


def difference(comparison: Comparison, column: int, domain: int) -> DifferenceRecord:
    """One column of one domain."""
    return DifferenceRecord(
        column,
        float(comparison.from_neighbours[domain]),
        float(comparison.from_sources[domain]),
        float(comparison.chance[domain]),
        _rounded(comparison.profile.shares[domain]),
        _rounded(comparison.neighbours[domain]),
    )


def _chance(profile: ColumnProfile, shares: Floats, rows: Floats) -> Floats:
    """(domains,) expected distance of so many rows, drawn from shares (domains, bins), to these."""
    if profile.levels or not len(profile.edges):
        spread = np.sqrt(2.0 * shares * (1.0 - shares) / np.pi).sum(axis=1) / 2.0
    else:
        below = np.clip(np.cumsum(shares, axis=1)[:, :-1], 0.0, 1.0)
        spread = np.sqrt(2.0 * below * (1.0 - below) / np.pi).mean(axis=1)
    return spread / np.sqrt(rows)


def _grown(profile: ColumnProfile, n_domains: int) -> ColumnProfile:
    more = n_domains - len(profile.counts)
    if not more:
        return profile
    return ColumnProfile(
        profile.name,
        profile.edges,
        profile.levels,
        np.pad(profile.counts, ((0, more), (0, 0))),
        np.pad(profile.missing, (0, more)),
    )


def _rounded(shares: Floats) -> tuple[float, ...]:
    """To whole percents: a bar shows no more, and no row shall be told from another."""
    return tuple(float(share) for share in np.round(shares, 2))
