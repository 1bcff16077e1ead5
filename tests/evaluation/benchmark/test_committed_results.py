"""The README says what the committed results say."""

import importlib.util
from pathlib import Path

import pytest

from domindex.evaluation.benchmark import Journal, headline_table, render_tables

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "benchmarks" / "bench_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not module.RESULTS.exists():
        pytest.skip("no results are committed")
    return module


def test_the_tables_are_rendered_from_the_committed_results(script):
    results = list(Journal(script.RESULTS).read().values())
    readme = script.README.read_text(encoding="utf-8")
    assert readme == script.between_marks(readme, headline_table(results)), "run make bench-tables"
    rendered = script.RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert rendered == render_tables(results, complete=True), "run make bench-tables"


def test_a_readme_without_marks_is_refused(script):
    with pytest.raises(SystemExit, match="lacks the lines"):
        script.between_marks("no marks here", "")
