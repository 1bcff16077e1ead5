"""What all figures share: an Axes to draw on, colours, points with the names of domains."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import DomindexError, InputError
from domindex.geometry import DomainIndex

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#666666")
"""Okabe and Ito's colours, which people with any kind of colour vision can distinguish."""

SOURCE_COLOR, TARGET_COLOR = PALETTE[0], PALETTE[1]

WIDTH, HEIGHT, MIN_HEIGHT = 7.0, 5.5, 2.8  # inches of a figure; the last of one with flat content
FONT = 7.0  # of the names of domains, in typographic points

Place = tuple[float, float, str]
PLACES: tuple[Place, ...] = (
    (6, 3, "left"),
    (6, -9, "left"),
    (-6, 3, "right"),
    (-6, -9, "right"),
    (0, 8, "center"),
    (0, -15, "center"),
)
"""Where a name may stand beside its point, the best first: typographic points, and which end."""


def new_axes(ax: Any, height: float = HEIGHT) -> Any:
    """`ax`, or a fresh Axes of a figure that no window knows of, so many inches high."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DomindexError(
            "Figures need matplotlib. Install it with: pip install 'domindex[plots]'"
        ) from None
    return Figure(figsize=(WIDTH, height), layout="constrained").add_subplot()


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
    return index, source_marks(index.domains, sources_of(given, source_domains))


def sources_of(given: Any, named: Collection[Hashable] | None) -> Collection[Hashable]:
    """The sources that were named, or those of a fitted model."""
    return getattr(given, "source_domains_", ()) if named is None else named


def source_marks(
    domains: Sequence[Hashable], source_domains: Collection[Hashable]
) -> NDArray[np.bool_]:
    """(domains,) True for sources."""
    sources = set(source_domains)
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
        axes.scatter(
            *points[chosen].T, marker=marker, color=color, label=label, zorder=zorder, **style
        )


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
) -> None:
    """The name of each domain beside its point, or so many typographic points below it.

    Call it last, when the axes have their limits. A name that would cover another moves to another
    side of its point, and is left out where there is no room on any side.
    """
    texts = [short_name(name) for name in domains]
    under: list[Place | None] = [(0.0, -(below or 0.0), "center")] * len(texts)
    places = _beside(axes, texts, points) if below is None else under
    for text, point, place in zip(texts, points, places):
        if place is not None:
            *offset, side = place
            label = axes.annotate(text, point, offset, textcoords="offset points", ha=side)
            label.set(fontsize=FONT, parse_math=False, in_layout=False)


def _beside(
    axes: Any, texts: list[str], points: Floats, crowded: float = 0.1
) -> list[Place | None]:
    """For every name the first of `PLACES` that covers least of the points and of other names.

    None where more than the share `crowded` of the name would be covered or outside the axes.
    """
    figure = axes.figure.canvas.figure
    figure.draw_without_rendering()  # where the axes end up is known only then
    at = axes.transData.transform(points) * 72.0 / figure.dpi
    room = np.array(axes.bbox.extents) * 72.0 / figure.dpi
    taken = np.concatenate([at - 4.0, at + 4.0], axis=1)
    chosen: list[Place | None] = []
    for number, text in enumerate(texts):
        width = 0.55 * FONT * max(len(text), 1)
        reach = np.array([width + 10.0, 2.0 * FONT + 10.0])
        near = (taken[:, :2] < at[number] + reach) & (taken[:, 2:] > at[number] - reach)
        near[number] = False
        others = taken[near.all(axis=1)]
        boxes = [_box(at[number], place, width) for place in PLACES]
        area = width * FONT
        lost = [_covered(box, others) + area - _covered(box, room[None]) for box in boxes]
        best = int(np.argmin(lost))
        if lost[best] > crowded * area:
            chosen.append(None)
            continue
        chosen.append(PLACES[best])
        taken = np.concatenate([taken, boxes[best][None]])
    return chosen


def _box(point: Floats, place: Place, width: float) -> Floats:
    """(4,) left, bottom, right, top of a name."""
    right, up, side = place
    left = point[0] + right - {"left": 0.0, "center": width / 2, "right": width}[side]
    return np.array([left, point[1] + up, left + width, point[1] + up + FONT])


def _covered(box: Floats, others: Floats) -> float:
    """The area that `box` shares with (n, 4) others."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    return float(np.clip(high - low, 0.0, None).prod(axis=1).sum())
