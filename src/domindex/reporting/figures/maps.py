"""The map itself."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.reporting.figures.canvas import (
    PALETTE,
    as_index,
    height_of_map,
    kinds,
    name_points,
    new_axes,
    plane,
    source_marks,
    sources_of,
)

DOT: dict[str, Any] = {"s": 70, "edgecolors": "black", "linewidths": 0.6, "zorder": 2}


def plot_domain_map(
    index: Any,
    *,
    std: ArrayLike | None = None,
    color: ArrayLike | None = None,
    color_label: str = "",
    source_domains: Collection[Hashable] | None = None,
    graph: nx.Graph | None = None,
    ax: Any = None,
) -> Any:
    """The domains as points on the plane: squares for sources, circles for targets.

    Where the map closes, a line leads once around its ring.

    Parameters
    ----------
    index : a fitted model or its map; the first two components are drawn, one alone against zero
    std : (domains, components), drawn as ellipses of one deviation; a model brings its own
    color : a number per domain, or a text for each of up to 8 groups
    color_label : what the bar of colours says, where they stand for numbers
    source_domains : squares; None takes those of a model
    graph : joined domains get a line
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex.geometry import DomainIndex
    >>> index = DomainIndex.from_distances(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]], 2)
    >>> from domindex.reporting import plot_domain_map
    >>> axes = plot_domain_map(index, source_domains=["a"])
    >>> [text.get_text() for text in axes.texts]
    ['a', 'b', 'c']
    """
    sources_named = sources_of(index, source_domains)
    std = getattr(index, "domain_index_std_", None) if std is None else std
    index = as_index(index)
    points = plane(index)
    axes = new_axes(ax, height_of_map(points))
    values = _color_values(color, len(points))
    if index.angles is not None:
        _draw_ring(axes, points, index.angles)
    if graph is not None:
        _draw_edges(axes, index, points, graph)
    if std is not None:
        _draw_ellipses(axes, points, np.asarray(std, dtype=float))
    sources = source_marks(index.domains, sources_named)
    if color is None:
        _draw_kinds(axes, points, sources)
    elif values.dtype.kind == "U":
        _draw_groups(axes, points, values, sources)
    else:
        _draw_numbers(axes, points, values, sources, color_label)
    axes.set(xlabel="domain index 1", ylabel="domain index 2")
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.08)
    axes.legend(loc="best", frameon=False)
    name_points(axes, index.domains, points)
    return axes


def _color_values(color: ArrayLike | None, n_domains: int) -> NDArray:
    """A number or a text per domain."""
    if color is None:
        return np.zeros(n_domains)
    values = np.asarray(color).ravel()
    if len(values) != n_domains:
        raise InputError(
            f"color has {len(values)} numbers for {n_domains} domains. "
            "Give one for each, in the order of index.domains."
        )
    if values.dtype.kind in "biuf":
        return values.astype(float)
    texts = values.astype(str)
    n_groups = len(np.unique(texts))
    if n_groups > len(PALETTE):
        raise InputError(
            f"color has {n_groups} different texts, and only {len(PALETTE)} can be told apart. "
            "Colour by a number, or join groups."
        )
    return texts


def _draw_kinds(axes: Any, points: Floats, sources: NDArray[np.bool_]) -> None:
    for chosen, marker, label, color in kinds(sources):
        axes.scatter(*points[chosen].T, color=color, marker=marker, label=label, **DOT)


def _draw_numbers(
    axes: Any, points: Floats, values: Floats, sources: NDArray[np.bool_], label: str
) -> None:
    """Points on one scale with a bar beside them; grey where there is no number."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    known = values[np.isfinite(values)]
    norm = Normalize(*(known.min(), known.max()) if len(known) else (0.0, 1.0))
    scale = colormaps["viridis"].with_extremes(bad="0.8")
    drawn = None
    for chosen, marker, kind, _ in kinds(sources):
        drawn = axes.scatter(
            *points[chosen].T,
            c=values[chosen],
            norm=norm,
            cmap=scale,
            plotnonfinite=True,
            marker=marker,
            **DOT,
        )
        axes.scatter([], [], color="0.6", marker=marker, label=kind, **DOT)
    axes.figure.colorbar(drawn, ax=axes, label=label)


def _draw_groups(axes: Any, points: Floats, texts: NDArray, sources: NDArray[np.bool_]) -> None:
    for color, group in zip(PALETTE, np.unique(texts)):
        for chosen, marker, kind, _ in kinds(sources):
            members = chosen & (texts == group)
            if members.any():
                label = f"{group}, {kind}"
                axes.scatter(*points[members].T, color=color, marker=marker, label=label, **DOT)


def _draw_ring(axes: Any, points: Floats, angles: Floats) -> None:
    order = np.argsort(angles, kind="stable")
    around = points[np.append(order, order[0])]
    axes.plot(*around.T, color="0.6", linewidth=1.2, linestyle=(0, (4, 2)), zorder=1, label="ring")


def _draw_ellipses(axes: Any, points: Floats, std: Floats) -> None:
    from matplotlib.patches import Ellipse

    if std.shape[0] != len(points):
        raise InputError(f"std has {std.shape[0]} rows for {len(points)} domains.")
    widths = np.pad(std[:, :2], ((0, 0), (0, max(0, 2 - std.shape[1]))))
    for point, (width, height) in zip(points, widths):
        axes.add_patch(Ellipse(point, 2 * width, 2 * height, color="0.85", alpha=0.5, zorder=0))


def _draw_edges(axes: Any, index: DomainIndex, points: Floats, graph: nx.Graph) -> None:
    position = dict(zip(index.domains, points))
    for first, second in graph.edges:
        if first in position and second in position:
            ends = np.array([position[first], position[second]])
            axes.plot(*ends.T, color="0.8", linewidth=0.8, zorder=1)
