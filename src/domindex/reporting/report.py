"""The report as one HTML file that opens from disk, and the card of a model for notebooks."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import DomindexError, InputError
from domindex.inputs.messages import number_text, with_readable_names
from domindex.persistence.atomic import new_file
from domindex.persistence.codec import parse_json
from domindex.persistence.paths import read_bounded, usable_path
from domindex.reporting.canvas import SOURCE_COLOR, TARGET_COLOR, map_and_sources, plane
from domindex.reporting.report_data import ReportData, pack

CONTENT_FILE = "report.json"
REPORT_FILE = "report.html"

SCRIPTS = ("plots", "elements", "map", "table", "sections", "rely", "why", "quality", "main")


def render_report(data: ReportData) -> str:
    """The report as one self-contained HTML page: no network, light and dark, for any screen.

    Whatever text the data holds is shown as text: it enters the page as JSON alone.

    Examples
    --------
    >>> from domindex.reporting import report_data
    >>> render_report(report_data(model)).startswith("<!doctype html>")
    True
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise DomindexError(
            "Reports are drawn with Plotly, which is not installed. "
            "Install it with: pip install 'domindex[report]'"
        ) from None
    names = [record.name for record in data.domains]
    return fill_template(
        template("report.html"),
        title=html.escape(data.title),
        css=template("report.css"),
        data=safe_json(with_readable_names(pack(data), names)),
        plotly=base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode(),
        script=join_scripts("reporting", SCRIPTS),
    )


def write_report(data: ReportData, path: str | Path) -> Path:
    """Write the report; a reader sees the old file or the new one, never a part.

    Examples
    --------
    >>> from domindex.reporting import report_data
    >>> write_report(report_data(model), "report.html").name
    'report.html'
    """
    goal = usable_path(path)
    page = render_report(data)
    with new_file(goal, overwrite=True) as draft:
        draft.write_text(page, encoding="utf-8", errors="xmlcharrefreplace")
    return goal


def write_run_report(run_folder: str | Path) -> Path:
    """Write `report.html` into the folder of a run, from the `report.json` that is there.

    Examples
    --------
    >>> write_run_report("nothing-here")
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    folder = usable_path(run_folder)
    source = folder / CONTENT_FILE
    if not source.exists():
        raise InputError(
            f"{source} cannot be read: there is none. Name the folder of a run, in which a fit "
            f"has left {CONTENT_FILE}."
        )
    text = read_bounded(source)
    try:
        data = ReportData.from_dict(parse_json(text))
        return write_report(data, folder / REPORT_FILE)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{source} is damaged: {type(error).__name__} {error}. Fit again, or take the file "
            "from a backup."
        ) from error


def safe_json(content: Any) -> str:
    """JSON that can stand inside a page: no text in it can end a script or begin a tag."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))  # nothing but ASCII
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def template(name: str, room: str = "reporting") -> str:
    """The text of a file among the templates of a room."""
    return (files(f"domindex.{room}") / "templates" / name).read_text(encoding="utf-8")


def join_scripts(room: str, names: Sequence[str]) -> str:
    """Scripts that build on one another, in one scope of their own."""
    joined = "\n".join(template(f"{name}.js", room) for name in names)
    return f'(() => {{\n"use strict";\n{joined}\n}})();'


def fill_template(text: str, **parts: str) -> str:
    """Put each part where the template has its name between @@."""
    return re.sub(r"@@(\w+)@@", lambda found: parts[found[1]], text)


def model_card(model: Any) -> str:
    """HTML of a fitted model; names of users are text, never markup."""
    index, is_source = map_and_sources(model)
    n_sources = len(model.source_domains_)
    members = ""
    if hasattr(model, "candidates_"):
        heaviest = model.candidates_[model.candidates_["weight"] > 0].head(5)
        rows = "".join(
            f"<tr><td style='text-align:left'>{html.escape(str(name).replace('_', ' '))}</td>"
            f"<td>{weight:.0%}</td></tr>"
            for name, weight in zip(heaviest["candidate"], heaviest["weight"])
        )
        members = (
            "<table><thead><tr><th style='text-align:left'>who predicts</th><th>weight</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )
    words = (
        f"{len(index.domains)} domains, "
        f"<span style='color:{SOURCE_COLOR}'>■</span> {n_sources} sources, "
        f"<span style='color:{TARGET_COLOR}'>●</span> {len(index.domains) - n_sources} targets"
    )
    return (
        f"<div><b>{html.escape(type(model).__name__)}</b>, {words}"
        "<div style='display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start'>"
        f"{map_thumbnail(plane(index), is_source)}{members}</div>"
        f"<div>{html.escape(_expected(model))}</div></div>"
    )


def map_thumbnail(points: Floats, is_source: NDArray[np.bool_]) -> str:
    """Points (domains, 2) as an SVG picture, sources last so that none is covered."""
    box = np.array([260, 190])  # pixels
    step = max(1, -(-len(points) // 2000))  # of more than 2000 domains so many, evenly
    points, is_source = points[::step], is_source[::step]
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    scale = np.where(span > 0, span, 1.0)
    places = 10 + (points - low) / scale * (box - 20)
    places[:, span == 0] = box[span == 0] / 2
    places[:, 1] = box[1] - places[:, 1]
    size = 4 if len(points) < 100 else 2
    marks = []
    for number in np.argsort(is_source, kind="stable"):
        x, y = places[number]
        square = (
            f'rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size}" height="{2 * size}"'
        )
        circle = f'circle cx="{x:.1f}" cy="{y:.1f}" r="{size}"'
        color = SOURCE_COLOR if is_source[number] else TARGET_COLOR
        marks.append(f'<{square if is_source[number] else circle} fill="{color}"/>')
    return (
        f'<svg width="{box[0]}" height="{box[1]}" role="img" aria-label="Map of the domains" '
        f'style="border:1px solid #bbb;border-radius:6px">{"".join(marks)}</svg>'
    )


def _expected(model: Any) -> str:
    """What to expect in the targets, in a sentence; empty where there are none."""
    frame = getattr(model, "forecast_", pd.DataFrame())
    for what in ("accuracy", "error"):
        if f"expected_{what}" in frame and len(frame):
            mean, low, high = frame[f"expected_{what}"].agg(["mean", "min", "max"])
            texts = [
                f"{100 * value:.1f} %" if what == "accuracy" else number_text(value)
                for value in (mean, low, high)
            ]
            return "Expected {} in the targets: {}, from {} to {}.".format(what, *texts)
    return ""
