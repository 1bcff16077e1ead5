"""Results on disk: torn, foreign and repeated lines."""

import pytest

from domindex.errors import DomindexError, InputError
from domindex.evaluation.benchmark import Cell, CellResult, Journal

DONE = CellResult("circle", "knn", 0, "done", {"accuracy": 51.0, "worst_domain": "7"}, 0.1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results" / "benchmark.jsonl"


def test_what_was_written_is_read_back(path):
    Journal.open(path).append(DONE)
    assert Journal(path).read() == {("circle", "knn", 0): DONE}


def test_a_torn_last_line_costs_that_line_only(path):
    journal = Journal.open(path)
    journal.append(DONE)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert list(Journal(path).read()) == [("circle", "knn", 0)]
    Journal.open(path).append(Cell("circle", "knn", 1).failed("out of luck"))
    assert path.read_bytes().startswith(whole)
    assert [result.status for result in Journal(path).read().values()] == ["done", "failed"]


def test_the_last_word_on_a_cell_counts(path):
    journal = Journal.open(path)
    journal.append(DONE.cell.failed("out of luck"))
    journal.append(DONE)
    assert journal.read() == {DONE.cell.key: DONE}


@pytest.mark.parametrize("line", ["not json", '{"dataset": "circle"}', "[1, 2]", "3"])
def test_a_foreign_line_is_named_and_nothing_is_touched(path, line):
    Journal.open(path).append(DONE)
    with path.open("a") as file:
        file.write(line + "\n")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"Line 2 of .*benchmark\.jsonl is not a result"):
        Journal.open(path)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InputError, match=r"cannot be written to .*taken.* Name a folder"):
        Journal.open(tmp_path / "taken" / "benchmark.jsonl")


def test_a_full_disk_is_said_and_keeps_what_there_is(path, monkeypatch):
    journal = Journal.open(path)
    journal.append(DONE)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DomindexError, match=r"circle knn seed 1 could not be added .*No space"):
        journal.append(Cell("circle", "knn", 1).failed("out of luck"))
    assert DONE.cell.key in journal.read()
