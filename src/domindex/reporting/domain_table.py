"""The map, and why a domain lies where it does, as data frames."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.profiles import ColumnProfile
from domindex.reporting.distances import distances_to_sources, nearest_domains
from domindex.reporting.explaining import Comparison, compare

N_NEIGHBOURS = 4

EXPLAINED = (
    "column",
    "from_neighbours",
    "from_sources",
    "chance",
    "typical",
    "neighbours_typical",
    "sources_typical",
)


def map_table(model: Any) -> pd.DataFrame:
    """A row a domain: domain, role, index_1, …, std_1, …, distance, and angle where it closes."""
    index, sources = model.domain_index_, set(model.source_domains_)
    columns: dict[str, Any] = {
        "domain": pd.Series(list(index.domains), dtype=object),
        "role": ["source" if name in sources else "target" for name in index.domains],
    }
    columns |= {f"index_{n}": axis for n, axis in enumerate(index.coordinates.T, start=1)}
    columns |= {f"std_{n}": axis for n, axis in enumerate(model.domain_index_std_.T, start=1)}
    columns["distance"] = distances_to_sources(index, model.source_domains_)
    if index.angles is not None:
        columns["angle"] = index.angles
    return pd.DataFrame(columns)


def explain_domain(model: Any, name: Hashable) -> pd.DataFrame:
    """A row a column, the largest difference first; see `BaseVDI.explain_domain`."""
    index = model.domain_index_
    if name not in index.domains:
        raise InputError(
            f"{name!r} is none of the model's domains ({preview(index.domains)}). "
            f"{did_you_mean(str(name), map(str, index.domains)) or 'Spell it as in sample_domain.'}"
        )
    number = index.domains.index(name)
    record = model._record
    profiles = () if record is None else record.profiles
    sources = set(model.source_domains_)
    is_source = np.array([one in sources for one in index.domains], dtype=bool)
    compared = compare(profiles, nearest_domains(index, N_NEIGHBOURS), is_source)
    known = [one for one in compared if one.profile.counts[number].any()]
    known.sort(key=lambda one: -one.strength[number])
    return pd.DataFrame([_row(one, number) for one in known], columns=list(EXPLAINED))


def _row(comparison: Comparison, number: int) -> dict[str, Any]:
    profile = comparison.profile
    own, around, sources = (
        profile.shares[number],
        comparison.neighbours[number],
        comparison.sources,
    )
    level = int(np.abs(2.0 * own - around - sources).argmax()) if profile.levels else None
    return {
        "column": profile.name,
        "from_neighbours": float(comparison.from_neighbours[number]),
        "from_sources": float(comparison.from_sources[number]),
        "chance": float(comparison.chance[number]),
        "typical": _typical(profile, own, level),
        "neighbours_typical": _typical(profile, around, level),
        "sources_typical": _typical(profile, sources, level),
    }


def _typical(profile: ColumnProfile, shares: NDArray[np.float64], level: int | None) -> str | None:
    """The range that holds the median, or the share of a category; None where nothing is known.

    `level` is the category in which the domain differs most.
    """
    if not shares.any():
        return None
    if level is not None:
        return f"{profile.bin_names[level]} {shares[level]:.0%}"
    half = shares.sum() / 2.0
    return profile.bin_names[int((np.cumsum(shares) >= half - 1e-9).argmax())]
