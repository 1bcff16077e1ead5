"""Figures. Each takes an optional Axes and returns it; none shows or saves."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from domindex.errors import InputError
from domindex.geometry import DomainIndex


def plot_domain_map(
    index: DomainIndex,
    *,
    std: ArrayLike | None = None,
    color: ArrayLike | None = None,
    color_label: str = "",
    source_domains: Collection[Hashable] = (),
    graph: nx.Graph | None = None,
    ax: Any = None,
) -> Any:
    """The domains as points on the plane: squares for sources, circles for targets.

    Parameters
    ----------
    index : the map; its first two components are drawn, a single one against zero
    std : (domains, components), drawn as ellipses of one deviation
    color : a number per domain
    graph : joined domains get a line
    """
    axes = _axes(ax)
    points = _plane(index)
    values = np.zeros(len(points)) if color is None else np.asarray(color, dtype=float).ravel()
    if len(values) != len(points):
        raise InputError(f"color has {len(values)} numbers for {len(points)} domains.")
    if graph is not None:
        _draw_edges(axes, index, points, graph)
    if std is not None:
        _draw_ellipses(axes, points, np.asarray(std, dtype=float))
    sources = np.array([name in source_domains for name in index.domains])
    for chosen, marker, label in ((sources, "s", "source"), (~sources, "o", "target")):
        if chosen.any():
            drawn = axes.scatter(
                *points[chosen].T,
                c=values[chosen],
                vmin=values.min(),
                vmax=values.max(),
                cmap="viridis",
                marker=marker,
                s=70,
                edgecolors="black",
                linewidths=0.6,
                label=label,
                zorder=2,
            )
    for name, point in zip(index.domains, points):
        label = axes.annotate(str(name), point, xytext=(6, 4), textcoords="offset points")
        label.set(fontsize=7, parse_math=False)
    if color is not None:
        axes.figure.colorbar(drawn, ax=axes, label=color_label)
    axes.set(xlabel="domain index 1", ylabel="domain index 2")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="best", frameon=False)
    return axes


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "Figures need matplotlib. Install it with: pip install 'domindex[plots]'"
        ) from None
    return Figure(figsize=(7, 5.5), layout="constrained").add_subplot()


def _plane(index: DomainIndex) -> Any:
    points = index.coordinates[:, :2]
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def _draw_ellipses(axes: Any, points: Any, std: Any) -> None:
    from matplotlib.patches import Ellipse

    if std.shape[0] != len(points):
        raise InputError(f"std has {std.shape[0]} rows for {len(points)} domains.")
    widths = np.pad(std[:, :2], ((0, 0), (0, max(0, 2 - std.shape[1]))))
    for point, (width, height) in zip(points, widths):
        axes.add_patch(Ellipse(point, 2 * width, 2 * height, color="0.85", alpha=0.5, zorder=0))


def _draw_edges(axes: Any, index: DomainIndex, points: Any, graph: nx.Graph) -> None:
    position = dict(zip(index.domains, points))
    for first, second in graph.edges:
        if first in position and second in position:
            ends = np.array([position[first], position[second]])
            axes.plot(*ends.T, color="0.8", linewidth=0.8, zorder=1)
