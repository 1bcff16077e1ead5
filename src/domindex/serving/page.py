"""The page: one template, into which everything enters as escaped text or as JSON."""

from __future__ import annotations

import html
import re
from functools import cache
from importlib.resources import files
from typing import Any

from domindex.reporting.report import safe_json

SCRIPTS = ("elements.js", "map.js", "answer.js", "main.js")
"""In the order in which they build on one another."""


def render_page(
    run: dict[str, Any],
    domains: list[dict[str, Any]],
    answer: dict[str, Any] | None = None,
    error: str | None = None,
) -> str:
    """The page of a run, with an answer or with an error where there is one."""
    alert = "" if error is None else f'<p class="warnings" role="alert">{html.escape(error)}</p>'
    parts = {
        "title": html.escape(run["title"]),
        "error": alert,
        "accept": ".csv,.tsv,.txt,.parquet,.xlsx",
        "limit": f"{run['max_upload']:g} MB, {run['max_rows']:,} rows",
        "data": safe_json({"run": run, "map": domains, "answer": answer}),
    }
    return re.sub(r"@@(\w+)@@", lambda found: parts[found[1]], template("serve.html"))


@cache
def style() -> str:
    """The report's own style, and what the page needs besides."""
    return f"{template('report.css', room='reporting')}\n{template('serve.css')}"


@cache
def script() -> str:
    joined = "\n".join(template(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{joined}\n}})();'


@cache
def template(name: str, room: str = "serving") -> str:
    return (files(f"domindex.{room}") / "templates" / name).read_text(encoding="utf-8")
