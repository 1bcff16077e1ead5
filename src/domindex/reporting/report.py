"""One HTML file that opens from disk, with everything in it."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from domindex.errors import DomindexError, InputError
from domindex.inputs.messages import with_readable_names
from domindex.persistence.atomic import new_file
from domindex.persistence.codec import parse_json
from domindex.persistence.paths import read_bounded, usable_path
from domindex.reporting.packing import pack
from domindex.reporting.report_data import ReportData

CONTENT_FILE = "report.json"
REPORT_FILE = "report.html"

SCRIPTS = (
    "elements.js",
    "map.js",
    "table.js",
    "sections.js",
    "rely.js",
    "why.js",
    "quality.js",
    "main.js",
)
"""In the order in which they build on one another."""

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""What could end a script or begin a tag, in a form that only JSON reads."""


def render_report(data: ReportData) -> str:
    """The report as one self-contained HTML page: no network, light and dark, for any screen.

    Whatever text the data holds is shown as text: it enters the page as JSON alone.

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
    >>> from domindex.reporting import render_report, report_data
    >>> render_report(report_data(model)).startswith("<!doctype html>")
    True
    """
    script = "\n".join(_template(name) for name in SCRIPTS)
    parts = {
        "title": html.escape(data.title),
        "css": _template("report.css"),
        "data": safe_json(
            with_readable_names(pack(data), [record.name for record in data.domains])
        ),
        "plotly": _plotly_script(),
        "script": f'(() => {{\n"use strict";\n{script}\n}})();',
    }
    return re.sub(r"@@(\w+)@@", lambda found: parts[found[1]], _template("report.html"))


def write_report(data: ReportData, path: str | Path) -> Path:
    """Write the report; a reader sees the old file or the new one, never a part.

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
    >>> from domindex.reporting import report_data, write_report
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
    >>> from domindex.reporting import write_run_report
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
        content = parse_json(text)
    except ValueError as error:
        raise InputError(
            f"{source} is damaged: {error}. Fit again, or take the file from a backup."
        ) from None
    data = ReportData.from_dict(content)
    try:
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
    return re.sub("[<>&]", lambda found: UNSAFE[found[0]], text)


def _template(name: str) -> str:
    return (files("domindex.reporting") / "templates" / name).read_text(encoding="utf-8")


def _plotly_script() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise DomindexError(
            "Reports are drawn with Plotly, which is not installed. "
            "Install it with: pip install 'domindex[report]'"
        ) from None
    return get_plotlyjs()
