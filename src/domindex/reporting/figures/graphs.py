"""Domain graphs: which pairs the map joins, and which are joined in truth."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from domindex.errors import InputError
from domindex.inputs.messages import preview
from domindex.reporting.figures.canvas import kinds, name_points, new_axes, source_marks, sources_of

EDGE_STYLES = {
    "inferred": {"color": "0.55", "linestyle": "-", "linewidth": 1.0},
    "in both": {"color": "#009E73", "linestyle": "-", "linewidth": 1.4},
    "inferred only": {"color": "#D55E00", "linestyle": "--", "linewidth": 1.2},
    "true only": {"color": "0.6", "linestyle": ":", "linewidth": 1.2},
}


def plot_domain_graph(
    inferred: Any,
    truth: nx.Graph | None = None,
    *,
    positions: Mapping[Hashable, ArrayLike] | None = None,
    source_domains: Collection[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """An inferred domain graph; beside a true one, edges are drawn by which of the two have them.

    Parameters
    ----------
    inferred : as from `model.domain_graph`; a fitted model stands for its graph of the nearest two
    truth : the true graph of the same domains
    positions : where to draw each domain, name to (x, y); None lays out the true graph, or the
        inferred one where there is no truth
    source_domains : squares; None takes those of a model
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> import networkx as nx
    >>> from domindex.reporting import plot_domain_graph
    >>> axes = plot_domain_graph(nx.path_graph(["a", "b", "c"]), nx.cycle_graph(["a", "b", "c"]))
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['true only (1)', 'in both (2)', 'target']
    """
    sources_named = sources_of(inferred, source_domains)
    if hasattr(inferred, "domain_graph"):
        inferred = inferred.domain_graph(n_neighbors=2)
    places = _places(inferred, truth, positions)
    axes = new_axes(ax)
    for label, edges in _edge_groups(inferred, truth).items():
        for number, (first, second) in enumerate(edges):
            axes.plot(
                *np.array([places[first], places[second]]).T,
                zorder=1,
                label=f"{label} ({len(edges)})" if number == 0 else None,
                **EDGE_STYLES[label],
            )
    domains = list(places)
    points = np.array([places[name] for name in domains])
    for chosen, marker, label, color in kinds(source_marks(domains, sources_named)):
        axes.scatter(
            *points[chosen].T,
            marker=marker,
            s=90,
            color=color,
            edgecolors="black",
            linewidths=0.6,
            label=label,
            zorder=2,
        )
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()
    axes.legend(loc="best", frameon=False, fontsize=8)
    name_points(axes, domains, points)
    return axes


def _edge_groups(
    inferred: nx.Graph, truth: nx.Graph | None
) -> dict[str, list[tuple[Hashable, Hashable]]]:
    if truth is None:
        return {"inferred": list(inferred.edges)}
    return {
        "true only": [edge for edge in truth.edges if not inferred.has_edge(*edge)],
        "inferred only": [edge for edge in inferred.edges if not truth.has_edge(*edge)],
        "in both": [edge for edge in inferred.edges if truth.has_edge(*edge)],
    }


def _places(
    inferred: nx.Graph, truth: nx.Graph | None, positions: Mapping[Hashable, ArrayLike] | None
) -> dict[Hashable, Any]:
    domains = list(inferred.nodes)
    if truth is not None and set(truth.nodes) != set(domains):
        strange = set(truth.nodes) ^ set(domains)
        raise InputError(
            f"The two graphs have different domains: {preview(sorted(map(str, strange)))} in one "
            "only. Name the nodes of both like the domains."
        )
    if positions is None:
        return dict(nx.kamada_kawai_layout(inferred if truth is None else truth))
    missing = [name for name in domains if name not in positions]
    if missing:
        raise InputError(f"positions lacks {preview(missing)}. Give a place to every domain.")
    return {name: np.asarray(positions[name], dtype=float) for name in domains}
