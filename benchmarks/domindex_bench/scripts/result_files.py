"""Files of results that say where they come from, and tables of pages that are made from them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from domindex_bench.provenance import Provenance
from domindex_bench.rendering import short_commit
from domindex_bench.tables import between

RESULTS = Path(__file__).parents[2] / "results"
DOCS = Path(__file__).parents[3] / "docs"


def write_results(name: str, found: dict[str, Any]) -> None:
    """Keep what was found, with commit, versions, cores and date, as results/`name`.json."""
    text = json.dumps({**asdict(Provenance.here_and_now()), **found}, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def read_results(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def origin(found: dict[str, Any]) -> str:
    """Of a file of results, in a line for the page that shows it."""
    torch = found["versions"]["torch"]
    return (
        f"Measured at commit {short_commit(found['commit'])}, {found['date'][:10]}, "
        f"{found['cores']} cores, torch {torch}."
    )


def write_table(page: str, name: str, lines: list[str]) -> None:
    """Put lines between the marks `name` of a page of the docs."""
    path = DOCS / page
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    written = between(path.read_text(encoding="utf-8"), "\n".join(lines), start, end)
    if written is None:
        raise SystemExit(f"{path} lacks the lines {start!r} and {end!r}.")
    path.write_text(written, encoding="utf-8")
