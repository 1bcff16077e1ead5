"""Diagnostics of a map: what may mislead its reader, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from domindex.committee.committee import CLEARLY_APART
from domindex.evaluation import IndexAudit
from domindex.geometry import DomainIndex
from domindex.geometry.distances import median_spacing, widest_distance
from domindex.inputs.messages import number_text
from domindex.reporting.report_data import DomainRecord, HeldOutQuality


def diagnose(
    index: DomainIndex,
    records: Sequence[DomainRecord],
    audit: IndexAudit | None,
    held_out: HeldOutQuality | None,
    off_map: Sequence[str] = (),
) -> tuple[str, ...]:
    """A sentence for each sign of trouble that there is; `off_map` names added domains."""
    on_map = (*_on_domains(records, off_map), *_on_targets(index, records))
    return (*on_map, *_on_collapse(records, audit), *_on_quality(index, held_out))


def _on_domains(records: Sequence[DomainRecord], off_map: Sequence[str]) -> Iterator[str]:
    n_sources = sum(record.role == "source" for record in records)
    if n_sources == 1 and any(record.forecast is not None for record in records):
        yield (
            "There is one source, so no domain could be held out: forecasts rest on how sure the "
            "model is of itself, and it may be surest where it is wrong. Label a few rows of a "
            "second domain before relying on them."
        )
    small = [record.name for record in records if record.rows < 10]
    if small:
        yield (
            f"{_count(small, 'domain has', 'domains have')} fewer than 10 rows: "
            f"{_some(small)}. Their places on the map are uncertain."
        )
    if off_map:
        yield (
            f"{_count(off_map, 'added domain lies', 'added domains lie')} off the map, further "
            f"from all domains of the fit than these are from each other: {_some(off_map)}. What "
            "held on known domains need not hold there."
        )


def _on_targets(
    index: DomainIndex, records: Sequence[DomainRecord], far_spacings: float = 3.0
) -> Iterator[str]:
    """Targets farther from all sources than these from each other, or reached in two ways."""
    sources = np.array([record.role == "source" for record in records])
    span = widest_distance(index.coordinates[sources]) / (median_spacing(index) or 1.0)
    limit = max(span, far_spacings)
    by_distance = sorted(records, key=lambda record: -record.distance_to_source)
    far = [record.name for record in by_distance if record.distance_to_source > limit]
    lie = _count(far, "target lies", "targets lie")
    if far and sources.sum() == 1:
        yield (
            f"{lie} more than {far_spacings:g} median spacings from the only source: {_some(far)}. "
            "Nothing shows whether a rule learned there holds so far away."
        )
    elif far:
        yield (
            f"{lie} farther from every source than the sources lie from one another: {_some(far)}. "
            "Nothing labelled is near; predictions there assume that domains keep changing as they "
            "do among the sources."
        )
    ways = {one.name: one.forecast.two_ways for one in records if one.forecast is not None}
    apart = [name for name, way in ways.items() if way is not None and way < 1.0 - CLEARLY_APART]
    if apart:
        yield (
            f"The map closes, and {_count(apart, 'target', 'targets')} can be reached both ways "
            f"round with different predictions: {_some(apart)}. Inputs cannot say which way is "
            "right; a few labels opposite to the sources would."
        )


def _on_collapse(records: Sequence[DomainRecord], audit: IndexAudit | None) -> Iterator[str]:
    """A map of one point, one that is blurred, or domains that the inputs do not show."""
    points = np.array([record.coordinates for record in records])
    deviations = np.array([record.deviations for record in records])
    spread = np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean())
    blur = np.sqrt((deviations**2).sum(axis=1).mean())
    probe = None if audit is None else audit.domain_from_inputs
    if spread <= 1e-9:
        yield "The index has collapsed: all domains lie on one point, so the map shows nothing."
    elif blur > spread:
        yield (
            "The index may have collapsed: domains are as uncertain as they are far apart "
            f"(deviation {blur:.2g}, spread {spread:.2g}), so near and far mean little."
        )
    elif probe is not None and probe.information <= 2.0 * probe.standard_error:
        yield (
            "The index may have collapsed: a fresh classifier names the domain from the inputs in "
            f"{probe.accuracy:.1%} of rows, and guessing gives {probe.chance:.1%}. The domains "
            "look alike, and the map may show chance only."
        )


def _on_quality(index: DomainIndex, held_out: HeldOutQuality | None) -> Iterator[str]:
    """Distances that the map fails to show, and a plain model that did better."""
    # stress is a sum over all pairs: too much memory for thousands of domains
    if len(index.domains) <= 2000 and index.stress > 0.35:
        yield (
            f"The map leaves out {index.stress:.0%} of the distances between domains (stress). "
            "Read clusters and order from it rather than lengths, or fit with more components "
            "(index_dim)."
        )
    if held_out is not None and held_out.clearly_worse:
        yield (
            "On held-out source domains a plain model without adaptation did better "
            f"({held_out.score_name} {_score(held_out.means[1], held_out)}, against "
            f"{_score(held_out.means[0], held_out)}). "
            "Compare both before relying on predictions in targets."
        )


def _score(value: float, held_out: HeldOutQuality) -> str:
    return f"{100 * value:.1f} %" if held_out.higher_is_better else number_text(value)


def _count(names: Sequence[str], one: str, many: str) -> str:
    return f"{len(names)} {one if len(names) == 1 else many}"


def _some(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
