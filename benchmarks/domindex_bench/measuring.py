"""Measurements that are no suite: each a module of `scripts` with a `MEASUREMENT`.

It has parts, which are measured one by one. What a part finds goes to results/NAME.json the moment
it is known, with where it comes from; parts that were measured before stay. Tables of the docs are
written from the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from domindex_bench.record import origin, short_commit, source_tree
from domindex_bench.rendering import between_marks
from domindex_bench.suite import choose_names

RESULTS = Path(__file__).parents[1] / "results"
DOCS = Path(__file__).parents[2] / "docs"
MEASUREMENTS = (
    "any_labels",
    "beyond_memory",
    "bombs",
    "few_labels",
    "fuzz",
    "growth",
    "kills",
    "long_runs",
    "loops",
    "messy",
    "minimums",
    "new_domains",
    "skada",
    "quality",
    "speed",
    "streaming",
    "tables",
    "transfer",
)

Found = dict[str, Any]


@dataclass(frozen=True)
class Measurement:
    """What is measured, by name of its parts, and the tables that are made of it.

    Attributes
    ----------
    parts : each a function without arguments
    fresh : whether every part runs in a process of its own, for its time and its memory
    page, tables : of docs/, and by their marks, functions from the file's content to lines
    """

    parts: Mapping[str, Callable[[], Found]]
    fresh: bool = False
    page: str = "figures.md"
    tables: Mapping[str, Callable[[Found], list[str]]] = field(default_factory=dict)


def measure_parts(name: str, parts: list[str] | None = None, *, page_only: bool = False) -> Path:
    """Measure some parts, or all, of a measurement; the path of its results."""
    choose_names("measurement", [name], MEASUREMENTS)
    known: Measurement = import_module(f"domindex_bench.scripts.{name}").MEASUREMENT
    path = RESULTS / f"{name}.json"
    for part in [] if page_only else choose_names("part", parts, list(known.parts)):
        if known.fresh:
            with get_context("spawn").Pool(1) as pool:
                found = pool.apply(_measure, (name, part))
        else:
            found = known.parts[part]()
        print(part, json.dumps(found, indent=1, ensure_ascii=False), flush=True)
        content = read_results(name) if path.exists() else {}
        content[part] = {**found, **origin()}
        write_results(name, content)
    for mark, table in known.tables.items():
        write_table(known.page, mark, table(read_results(name)))
    return path


def _measure(name: str, part: str) -> Found:
    measurement: Measurement = import_module(f"domindex_bench.scripts.{name}").MEASUREMENT
    return measurement.parts[part]()


def read_results(name: str) -> Found:
    found: Found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def write_results(name: str, content: Found) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def origin_line(name: str, part: Found) -> str:
    """Where a part comes from, and the command that measures it again, for a page."""
    other = "" if part["tree"] == source_tree() else ", with another tree of `src/domindex`"
    return (
        f"Measured at commit {short_commit(part['commit'])}{other}, {part['date'][:10]}, "
        f"{part['cores']} cores, torch {part['versions']['torch']}. "
        f"`domindex-bench measure {name}` measures it again."
    )


def write_table(page: str, mark: str, lines: list[str]) -> None:
    """Put lines between the marks of a page of the docs."""
    path = DOCS / page
    marks = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    path.write_text(between_marks(path, "\n".join(lines), *marks), encoding="utf-8")
