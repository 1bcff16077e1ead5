"""A fitted model as a card for notebooks: the map in small, who predicts, what to expect."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.reporting.figures.canvas import SOURCE_COLOR, TARGET_COLOR, plane

WIDTH, HEIGHT = 260, 190
MOST_POINTS = 2000
"""Points of a thumbnail; of more domains, so many evenly among them."""

NAMED = 5


def model_card(model: Any) -> str:
    """HTML of a fitted model; names of users are text, never markup."""
    index = model.domain_index_
    n_sources = len(model.source_domains_)
    members = model.candidates_[model.candidates_["weight"] > 0].head(NAMED)
    rows = "".join(
        f"<tr><td style='text-align:left'>{escape(str(name).replace('_', ' '))}</td>"
        f"<td>{weight:.0%}</td></tr>"
        for name, weight in zip(members["candidate"], members["weight"])
    )
    words = (
        f"{len(index.domains)} domains, "
        f"<span style='color:{SOURCE_COLOR}'>■</span> {n_sources} sources, "
        f"<span style='color:{TARGET_COLOR}'>●</span> {len(index.domains) - n_sources} targets"
    )
    return (
        f"<div><b>{escape(type(model).__name__)}</b>, {words}"
        "<div style='display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start'>"
        f"{map_thumbnail(plane(index), _is_source(model))}"
        f"<table><thead><tr><th style='text-align:left'>who predicts</th><th>weight</th></tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
        f"<div>{escape(_expected(model))}</div></div>"
    )


def map_thumbnail(points: NDArray[np.float64], is_source: NDArray[np.bool_]) -> str:
    """Points (domains, 2) as an SVG picture, sources last so that none is covered."""
    step = max(1, -(-len(points) // MOST_POINTS))
    points, is_source = points[::step], is_source[::step]
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    scale = np.where(span > 0, span, 1.0)
    places = 10 + (points - low) / scale * (np.array([WIDTH, HEIGHT]) - 20)
    places[:, span == 0] = np.array([WIDTH, HEIGHT])[span == 0] / 2
    places[:, 1] = HEIGHT - places[:, 1]
    size = 4 if len(points) < 100 else 2
    marks = []
    for number in np.argsort(is_source, kind="stable"):
        x, y = places[number]
        if is_source[number]:
            corner = f'x="{x - size:.1f}" y="{y - size:.1f}"'
            shape = f'<rect {corner} width="{2 * size}" height="{2 * size}"'
            marks.append(f'{shape} fill="{SOURCE_COLOR}"/>')
        else:
            marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{TARGET_COLOR}"/>')
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="Map of the domains" '
        f'style="border:1px solid #bbb;border-radius:6px">{"".join(marks)}</svg>'
    )


def _is_source(model: Any) -> NDArray[np.bool_]:
    sources = set(model.source_domains_)
    return np.array([name in sources for name in model.domain_index_.domains], dtype=bool)


def _expected(model: Any) -> str:
    """What to expect in the targets, in a sentence; empty where there are none."""
    frame = model.forecast_
    for column, what in (("expected_accuracy", "accuracy"), ("expected_error", "error")):
        if column in frame and len(frame):
            low, high = frame[column].min(), frame[column].max()
            mean = frame[column].mean()
            return f"Expected {what} in the targets: {mean:.3g}, from {low:.3g} to {high:.3g}."
    return ""
