"""Render what `domindex bench --out benchmarks/results` measured: benchmark.md and README's table.

Runs nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

from domindex.evaluation.benchmark import Journal, headline_table, render_tables

RESULTS = Path(__file__).parent / "results" / "benchmark.jsonl"
README = Path(__file__).parents[1] / "README.md"
START = "<!-- benchmark: written by `make bench-tables` from benchmarks/results/benchmark.jsonl -->"
END = "<!-- end of benchmark -->"


def between_marks(text: str, content: str) -> str:
    """`text` with `content` between the two marks, which must both be there."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"{README.name} lacks the lines {START!r} and {END!r}.")
    return f"{before}{start}\n{content}\n{end}{after}"


def main() -> None:
    if not RESULTS.exists():
        sys.exit(f"There is no {RESULTS}. Run: domindex bench --out {RESULTS.parent}")
    results = list(Journal(RESULTS).read().values())
    tables = render_tables(results, complete=True)
    RESULTS.with_suffix(".md").write_text(tables, encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(between_marks(text, headline_table(results)), encoding="utf-8")


if __name__ == "__main__":
    main()
