"""The README and the tables say what the committed record says."""

import re
from pathlib import Path

import pytest

from domindex_bench import Record, find_suite, list_suites, render_suite
from domindex_bench.rendering import (
    END,
    START,
    between_marks,
    of_suite,
    render_readme,
    results_chart,
)

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "results"


@pytest.fixture(scope="module")
def rows():
    path = FOLDER / "record.jsonl"
    if not path.exists():
        pytest.skip("no record is committed yet: make bench writes benchmarks/results/record.jsonl")
    return list(Record(path).read().values())


def test_every_row_says_where_it_comes_from(rows):
    for row in rows:
        assert row.commit, row
        assert re.fullmatch("[0-9a-f]{40}", row.tree), row
        assert row.cores, row
        assert row.date, row
        assert {"python", "domindex", "numpy", "scipy", "scikit-learn", "torch"} <= set(
            row.versions
        ), row


def tree_of(text):
    """The source tree that tables were rendered with; rows of others are marked in them."""
    found = set(re.findall(r"another tree of `src/domindex` than (\w{12}), which", text))
    assert len(found) <= 1
    return found.pop() if found else None


@pytest.mark.parametrize("name", list_suites())
def test_a_suites_tables_are_rendered_from_the_record(rows, name):
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    rendered = render_suite(find_suite(name), of_suite(rows, name), tree_of(text))
    assert text == rendered, "run make bench-tables"


def test_the_page_of_results_is_rendered_from_the_record(rows):
    page = ROOT / "docs" / "results.md"
    text = page.read_text(encoding="utf-8")
    table = render_readme(rows, tree_of(text))
    assert text == between_marks(page, table, START, END), "run make bench-tables"
    chart = (ROOT / "docs" / "pictures" / "results.svg").read_text(encoding="utf-8")
    assert chart == results_chart(rows), "run make bench-tables"


def test_every_document_is_of_a_suite():
    pages = {path.stem for path in FOLDER.glob("*.md")}
    assert pages - set(list_suites()) == {"constants"}
