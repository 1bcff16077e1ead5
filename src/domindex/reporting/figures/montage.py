"""Pictures of the domains along the map."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from domindex.inputs import check_domain_names, check_inputs
from domindex.reporting.figures.canvas import (
    as_index,
    height_of_map,
    kinds,
    name_points,
    new_axes,
    plane,
    source_marks,
    sources_of,
)
from domindex.reporting.montage import MOST_PICTURES, Kind, domain_pictures, spread_out

WIDTH = 34.0
"""Points that a picture is wide, where 72 make an inch."""


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

    Parameters
    ----------
    index : a fitted model or its map; its first two components are drawn
    X : (rows, H, W), (rows, H, W, C) or (rows, C, H, W)
    sample_domain : the domain of every row
    kind : "nearest" shows the row nearest to the domain's mean, "mean" the mean of its rows
    source_domains : framed in another colour; of more than 60 domains, 60 that are spread over the
        map get a picture
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex.geometry import DomainIndex
    >>> index = DomainIndex.from_distances(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]], 2)
    >>> import numpy as np
    >>> from domindex.reporting import plot_montage
    >>> axes = plot_montage(index, np.random.default_rng(0).random((3, 8, 8)), ["a", "b", "c"])
    >>> len(axes.artists)
    3
    """
    sources_named, index = sources_of(index, source_domains), as_index(index)
    points = plane(index)
    # before Matplotlib's parts are imported: it says where it is missing
    axes = new_axes(ax, height_of_map(points))
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    names = check_domain_names(sample_domain, len(check_inputs(X)))
    shown = spread_out(points, MOST_PICTURES)
    pictures = domain_pictures(X, names, [index.domains[number] for number in shown], kind)
    zoom = WIDTH / pictures.shape[2]
    groups = kinds(source_marks(index.domains, sources_named))
    for chosen, marker, label, color in reversed(groups):
        axes.scatter(*points[chosen].T, marker=marker, color=color, label=label, s=12)
        for number, picture in zip(shown, pictures):
            if chosen[number]:
                frame = {"edgecolor": color, "linewidth": 1.5}
                image = OffsetImage(picture, zoom=zoom)
                box = AnnotationBbox(image, points[number], pad=0.1, bboxprops=frame)
                axes.add_artist(box)
    name_points(axes, index.domains, points, below=WIDTH / 2 + 10)
    axes.margins(0.12)
    axes.set(xlabel="domain index 1", ylabel="domain index 2")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="best", frameon=False)
    return axes
