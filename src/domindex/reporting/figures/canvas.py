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


WIDTH, HEIGHT, LEAST_HEIGHT = 7.0, 5.5, 2.8
"""Inches of a figure, and of one whose content is flat."""

FONT = 7.0
PLACES: tuple[tuple[float, float, str], ...] = (
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


def height_of_rows(n_rows: int) -> float:
    """Inches for a figure with so many rows, one below the other."""
    return min(HEIGHT, max(LEAST_HEIGHT, 1.3 + 0.3 * n_rows))


def height_of_map(points: Floats) -> float:
    """Inches for a figure of (domains, 2) points with one unit for both axes.

    A map that is almost a line does not leave the figure empty above and below it.
    """
    width, height = np.maximum(np.ptp(points, axis=0), 1e-9)
    return float(np.clip(1.6 + (WIDTH - 1.0) * height / width, LEAST_HEIGHT, HEIGHT))


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

    To be called last, when the axes have their limits. A name moves to another side of its point
    where it would cover one that stands already. A $ in a name is a dollar, not mathematics.
    """
    texts = [str(name) for name in domains]
    under = [(0.0, -(below or 0.0), "center")] * len(texts)
    places = _beside(axes, texts, points) if below is None else under
    for text, point, (right, up, side) in zip(texts, points, places):
        label = axes.annotate(text, point, (right, up), textcoords="offset points", ha=side)
        label.set(fontsize=FONT, parse_math=False)


def _beside(axes: Any, texts: list[str], points: Floats) -> list[tuple[float, float, str]]:
    """For every name the first of `PLACES` that covers least of the points and of other names."""
    axes.apply_aspect()
    at = axes.transData.transform(points) * 72.0 / axes.figure.dpi
    taken = np.concatenate([at - 4.0, at + 4.0], axis=1)
    chosen = []
    for number, text in enumerate(texts):
        width = 0.55 * FONT * len(text)
        others = np.delete(taken, number, axis=0)
        boxes = [_box(at[number], place, width) for place in PLACES]
        best = int(np.argmin([_covered(box, others) for box in boxes]))
        chosen.append(PLACES[best])
        taken = np.concatenate([taken, boxes[best][None]])
    return chosen


def _box(point: Floats, place: tuple[float, float, str], width: float) -> Floats:
    """(4,) left, bottom, right, top of a name."""
    right, up, side = place
    left = point[0] + right - {"left": 0.0, "center": width / 2, "right": width}[side]
    return np.array([left, point[1] + up, left + width, point[1] + up + FONT])


def _covered(box: Floats, others: Floats) -> float:
    """The area that `box` shares with (n, 4) others."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    return float(np.clip(high - low, 0.0, None).prod(axis=1).sum())
