"""What all figures share: an Axes to draw on, colours, points with the names of domains."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import DomindexError, InputError
from domindex.geometry import DomainIndex

# Okabe and Ito's colours, which people with any kind of colour vision can distinguish
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#666666")
SOURCE_COLOR, TARGET_COLOR = PALETTE[:2]
WIDTH, HEIGHT, MIN_HEIGHT = 7.0, 5.5, 2.8  # inches of a figure; the last of one with flat content
FONT = 7.0  # of the names of domains, in typographic points

# Where a name may stand beside its point, the best first: typographic points, and which end.
Place = tuple[float, float, str]
RIGHT, LEFT = ((6, 3, "left"), (6, -9, "left")), ((-6, 3, "right"), (-6, -9, "right"))
PLACES: tuple[Place, ...] = (*RIGHT, *LEFT, (0, 8, "center"), (0, -15, "center"))


def new_axes(ax: Any, height: float = HEIGHT) -> Any:
    """`ax`, or a fresh Axes of a figure that no window knows of, so many inches high."""
    return _new_figure(1, height).add_subplot() if ax is None else ax


def new_columns(n_columns: int) -> tuple[Any, list[Any]]:
    """A figure that no window knows of, and Axes side by side, each laid out by itself."""
    figure = _new_figure(n_columns, HEIGHT)
    parts = figure.subfigures(1, n_columns, squeeze=False)[0]
    return figure, [part.add_subplot() for part in parts]


def _new_figure(n_columns: int, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DomindexError(
            "Figures need matplotlib. Install it with: pip install 'domindex[plots]'"
        ) from None
    return Figure(figsize=(n_columns * WIDTH, height), layout="constrained")


def axes_for_rows(ax: Any, n_rows: int) -> Any:
    """`new_axes` with room for so many rows, one below the other."""
    return new_axes(ax, min(HEIGHT, max(MIN_HEIGHT, 1.3 + 0.3 * n_rows)))


def axes_for_map(ax: Any, points: Floats) -> Any:
    """`new_axes` for (domains, 2) points with one unit for both axes; lower where they are flat."""
    width, height = np.maximum(np.ptp(points, axis=0), 1e-9)
    return new_axes(ax, float(np.clip(1.6 + (WIDTH - 1.0) * height / width, MIN_HEIGHT, HEIGHT)))


def plane(index: DomainIndex) -> Floats:
    """The first two components of a map, (domains, 2); zeros for a second that it lacks."""
    points = index.coordinates[:, :2]
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def map_and_sources(
    given: Any, source_domains: Collection[Hashable] | None = None
) -> tuple[DomainIndex, NDArray[np.bool_]]:
    """A map, or that of a fitted model, and (domains,) True for sources, named or the model's."""
    index = getattr(given, "domain_index_", given)
    if not isinstance(index, DomainIndex):
        raise InputError(
            f"index is a {type(given).__name__}. Pass a fitted model, or its domain_index_."
        )
    return index, source_marks(given, index.domains, source_domains)


def source_marks(
    given: Any, domains: Iterable[Hashable], named: Collection[Hashable] | None = None
) -> NDArray[np.bool_]:
    """(domains,) True for the sources that were named, or else those of a fitted model."""
    sources = set(getattr(given, "source_domains_", ()) if named is None else named)
    return np.array([name in sources for name in domains], dtype=bool)


def kinds(sources: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], str, str, str]]:
    """For each kind of domain there is: which ones, marker, label, colour."""
    both = [(sources, "s", "source", SOURCE_COLOR), (~sources, "o", "target", TARGET_COLOR)]
    return [kind for kind in both if kind[0].any()]


def draw_domains(
    axes: Any, points: Floats, sources: NDArray[np.bool_], zorder: int = 2, **style: Any
) -> None:
    """(domains, 2) points, squares for sources and circles for targets, each with its label."""
    for chosen, marker, label, color in kinds(sources):
        kind = {"marker": marker, "color": color, "label": label, "zorder": zorder}
        axes.scatter(*points[chosen].T, **kind, **style)


def finish(axes: Any, domains: Iterable[Hashable], points: Floats, **labels: str) -> Any:
    """The axes with a grid, a legend, `labels` as for `Axes.set`, and names beside the points."""
    axes.set(**labels)
    axes.grid(alpha=0.3)
    axes.legend(loc="best", frameon=False)
    return name_points(axes, domains, points)


def short_name(name: Hashable, max_letters: int = 24) -> str:
    """A name cut in the middle: names that begin alike often differ in how they end."""
    text = str(name)
    if len(text) <= max_letters:
        return text
    end = int((max_letters - 1) * 0.45)
    return f"{text[: max_letters - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def name_rows(axes: Any, heights: Any, names: Iterable[Hashable], fontsize: int = 8) -> None:
    """Names at the left of rows; a $ in a name is a dollar, not mathematics."""
    axes.set_yticks(heights, [short_name(name) for name in names], fontsize=fontsize)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)
    axes.grid(axis="x", alpha=0.3)


def name_points(
    axes: Any, domains: Iterable[Hashable], points: Floats, below: float | None = None
) -> Any:
    """The axes with a name beside each point, or so many typographic points below it.

    Call it last, when the axes have their limits.
    """
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.0, foreground="white")]  # lines may run behind a name
    texts = [short_name(name) for name in domains]
    under: list[Place | None] = [(0.0, -(below or 0.0), "center")] * len(texts)
    places = _beside(axes, texts, points) if below is None else under
    for text, point, place in zip(texts, points, places):
        if place is not None:
            *offset, side = place
            label = axes.annotate(text, point, offset, textcoords="offset points", ha=side)
            label.set(fontsize=FONT, parse_math=False, in_layout=False, path_effects=halo)
    return axes


def _beside(axes: Any, texts: list[str], points: Floats) -> list[Place | None]:
    """For every name the first of `PLACES` that covers least of the points and of other names.

    None where more than a tenth of the name would be covered or outside the axes.
    """
    figure = axes.figure.canvas.figure
    figure.draw_without_rendering()  # where the axes end up is known only then
    at = axes.transData.transform(points) * 72.0 / figure.dpi
    room = np.array(axes.bbox.extents) * 72.0 / figure.dpi
    taken = np.concatenate([at - 4.0, at + 4.0], axis=1)  # left, bottom, right, top
    offsets = np.array([place[:2] for place in PLACES])
    shares = np.array([{"left": 0.0, "center": 0.5, "right": 1.0}[place[2]] for place in PLACES])
    chosen: list[Place | None] = []
    for number, text in enumerate(texts):
        width = 0.55 * FONT * max(len(text), 1)
        reach = np.array([width + 10.0, 2.0 * FONT + 10.0])
        near = (taken[:, :2] < at[number] + reach) & (taken[:, 2:] > at[number] - reach)
        near[number] = False
        low = at[number] + offsets - np.outer(shares, [width, 0.0])
        boxes = np.hstack([low, low + [width, FONT]])
        area = width * FONT
        lost = _covered(boxes, taken[near.all(axis=1)]) + area - _covered(boxes, room[None])
        best = int(np.argmin(lost))
        is_crowded = lost[best] > 0.1 * area
        chosen.append(None if is_crowded else PLACES[best])
        taken = taken if is_crowded else np.vstack([taken, boxes[best]])
    return chosen


def _covered(boxes: Floats, others: Floats) -> Floats:
    """(boxes,) the area that each box (n, 4) shares with all others (m, 4)."""
    low = np.maximum(boxes[:, None, :2], others[:, :2])
    high = np.minimum(boxes[:, None, 2:], others[:, 2:])
    return np.clip(high - low, 0.0, None).prod(axis=2).sum(axis=1)
