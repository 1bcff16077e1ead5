"""Documents: where their rows come from, and that rows of another tree are marked."""

import json
from dataclasses import replace

import pytest

from domindex.errors import InputError
from domindex_bench import Cell, Record, find_suite, render_suite, source_tree, write_documents
from domindex_bench.rendering import END, START, describe_origin, render_readme
from domindex_bench.tables import Summary

PAPER = find_suite("paper")


def row(method, seed=0, accuracy=50.0, suite="paper", dataset="circle"):
    cell = Cell(suite, dataset, method, seed)
    figures = {"accuracy": accuracy, "r2": 0.5, "coverage": 0.9, "chosen": "rows"}
    measured = cell.ended("done", figures=figures, fit_seconds=1.0)
    return replace(measured, commit="0123456789abcdef0123", cores=2)


def other(result):
    return replace(result, tree="0123456789ab")


ROWS = [row("cross-domain", 0), row("cross-domain", 1), row("knn")]


@pytest.fixture
def out(tmp_path):
    record = Record.open(tmp_path / "record.jsonl")
    for result in ROWS:
        record.append(result)
    return tmp_path


def test_a_document_says_of_which_commit_and_on_how_many_cores(out):
    write_documents(out, suites=["paper"])
    document = (out / "paper.md").read_text()
    assert "Rows measured at commit 0123456789; on 2 cores; with torch" in document
    assert "† marks figures of other code: 0 of 3 rows" in document
    assert document.count("†") == 1


def test_several_commits_and_machines_are_counted():
    far = replace(row("knn"), commit="fedcba9876543210-dirty", cores=8)
    text = describe_origin(Summary(PAPER, [*ROWS[:2], far], source_tree()))
    assert "0123456789 (2 rows), fedcba9876-dirty (1 rows)" in text
    assert "2 cores (2 rows), 8 cores (1 rows)" in text


def test_rows_of_another_tree_are_marked_in_every_table():
    rows = [*ROWS[:2], other(ROWS[2])]
    document = render_suite(PAPER, rows)
    assert "† marks figures of other code: 1 of 3 rows were measured with another tree" in document
    assert "| 5 nearest neighbours | 50.0 † |" in document
    assert "| CrossDomain | 50.0 ± 0.0 (94.3) |" in document
    assert "| 5 nearest neighbours | 50.0 † |" in render_readme(rows)


def test_a_mean_over_seeds_is_marked_where_one_of_them_is_of_another_tree():
    assert "| CrossDomain | 50.0 ± 0.0 † (94.3) |" in render_suite(PAPER, [ROWS[0], other(ROWS[1])])


def test_a_row_that_the_suite_no_longer_has_is_shown_by_its_name():
    gone = replace(ROWS[2], method="no-such-method")
    assert "| no-such-method | 50.0 |" in render_suite(PAPER, [gone])


def test_a_suite_without_rows_says_how_to_get_them(out):
    write_documents(out)
    assert "run `domindex-bench run --suite ablation`" in (out / "ablation.md").read_text()
    assert "| CrossDomain |" in (out / "paper.md").read_text()


def test_failed_cells_are_listed():
    cell = Cell("paper", "circle", "dann", 0)
    failed = cell.ended("failed", note="RuntimeError: out of luck")
    document = render_suite(PAPER, [*ROWS, failed])
    assert "- paper: circle dann seed 0: RuntimeError: out of luck" in document


def test_the_table_goes_between_the_marks_and_nothing_else_changes(out):
    readme = out / "README.md"
    readme.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    write_documents(out, suites=["paper"], readme=readme)
    text = readme.read_text()
    assert text.startswith(f"before\n{START}\n|  | Circle, accuracy, % |")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "old" not in text
    again = text
    write_documents(out, suites=["paper"], readme=readme)
    assert readme.read_text() == again


def test_a_readme_without_marks_is_refused(out):
    (out / "README.md").write_text("no marks here")
    with pytest.raises(InputError, match="lacks the lines"):
        write_documents(out, suites=["paper"], readme=out / "README.md")
    with pytest.raises(InputError, match="cannot be read"):
        write_documents(out, suites=["paper"], readme=out / "none.md")


@pytest.mark.parametrize(
    ("suite", "dataset", "method", "shows"),
    [
        ("ablation", "circle", "geodesics", "| geodesics | 50.0 |"),
        ("generality", "circle-bent", "cross-domain", "| Circle, bent | 50.0 |"),
        ("regression", "alike", "cross-domain", "| alike | 0.900 | rows |"),
    ],
)
def test_every_suite_has_a_document(suite, dataset, method, shows):
    assert shows in render_suite(find_suite(suite), [row(method, suite=suite, dataset=dataset)])


def test_rows_are_plain_json(out):
    first = json.loads((out / "record.jsonl").read_text().splitlines()[0])
    assert {"suite", "dataset", "method", "seed", "status", "figures", "fit_seconds"} <= set(first)
    assert {"tree", "commit", "versions", "cores", "date", "peak_mb", "note"} <= set(first)
