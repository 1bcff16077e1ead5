"""Documents: what stands at their top, and which rows are refused."""

import json
from dataclasses import replace

import pytest

from domindex.errors import InputError
from domindex_bench import Cell, Record, find_suite, render_suite, write_documents
from domindex_bench.rendering import END, START, describe_origin, render_headline
from domindex_bench.suites import settings_now

PAPER = find_suite("paper")


def row(method, seed=0, accuracy=50.0, suite="paper", dataset="circle"):
    cell = Cell(suite, dataset, method, seed)
    figures = {"accuracy": accuracy, "r2": 0.5, "coverage": 0.9, "chosen": "rows"}
    measured = cell.ended("done", settings_now(cell), figures=figures, fit_seconds=1.0)
    return replace(measured, commit="0123456789abcdef0123", cores=2)


def old(result):
    return replace(result, settings="0123456789ab")


ROWS = [row("vdi", 0), row("vdi", 1), row("knn")]


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
    assert "†" not in document


def test_several_commits_and_machines_are_counted():
    other = replace(row("knn"), commit="fedcba9876543210-dirty", cores=8)
    text = describe_origin([*ROWS[:2], other])
    assert "0123456789 (2 rows), fedcba9876-dirty (1 rows)" in text
    assert "2 cores (2 rows), 8 cores (1 rows)" in text


def test_rows_of_other_settings_are_refused_by_suite_method_and_count():
    with pytest.raises(
        InputError,
        match=r"2 rows of the suite 'paper' were measured with other settings .*: "
        r"knn \(1\), vdi \(1\)\. Measure them again with `domindex bench --suite paper`.*--stale",
    ):
        render_suite(PAPER, [ROWS[0], old(ROWS[1]), old(ROWS[2])])
    with pytest.raises(InputError, match="1 row of the suite 'paper'"):
        render_headline([*ROWS[:2], old(ROWS[2])])


def test_a_row_that_the_suite_no_longer_has_is_refused_too():
    gone = replace(ROWS[2], method="no-such-method")
    with pytest.raises(InputError, match=r"no-such-method \(1\)"):
        render_suite(PAPER, [gone])
    assert "| no-such-method | 50.0 † |" in render_suite(PAPER, [gone], stale=True)


def test_told_to_it_shows_them_marked():
    document = render_suite(PAPER, [*ROWS[:2], old(ROWS[2])], stale=True)
    assert "† marks figures of 1 rows that were measured with other settings" in document
    assert "| 5 nearest neighbours | 50.0 † |" in document
    assert "| VDI | 50.0 ± 0.0 (94.3) |" in document


def test_changed_settings_make_a_row_stale(monkeypatch):
    from sklearn.neighbors import KNeighborsClassifier

    from domindex.baselines import PlainBaseline

    changed = replace(
        PAPER.methods["knn"], build=lambda *_: PlainBaseline(KNeighborsClassifier(n_neighbors=7))
    )
    suite = replace(PAPER, methods={**PAPER.methods, "knn": changed})
    with pytest.raises(InputError, match=r"other settings .*: knn \(1\)\."):
        render_suite(suite, ROWS)


def test_nothing_is_written_where_anything_is_refused(out):
    Record(out / "record.jsonl").append(old(row("alike", suite="regression", dataset="alike")))
    with pytest.raises(InputError, match="the suite 'regression'"):
        write_documents(out)
    assert [path.name for path in out.iterdir()] == ["record.jsonl"]


def test_a_suite_without_rows_says_how_to_get_them(out):
    write_documents(out)
    assert "run `domindex bench --suite ablation`" in (out / "ablation.md").read_text()
    assert "| VDI |" in (out / "paper.md").read_text()


def test_failed_cells_are_listed():
    cell = Cell("paper", "circle", "dann", 0)
    failed = cell.ended("failed", settings_now(cell), note="RuntimeError: out of luck")
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
    ("suite", "dataset", "shows"),
    [
        ("ablation", "circle", "| VDI | 50.0 |"),
        ("generality", "circle-bent", "| Circle, bent | 50.0 |"),
        ("regression", "alike", "| alike | 0.900 | rows |"),
        ("disturbed", "tpt-48-w-e-noise-in-the-inputs", "noise in the inputs | – | – | – | 0.900"),
        (
            "coverage",
            "tpt-48-w-e-without-wa",
            "W (6) → E (42) | 0.900 | 0.900 | 0.900 |",
        ),
        ("time", "circle", "| VDI | 1.0 |"),
    ],
)
def test_every_suite_has_a_document(suite, dataset, shows):
    assert shows in render_suite(find_suite(suite), [row("vdi", suite=suite, dataset=dataset)])


def test_rows_are_plain_json(out):
    first = json.loads((out / "record.jsonl").read_text().splitlines()[0])
    assert {"suite", "dataset", "method", "seed", "status", "figures", "fit_seconds"} <= set(first)
    assert {"commit", "settings", "versions", "cores", "date", "peak_mb", "note"} <= set(first)
