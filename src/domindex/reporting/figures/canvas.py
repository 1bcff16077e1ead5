"""What all figures share: an Axes to draw on, colours, points with the names of domains."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.errors import DomindexError, InputError
from domindex.geometry import DomainIndex

Floats = NDArray[np.float64]

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#666666")
"""Okabe and Ito's colours, which people with any kind of colour vision tell apart."""

SOURCE_COLOR, TARGET_COLOR = PALETTE[0], PALETTE[1]


def new_axes(ax: Any) -> Any:
    """`ax`, or a fresh Axes of a figure that no window knows of."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DomindexError(
            "Figures need matplotlib. Install it with: pip install 'domindex[plots]'"
        ) from None
    return Figure(figsize=(7, 5.5), layout="constrained").add_subplot()


def plane(index: DomainIndex) -> Floats:
    """The first two components of a map, (domains, 2); zeros for a second that it lacks."""
    points = index.coordinates[:, :2]
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def as_index(given: Any) -> DomainIndex:
    """A map, or that of a fitted model."""
    index = getattr(given, "domain_index_", given)
    if not isinstance(index, DomainIndex):
        raise InputError(
            f"index is a {type(given).__name__}. Pass a fitted model, or its domain_index_."
        )
    return index


def sources_of(given: Any, asked: Collection[Hashable] | None) -> Collection[Hashable]:
    """The sources that were named, or those of a fitted model."""
    return getattr(given, "source_domains_", ()) if asked is None else asked


def source_marks(
    domains: Sequence[Hashable], source_domains: Collection[Hashable]
) -> NDArray[np.bool_]:
    """(domains,) True for sources."""
    return np.array([name in source_domains for name in domains], dtype=bool)


def kinds(sources: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], str, str, str]]:
    """For each kind of domain there is: which ones, marker, label, colour."""
    both = [(sources, "s", "source", SOURCE_COLOR), (~sources, "o", "target", TARGET_COLOR)]
    return [kind for kind in both if kind[0].any()]


def name_points(
    axes: Any, domains: Iterable[Hashable], points: Floats, below: float | None = None
) -> None:
    """The name of each domain beside its point, or so many typographic points below it.

    A $ in a name is a dollar, not mathematics.
    """
    place, side = ((6.0, 4.0), "left") if below is None else ((0.0, -below), "center")
    for name, point in zip(domains, points):
        label = axes.annotate(str(name), point, xytext=place, textcoords="offset points", ha=side)
        label.set(fontsize=7, parse_math=False)
