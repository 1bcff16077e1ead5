"""Files of results that say where they come from, and tables of pages that are made from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from domindex_bench.record import origin, short_commit, source_tree
from domindex_bench.rendering import between_marks

RESULTS = Path(__file__).parents[2] / "results"
DOCS = Path(__file__).parents[3] / "docs"


def write_results(name: str, found: dict[str, Any]) -> None:
    """Keep what was found, with commit, versions, cores and date, as results/`name`.json."""
    text = json.dumps({**origin(), **found}, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def read_results(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def origin_line(found: dict[str, Any]) -> str:
    """Of a file of results, in a line for the page that shows it."""
    other = "" if found.get("tree") == source_tree() else ", with another tree of `src/domindex`"
    return (
        f"Measured at commit {short_commit(found['commit'])}{other}, {found['date'][:10]}, "
        f"{found['cores']} cores, torch {found['versions']['torch']}."
    )


def write_table(page: str, name: str, lines: list[str]) -> None:
    """Put lines between the marks `name` of a page of the docs."""
    path = DOCS / page
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    path.write_text(between_marks(path, "\n".join(lines), *marks), encoding="utf-8")
