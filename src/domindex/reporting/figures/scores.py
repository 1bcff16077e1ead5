"""How well each domain is predicted, and whether distance from the sources hurts."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np

from domindex.errors import InputError
from domindex.inputs.messages import preview
from domindex.reporting.distances import distances_to_sources
from domindex.reporting.figures.canvas import (
    as_index,
    height_of_rows,
    kinds,
    name_points,
    new_axes,
    short_name,
    source_marks,
    sources_of,
)


def plot_scores_by_domain(
    scores: Mapping[Hashable, float],
    *,
    baseline: Mapping[Hashable, float] | None = None,
    score_label: str = "score",
    source_domains: Collection[Hashable] = (),
    ax: Any = None,
) -> Any:
    """A score or an error for each domain, the smallest at the bottom.

    Parameters
    ----------
    scores : domain to number, as from `evaluation.scores_by_domain`
    baseline : the same of another method, joined to it by a line
    score_label : what the numbers are
    source_domains : squares
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex.reporting import plot_scores_by_domain
    >>> axes = plot_scores_by_domain({"a": 0.9, "b": 0.8}, source_domains=["a"])
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['b', 'a']
    """
    if not scores:
        raise InputError("scores is empty. Pass a number for each domain to be drawn.")
    domains = sorted(scores, key=lambda name: scores[name])
    values = np.array([scores[name] for name in domains])
    heights = np.arange(len(domains))
    axes = new_axes(ax, height_of_rows(len(domains)))
    if baseline is not None:
        others = np.array([baseline.get(name, np.nan) for name in domains])
        axes.hlines(heights, others, values, color="0.8", zorder=1)
        axes.scatter(others, heights, marker="|", s=60, color="0.35", label="baseline", zorder=2)
    for chosen, marker, label, color in kinds(source_marks(domains, source_domains)):
        axes.scatter(
            values[chosen], heights[chosen], marker=marker, color=color, label=label, zorder=3
        )
    axes.set_yticks(heights, [short_name(name) for name in domains], fontsize=7)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)
    axes.set(xlabel=score_label, ylabel="domain")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="best", frameon=False)
    return axes


def plot_scores_by_distance(
    index: Any,
    scores: Mapping[Hashable, float],
    *,
    source_domains: Collection[Hashable] | None = None,
    score_label: str = "score",
    ax: Any = None,
) -> Any:
    """A score or an error against the way on the map to the nearest source.

    The unit is the map's median spacing: the median distance of a domain to its nearest other.

    Parameters
    ----------
    index : a fitted model or its map
    scores : domain to number; domains of the map that it lacks are left out
    source_domains : where distances are measured from; None takes those of a model
    score_label : what the numbers are
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex.geometry import DomainIndex
    >>> index = DomainIndex.from_distances(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]], 2)
    >>> from domindex.reporting import plot_scores_by_distance
    >>> axes = plot_scores_by_distance(index, {"b": 0.9, "c": 0.8}, source_domains=["a"])
    >>> [text.get_text() for text in axes.texts]
    ['b', 'c']
    """
    sources_named, index = sources_of(index, source_domains), as_index(index)
    domains = [name for name in index.domains if name in scores]
    if not domains:
        raise InputError(
            f"scores names {preview(scores)}, none of the map's domains "
            f"({preview(index.domains)}). Use the names of the map."
        )
    away = dict(zip(index.domains, distances_to_sources(index, sources_named)))
    points = np.array([[away[name], scores[name]] for name in domains])
    axes = new_axes(ax)
    for chosen, marker, label, color in kinds(source_marks(domains, sources_named)):
        axes.scatter(*points[chosen].T, marker=marker, color=color, label=label, zorder=2)
    axes.set(xlabel="distance to the nearest source, in median spacings", ylabel=score_label)
    axes.grid(alpha=0.3)
    axes.legend(loc="best", frameon=False)
    name_points(axes, domains, points)
    return axes
