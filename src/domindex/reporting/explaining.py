"""Why a domain lies where it does: the columns in which it differs from those around it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.profiles import ColumnProfile
from domindex.reporting.canvas import map_and_sources
from domindex.reporting.distances import distances_to_sources, nearest_domains
from domindex.reporting.report_data import ColumnRecord, DifferenceRecord, MissingRecord


@dataclass(frozen=True, eq=False)
class Comparison:
    """One column of all domains beside their neighbours and the sources."""

    profile: ColumnProfile
    sources: Floats  # (bins,) shares of the sources, each counting alike
    neighbours: Floats  # (domains, bins) shares of each domain's neighbours
    from_neighbours: Floats  # (domains,) distances from 0 to 1; 0 where nothing is known
    from_sources: Floats
    chance: Floats  # (domains,) what as few rows would differ by without any reason
    missing: Floats  # (domains,) share of missing values

    @classmethod
    def of(cls, profile: ColumnProfile, nearest: Ints, is_source: NDArray[np.bool_]) -> Comparison:
        """Domains that the profile does not hold, such as added ones, have no counts."""
        more = len(nearest) - len(profile.counts)
        counts = np.pad(profile.counts, ((0, more), (0, 0)))
        profile = replace(profile, counts=counts, missing=np.pad(profile.missing, (0, more)))
        shares, known = profile.shares, profile.counts.sum(axis=1)
        there = (known > 0).astype(np.float64)
        around = there[nearest].sum(axis=1)
        neighbours = shares[nearest].sum(axis=1) / np.maximum(around, 1.0)[:, None]
        sources = profile.pooled(is_source)
        return cls(
            profile,
            sources,
            neighbours,
            profile.distance(shares, neighbours) * (there * (around > 0)),
            profile.distance(shares, sources[None]) * there * bool(sources.any()),
            _chance(profile, neighbours, np.maximum(known, 1.0)),
            profile.missing / np.maximum(known + profile.missing, 1.0),
        )

    @property
    def strength(self) -> Floats:
        """(domains,) by which columns are ordered: the mean of both distances beyond chance."""
        return (self.from_neighbours + self.from_sources) / 2.0 - self.chance

    def column(self, is_source: NDArray[np.bool_]) -> ColumnRecord:
        """The column as the sources show it."""
        profile, missing = self.profile, self.missing[is_source]
        lacking = float(missing.mean()) if len(missing) else 0.0
        shares = _rounded(self.sources)
        return ColumnRecord(profile.name, profile.bin_names, not profile.levels, shares, lacking)

    def distances(self, domain: int) -> tuple[float, float, float]:
        """Of one domain: from its neighbours, from the sources, and what chance gives."""
        near, away, chance = self.from_neighbours, self.from_sources, self.chance
        return float(near[domain]), float(away[domain]), float(chance[domain])

    def difference(self, column: int, domain: int) -> DifferenceRecord:
        """One domain; `column` is the number of the column in the report."""
        shares, around = self.profile.shares[domain], self.neighbours[domain]
        return DifferenceRecord(column, *self.distances(domain), _rounded(shares), _rounded(around))


@dataclass(frozen=True, eq=False)
class Explanations:
    """The columns, and for every domain those in which it differs and those that it lacks."""

    columns: tuple[ColumnRecord, ...]
    differences: list[tuple[DifferenceRecord, ...]]
    missing: list[tuple[MissingRecord, ...]]


def compare(model: Any, profiles: Sequence[ColumnProfile]) -> list[Comparison]:
    """Every column, over all domains of the model's map."""
    index, is_source = map_and_sources(model)
    return [Comparison.of(one, nearest_domains(index), is_source) for one in profiles]


def explain(model: Any, profiles: Sequence[ColumnProfile], most: int = 5) -> Explanations:
    """For each domain at most `most` columns, the largest difference first.

    Columns with less than half a percent of missing values are not mentioned as lacking.
    """
    _, is_source = map_and_sources(model)
    compared = compare(model, profiles)
    if not compared:
        return Explanations((), [()] * len(is_source), [()] * len(is_source))
    strength = np.stack([one.strength for one in compared], axis=1)
    lacking = np.stack([one.missing for one in compared], axis=1)
    return Explanations(
        tuple(one.column(is_source) for one in compared),
        [
            tuple(compared[n].difference(int(n), domain) for n in columns if values[n] > 0)
            for domain, (values, columns) in enumerate(zip(strength, _largest(strength, most)))
        ],
        [
            tuple(MissingRecord(int(n), float(values[n])) for n in columns if values[n] >= 0.005)
            for values, columns in zip(lacking, _largest(lacking, most))
        ],
    )


def map_table(model: Any) -> pd.DataFrame:
    """A row a domain: domain, role, index_1, …, std_1, …, distance, and angle where it closes."""
    index, is_source = map_and_sources(model)
    columns: dict[str, Any] = {
        "domain": pd.Series(list(index.domains), dtype=object),
        "role": np.where(is_source, "source", "target").tolist(),
    }
    columns |= {f"index_{n}": axis for n, axis in enumerate(index.coordinates.T, start=1)}
    columns |= {f"std_{n}": axis for n, axis in enumerate(model.domain_index_std_.T, start=1)}
    columns["distance"] = distances_to_sources(index, model.source_domains_)
    if index.angles is not None:
        columns["angle"] = index.angles
    return pd.DataFrame(columns)


def explain_domain(model: Any, name: Hashable) -> pd.DataFrame:
    """A row a column, the largest difference first; see `BaseVDI.explain_domain`."""
    domains = model.domain_index_.domains
    if name not in domains:
        raise InputError(
            f"{name!r} is none of the model's domains ({preview(domains)}). "
            f"{did_you_mean(str(name), map(str, domains)) or 'Spell it as in sample_domain.'}"
        )
    number = domains.index(name)
    compared = compare(model, () if model._record is None else model._record.profiles)
    known = [one for one in compared if one.profile.counts[number].any()]
    known.sort(key=lambda one: -one.strength[number])
    names = ("column", "from_neighbours", "from_sources", "chance")
    typical = ("typical", "neighbours_typical", "sources_typical")
    return pd.DataFrame([_row(one, number) for one in known], columns=[*names, *typical])


def _row(one: Comparison, number: int) -> list[Any]:
    shares = one.profile.shares[number], one.neighbours[number], one.sources
    level = None
    if one.profile.levels:
        level = int(np.abs(2.0 * shares[0] - shares[1] - shares[2]).argmax())
    typical = [_typical(one.profile, part, level) for part in shares]
    return [one.profile.name, *one.distances(number), *typical]


def _typical(profile: ColumnProfile, shares: Floats, level: int | None) -> str | None:
    """The range that holds the median, or the share of a category; None where nothing is known."""
    if not shares.any():
        return None
    if level is not None:
        return f"{profile.bin_names[level]} {shares[level]:.0%}"
    half = shares.sum() / 2.0
    return profile.bin_names[int((np.cumsum(shares) >= half - 1e-9).argmax())]


def _chance(profile: ColumnProfile, shares: Floats, rows: Floats) -> Floats:
    """(domains,) expected distance of so many rows, drawn from shares (domains, bins), to these."""
    if profile.levels or not len(profile.edges):
        spread = np.sqrt(2.0 * shares * (1.0 - shares) / np.pi).sum(axis=1) / 2.0
    else:
        below = np.clip(np.cumsum(shares, axis=1)[:, :-1], 0.0, 1.0)
        spread = np.sqrt(2.0 * below * (1.0 - below) / np.pi).mean(axis=1)
    return spread / np.sqrt(rows)


def _largest(values: Floats, most: int) -> Ints:
    """(rows, most) numbers of each row's largest values, the largest first."""
    return np.argsort(-values, axis=1, kind="stable")[:, :most]


def _rounded(shares: Floats) -> tuple[float, ...]:
    """To whole percents: a bar shows no more, and no single row can be recognised."""
    return tuple(float(share) for share in np.round(shares, 2))
