"""The README and the tables say what the committed record says."""

from pathlib import Path

import pytest

from domindex_bench import Record, find_suite, list_suites, render_suite
from domindex_bench.rendering import between_marks, of_suite, render_readme

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
        assert row.settings, row
        assert row.cores, row
        assert row.date, row
        assert {"python", "domindex", "numpy", "scipy", "scikit-learn", "torch"} <= set(
            row.versions
        ), row


@pytest.mark.parametrize("name", list_suites())
def test_a_suites_tables_are_rendered_from_the_record(rows, name):
    rendered = render_suite(find_suite(name), of_suite(rows, name))
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == rendered, "run make bench-tables"


def test_the_readmes_table_is_rendered_from_the_record(rows):
    readme = ROOT / "README.md"
    rendered = between_marks(readme, render_readme(rows))
    assert readme.read_text(encoding="utf-8") == rendered, "run make bench-tables"
