"""A map beside what is known about where the domains lie."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.evaluation import index_correlation, procrustes_agreement
from domindex.geometry import procrustes_align
from domindex.reporting.figures.canvas import (
    as_index,
    kinds,
    name_points,
    new_axes,
    plane,
    source_marks,
    sources_of,
)


def plot_map_on_positions(
    index: Any,
    positions: ArrayLike,
    *,
    position_names: tuple[str, str] = ("position 1", "position 2"),
    source_domains: Collection[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """The map laid on known positions: a line from where each domain is to where the map has it.

    The map is moved, turned, mirrored and scaled as a whole, the way that shortens the lines most.

    Parameters
    ----------
    index : a fitted model or its map; the first two components are drawn
    positions : (domains, 2), in the order of `index.domains`, such as longitude and latitude
    position_names : what the two columns are
    source_domains : squares; None takes those of a model
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex.geometry import DomainIndex
    >>> index = DomainIndex.from_distances(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]], 2)
    >>> from domindex.reporting import plot_map_on_positions
    >>> axes = plot_map_on_positions(index, [[0, 0], [1, 0], [2, 0]])
    >>> axes.get_title()
    'The map explains 100% of the positions'
    """
    sources_named, index = sources_of(index, source_domains), as_index(index)
    known = np.asarray(positions, dtype=np.float64)
    if known.shape != (len(index.domains), 2) or not np.isfinite(known).all():
        raise InputError(
            f"positions has shape {known.shape} for {len(index.domains)} domains. "
            "Pass two finite numbers for each, in the order of index.domains."
        )
    axes = new_axes(ax)
    laid = _laid_on(plane(index), known)
    for start, end in zip(known, laid):
        axes.plot(*np.array([start, end]).T, color="0.75", linewidth=0.9, zorder=1)
    for chosen, marker, label, color in kinds(source_marks(index.domains, sources_named)):
        axes.scatter(
            *known[chosen].T,
            marker=marker,
            s=45,
            facecolors="none",
            edgecolors=color,
            label=f"{label}, known position",
            zorder=2,
        )
        axes.scatter(
            *laid[chosen].T,
            marker=marker,
            s=45,
            color=color,
            label=f"{label}, on the map",
            zorder=3,
        )
    agreement = procrustes_agreement(plane(index), known)
    axes.set(
        xlabel=position_names[0],
        ylabel=position_names[1],
        title=f"The map explains {agreement:.0%} of the positions",
    )
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="best", frameon=False, fontsize=8)
    name_points(axes, index.domains, laid)
    return axes


def plot_index_against_truth(
    index: Any,
    truth: ArrayLike,
    *,
    truth_label: str = "true index",
    source_domains: Collection[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """The map's first principal axis against a known number per domain, which it should follow.

    The sign of a map means nothing, so the axis is turned to rise with the truth.

    Parameters
    ----------
    index : a fitted model or its map
    truth : (domains,) a number a domain, in the order of `index.domains`
    truth_label : what it is
    source_domains : squares; None takes those of a model
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex.geometry import DomainIndex
    >>> index = DomainIndex.from_distances(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]], 2)
    >>> from domindex.reporting import plot_index_against_truth
    >>> axes = plot_index_against_truth(index, [2001, 2002, 2003], truth_label="year")
    >>> axes.get_xlabel()
    'year'
    """
    sources_named, index = sources_of(index, source_domains), as_index(index)
    correlation = index_correlation(index.coordinates, truth)
    known = np.asarray(truth, dtype=np.float64).squeeze()
    inferred = _along(first_axis(index.coordinates), known)
    axes = new_axes(ax)
    for chosen, marker, label, color in kinds(source_marks(index.domains, sources_named)):
        axes.scatter(
            known[chosen], inferred[chosen], marker=marker, color=color, label=label, zorder=2
        )
    axes.set(
        xlabel=truth_label,
        ylabel="inferred index, first principal axis",
        title=f"|r| = {correlation:.3f}",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="best", frameon=False)
    name_points(axes, index.domains, np.column_stack([known, inferred]))
    return axes


def first_axis(coordinates: Floats) -> Floats:
    """(domains,) positions along the direction in which the map is widest."""
    centred = coordinates - coordinates.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][0]


def _along(values: Floats, known: Floats) -> Floats:
    return -values if values @ (known - known.mean()) < 0 else values


def _laid_on(points: Floats, known: Floats) -> Floats:
    """The similarity of `points` that comes closest to `known`."""
    turned = procrustes_align(points, known)
    centre = known.mean(axis=0)
    centred = turned - centre
    scale = (centred * (known - centre)).sum() / ((centred**2).sum() or 1.0)
    return centre + scale * centred
