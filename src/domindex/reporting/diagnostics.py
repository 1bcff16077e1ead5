"""Diagnostics of a map: what may mislead its reader, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from domindex.committee.committee import CLEARLY_APART
from domindex.evaluation import IndexAudit
from domindex.geometry import DomainIndex
from domindex.reporting.distances import median_spacing, widest_distance
from domindex.reporting.records import DomainRecord, HeldOutQuality

FAR_SPACINGS = 3.0
"""With a single source, a target farther away than so many median spacings counts as far."""


def diagnose(
    index: DomainIndex,
    records: Sequence[DomainRecord],
    audit: IndexAudit | None,
    held_out: HeldOutQuality | None,
    off_map: Sequence[str] = (),
) -> tuple[str, ...]:
    """A sentence for each sign of trouble that there is; `off_map` names added domains."""
    found = (
        _one_source(records),
        _small_domains(records),
        _off_the_map(off_map),
        _far_targets(index, records),
        _two_ways(records),
        _collapsed(records, audit),
        _poorly_shown(index),
        _not_an_index(audit),
        _no_better_than_plain(held_out),
    )
    return tuple(sentence for sentence in found if sentence)


def _one_source(records: Sequence[DomainRecord]) -> str:
    """Forecasts that no domain was held out for."""
    n_sources = sum(record.role == "source" for record in records)
    if n_sources != 1 or all(record.forecast is None for record in records):
        return ""
    return (
        "There is one source, so no domain could be held out: forecasts rest on how sure the model "
        "is of itself, and it may be surest where it is wrong. Label a few rows of a second domain "
        "before relying on them."
    )


def _small_domains(records: Sequence[DomainRecord]) -> str:
    small = [record.name for record in records if record.rows < 10]
    if not small:
        return ""
    return (
        f"{_count(small, 'domain has', 'domains have')} fewer than 10 rows: "
        f"{_some(small)}. Their places on the map are uncertain."
    )


def _off_the_map(names: Sequence[str]) -> str:
    if not names:
        return ""
    return (
        f"{_count(names, 'added domain lies', 'added domains lie')} off the map, further from all "
        f"domains of the fit than these are from each other: {_some(names)}. What held on known "
        "domains need not hold there."
    )


def _far_targets(index: DomainIndex, records: Sequence[DomainRecord]) -> str:
    """Targets farther from all sources than the sources are from each other."""
    sources = np.array([record.role == "source" for record in records])
    span = widest_distance(index.coordinates[sources]) / (median_spacing(index) or 1.0)
    limit = max(span, FAR_SPACINGS)
    far = [record for record in records if record.distance_to_source > limit]
    if not far:
        return ""
    far.sort(key=lambda record: -record.distance_to_source)
    names = [record.name for record in far]
    if sources.sum() == 1:
        return (
            f"{_count(names, 'target lies', 'targets lie')} more than {FAR_SPACINGS:g} median "
            f"spacings from the only source: {_some(names)}. Nothing says how a rule learned there "
            "carries over so far."
        )
    return (
        f"{_count(names, 'target lies', 'targets lie')} farther from every source than the sources "
        f"lie from one another: {_some(names)}. Nothing labelled is near; predictions there rest "
        "on changes going on as they do among the sources."
    )


def _two_ways(records: Sequence[DomainRecord]) -> str:
    """Targets for which it matters which way round a closed map they are reached."""
    apart = [
        record.name
        for record in records
        if record.forecast is not None
        and record.forecast.two_ways is not None
        and record.forecast.two_ways < 1.0 - CLEARLY_APART
    ]
    if not apart:
        return ""
    return (
        f"The map closes, and {_count(apart, 'target', 'targets')} can be reached both ways round "
        f"with different predictions: {_some(apart)}. Inputs cannot say which way is right; a few "
        "labels opposite to the sources would."
    )


def _collapsed(records: Sequence[DomainRecord], audit: IndexAudit | None) -> str:
    """A map of one point, one blurred beyond its size, or domains that the inputs do not show."""
    points = np.array([record.coordinates for record in records])
    deviations = np.array([record.deviations for record in records])
    spread = np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean())
    blur = np.sqrt((deviations**2).sum(axis=1).mean())
    if spread <= 1e-9:
        return "The index has collapsed: all domains lie on one point, so the map shows nothing."
    if blur > spread:
        return (
            "The index may have collapsed: domains are as uncertain as they are far apart "
            f"(deviation {blur:.2g}, spread {spread:.2g}), so near and far mean little."
        )
    if audit is None:
        return ""
    probe = audit.domain_from_inputs
    if probe.information <= 2.0 * probe.standard_error:
        return (
            "The index may have collapsed: a fresh classifier names the domain from the inputs in "
            f"{probe.accuracy:.1%} of rows, and guessing gives {probe.chance:.1%}. The domains "
            "look alike, and the map may show chance only."
        )
    return ""


def _poorly_shown(index: DomainIndex, poor_stress: float = 0.35) -> str:
    """A map that fails to show much of the distances; not of thousands of domains, for memory."""
    if len(index.domains) > 2000 or not index.stress > poor_stress:
        return ""
    return (
        f"The map leaves out {index.stress:.0%} of the distances between domains (stress). Read "
        "clusters and order from it rather than lengths, or fit with more components (index_dim)."
    )


def _not_an_index(audit: IndexAudit | None) -> str:
    if audit is None or audit.holds:
        return ""
    return "By the audit below, not all conditions of a domain index hold."


def _no_better_than_plain(held_out: HeldOutQuality | None) -> str:
    if held_out is None or not held_out.clearly_worse:
        return ""
    return (
        "On held-out source domains a plain model without adaptation "
        f"did better ({held_out.score_name} {held_out.baseline_mean:.3g}, "
        f"against {held_out.mean:.3g}). "
        "Compare both before relying on predictions in targets."
    )


def _count(names: Sequence[str], one: str, many: str) -> str:
    return f"{len(names)} {one if len(names) == 1 else many}"


def _some(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
