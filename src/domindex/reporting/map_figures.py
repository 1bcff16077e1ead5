"""Figures of maps: the domains, their pictures, graphs, local indices, and what is known of them.

Each takes `ax`, Axes to draw on (None makes new ones), and returns it; none shows or saves."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.evaluation import index_correlation, procrustes_agreement
from domindex.geometry import procrustes_align
from domindex.inputs import check_domain_names, check_inputs, group_rows
from domindex.inputs.messages import preview
from domindex.reporting.canvas import (
    PALETTE,
    axes_for_map,
    draw_domains,
    finish,
    kinds,
    map_and_sources,
    name_points,
    new_axes,
    plane,
    short_name,
    source_marks,
)
from domindex.reporting.montage import Kind, domain_pictures, spread_out

DOT: dict[str, Any] = {"s": 70, "edgecolors": "black", "linewidths": 0.6, "zorder": 2}

# colour, dash and width of an edge
EDGES = {
    "joined": ("0.55", "-", 1.0),
    "in both": ("#009E73", "-", 1.4),
    "inferred only": ("#D55E00", "--", 1.2),
    "true only": ("0.6", ":", 1.2),
}


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
    """The domains as points on the plane; where the map closes, a line leads once around its ring.

    Parameters
    ----------
    index : a fitted model or its map; the first two components are drawn, one alone against zero
    std : (domains, components), drawn as ellipses of one deviation; a model brings its own
    color : a number per domain, or a text for each of up to 8 groups
    color_label : what the bar of colours says, where they stand for numbers
    source_domains : drawn as squares, targets as circles; None takes those of a model
    graph : joined domains get a line
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> plot_domain_map(model).get_xlabel()
    'domain index 1'
    """
    std = getattr(index, "domain_index_std_", None) if std is None else std
    index, sources = map_and_sources(index, source_domains)
    points = plane(index)
    axes = axes_for_map(ax, points)
    values = None if color is None else _color_values(color, len(points))
    if index.angles is not None:
        order = np.argsort(index.angles, kind="stable")
        ring = {"color": "0.6", "linewidth": 1.2, "linestyle": (0, (4, 2)), "label": "ring"}
        axes.plot(*points[np.append(order, order[0])].T, zorder=1, **ring)
    position = dict(zip(index.domains, points))
    for first, second in () if graph is None else graph.edges:
        if first in position and second in position:
            ends = np.array([position[first], position[second]])
            axes.plot(*ends.T, color="0.8", linewidth=0.8, zorder=1)
    if std is not None:
        from matplotlib.patches import Ellipse

        widths = np.asarray(std, dtype=float)[:, :2]
        if len(widths) != len(points):
            raise InputError(f"std has {len(widths)} rows for {len(points)} domains.")
        for point, size in zip(points, np.pad(2 * widths, ((0, 0), (0, 2 - widths.shape[1])))):
            axes.add_patch(Ellipse(point, *size, color="0.85", alpha=0.5, zorder=0))
    if values is None:
        draw_domains(axes, points, sources, **DOT)
    elif values.dtype.kind == "U":
        for shade, group in zip(PALETTE, np.unique(values)):
            for chosen, marker, kind, _ in kinds(sources):
                if (chosen & (values == group)).any():
                    style = {"color": shade, "marker": marker, "label": f"{group}, {kind}"}
                    axes.scatter(*points[chosen & (values == group)].T, **style, **DOT)
    else:
        _draw_numbers(axes, points, values, sources, color_label)
    _set_map_axes(axes, 0.08)
    return name_points(axes, index.domains, points)


def plot_montage(
    index: Any,
    X: Any,
    sample_domain: Sequence[Hashable],
    *,
    kind: Kind = "nearest",
    source_domains: Collection[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """The map with a small picture of every domain at its place, framed by its role.

    Rows of X are (H, W), (H, W, C) or (C, H, W). `kind` "nearest" shows the row nearest to the
    domain's mean, "mean" the mean of its rows. Of more than 60 domains, 60 that are spread over the
    map get a picture.

    Examples
    --------
    >>> axes = plot_montage(model, np.random.default_rng(0).random((5, 8, 8)), range(5))
    >>> len(axes.artists)
    5
    """
    index, sources = map_and_sources(index, source_domains)
    points = plane(index)
    # before Matplotlib's parts are imported: it says where it is missing
    axes = axes_for_map(ax, points)
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    width = 34.0  # of a picture, in typographic points
    names = check_domain_names(sample_domain, len(check_inputs(X)))
    shown = spread_out(points)
    pictures = domain_pictures(X, names, [index.domains[number] for number in shown], kind)
    for chosen, marker, label, color in reversed(kinds(sources)):
        axes.scatter(*points[chosen].T, marker=marker, color=color, label=label, s=12)
        for number, picture in zip(shown, pictures):
            if chosen[number]:
                frame = {"edgecolor": color, "linewidth": 1.5}
                image = OffsetImage(picture, zoom=width / pictures.shape[2])
                box = AnnotationBbox(image, points[number], pad=0.1, bboxprops=frame)
                axes.add_artist(box)
    _set_map_axes(axes, 0.12)
    return name_points(axes, index.domains, points, below=width / 2 + 10)


def plot_map_on_positions(
    index: Any,
    positions: ArrayLike,
    *,
    position_names: tuple[str, str] = ("position 1", "position 2"),
    source_domains: Collection[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """The map laid on known positions: a line from where each domain is to where the map has it.

    The map is moved, turned, mirrored and scaled as a whole, so that the lines are shortest.
    `positions` are (domains, 2), in the order of `index.domains`, such as longitude and latitude.

    Examples
    --------
    >>> plot_map_on_positions(model, model.domain_indices_).get_title()
    'The map explains 100% of the positions'
    """
    index, sources = map_and_sources(index, source_domains)
    known = np.asarray(positions, dtype=np.float64)
    if known.shape != (len(index.domains), 2) or not np.isfinite(known).all():
        raise InputError(
            f"positions has shape {known.shape} for {len(index.domains)} domains. "
            "Pass two finite numbers for each, in the order of index.domains."
        )
    axes = new_axes(ax)
    laid = procrustes_align(plane(index), known)
    centre = known.mean(axis=0)
    centred = laid - centre
    scale = (centred * (known - centre)).sum() / ((centred**2).sum() or 1.0)
    laid = centre + scale * centred
    axes.plot(*np.stack([known, laid], axis=1).T, color="0.75", linewidth=0.9, zorder=1)
    for chosen, marker, label, color in kinds(sources):
        hollow = {"facecolors": "none", "edgecolors": color, "zorder": 2}
        style = {"marker": marker, "s": 45}
        axes.scatter(*known[chosen].T, label=f"{label}, known position", **style, **hollow)
        axes.scatter(*laid[chosen].T, label=f"{label}, on the map", color=color, zorder=3, **style)
    agreement = procrustes_agreement(plane(index), known)
    axes.set(xlabel=position_names[0], ylabel=position_names[1])
    axes.set_title(f"The map explains {agreement:.0%} of the positions")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="best", frameon=False, fontsize=8)
    return name_points(axes, index.domains, laid)


def plot_index_against_truth(
    index: Any,
    truth: ArrayLike,
    *,
    truth_label: str = "true index",
    source_domains: Collection[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """The map's first principal axis against a known number per domain, which it should follow.

    The sign of a map means nothing, so the axis is turned to rise with the truth, (domains,) in the
    order of `index.domains`.

    Examples
    --------
    >>> plot_index_against_truth(model, range(2001, 2006), truth_label="year").get_xlabel()
    'year'
    """
    index, sources = map_and_sources(index, source_domains)
    correlation = index_correlation(index.coordinates, truth)
    known = np.asarray(truth, dtype=np.float64).squeeze()
    inferred = _widest(index.coordinates, 1)[:, 0]
    if inferred @ (known - known.mean()) < 0:
        inferred = -inferred
    points = np.column_stack([known, inferred])
    axes = new_axes(ax)
    draw_domains(axes, points, sources)
    labels = {"xlabel": truth_label, "ylabel": "inferred index, first principal axis"}
    return finish(axes, index.domains, points, **labels, title=f"|r| = {correlation:.3f}")


def plot_domain_graph(
    inferred: Any,
    truth: nx.Graph | None = None,
    *,
    positions: Mapping[Hashable, ArrayLike] | None = None,
    source_domains: Collection[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """An inferred domain graph; beside a true one, edges are drawn by which of the two have them.

    `inferred` is as from `model.domain_graph`; a fitted model stands for its graph of the nearest
    two. `positions` says where to draw each domain, name to (x, y); None lays out the true graph,
    or the inferred one where there is no truth.

    Examples
    --------
    >>> axes = plot_domain_graph(nx.path_graph(["a", "b", "c"]), nx.cycle_graph(["a", "b", "c"]))
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['in both (2)', 'true only (1)', 'target']
    """
    given = inferred
    if hasattr(given, "domain_graph"):
        inferred = given.domain_graph(n_neighbors=2)
    places = _graph_layout(inferred, truth, positions)
    groups = {"joined": list(inferred.edges)}
    if truth is not None:
        groups = {
            "in both": [edge for edge in inferred.edges if truth.has_edge(*edge)],
            "inferred only": [edge for edge in inferred.edges if not truth.has_edge(*edge)],
            "true only": [edge for edge in truth.edges if not inferred.has_edge(*edge)],
        }
    axes = new_axes(ax)
    thinner = min(1.0, 10.0 / max(sum(map(len, groups.values())), 1) ** 0.5)  # of many edges
    for label, edges in groups.items():
        color, dash, width = EDGES[label]
        style = {"color": color, "linestyle": dash, "linewidth": thinner * width}
        if edges:
            gap = (np.nan, np.nan)  # ends a line
            lines = np.array([(places[one], places[other], gap) for one, other in edges])
            name = f"{label} ({len(edges)})"
            axes.plot(*lines.reshape(-1, 2).T, zorder=1, label=name, **style)
    points = np.array(list(places.values()))
    sources = source_marks(given, places, source_domains)
    draw_domains(axes, points, sources, **(DOT | {"s": 90}))
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()
    axes.legend(loc="best", frameon=False, fontsize=8)
    return name_points(axes, places, points)


def plot_local_indices(
    local_indices: ArrayLike,
    sample_domain: Any,
    *,
    domains: Sequence[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """Local indices of rows, from `model.transform`, one colour a domain.

    More than two components are drawn along the two directions in which all rows vary most.
    `domains` are those to draw, None for all.

    Examples
    --------
    >>> axes = plot_local_indices([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], ["a", "a", "b"])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['a', 'b']
    """
    rows = check_inputs(local_indices, "local_indices")
    names = check_domain_names(sample_domain, len(rows))
    groups = dict(group_rows(names, len(rows)))
    chosen = list(groups) if domains is None else list(domains)
    unknown = [name for name in chosen if name not in groups]
    if unknown:
        raise InputError(
            f"domains names {preview(unknown)}, but sample_domain holds {preview(groups)}. "
            "Spell each domain as in sample_domain."
        )
    axes = new_axes(ax)
    points = _widest(rows.reshape(len(rows), -1).astype(np.float64), 2)
    colors: Any = PALETTE
    if len(chosen) > len(PALETTE):
        from matplotlib import colormaps

        colors = colormaps["viridis"](np.linspace(0.0, 1.0, len(chosen)))
    for name, color in zip(chosen, colors):
        axes.scatter(*points[groups[name]].T, s=12, alpha=0.7, color=color, label=short_name(name))
    axes.set(xlabel="local index, first axis", ylabel="local index, second axis")
    axes.set_aspect("equal", adjustable="datalim")
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    for text in axes.legend(title="domain", frameon=False, fontsize=7, **beside).get_texts():
        text.set_parse_math(False)
    return axes


def _set_map_axes(axes: Any, margins: float) -> None:
    axes.set(xlabel="domain index 1", ylabel="domain index 2")
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(margins)
    axes.legend(loc="best", frameon=False)


def _color_values(color: ArrayLike, n_domains: int) -> NDArray:
    """A number or a text per domain."""
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


def _draw_numbers(
    axes: Any, points: Floats, values: Floats, sources: NDArray[np.bool_], label: str
) -> None:
    """Points on one scale with a bar beside them; grey where there is no number."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    known = values[np.isfinite(values)]
    norm = Normalize(*(known.min(), known.max()) if len(known) else (0.0, 1.0))
    scale = {"norm": norm, "cmap": colormaps["viridis"].with_extremes(bad="0.8")}
    drawn = None
    for chosen, marker, kind, _ in kinds(sources):
        drawn = axes.scatter(
            *points[chosen].T, c=values[chosen], plotnonfinite=True, marker=marker, **scale, **DOT
        )
        axes.scatter([], [], color="0.6", marker=marker, label=kind, **DOT)
    axes.figure.colorbar(drawn, ax=axes, label=label)


def _graph_layout(
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


def _widest(rows: Floats, n_axes: int) -> Floats:
    """(rows, n_axes) along the directions in which rows vary most; zeros for those they lack."""
    centred = rows - rows.mean(axis=0)
    projected = centred @ np.linalg.svd(centred, full_matrices=False)[2][:n_axes].T
    return np.pad(projected, ((0, 0), (0, n_axes - projected.shape[1])))
