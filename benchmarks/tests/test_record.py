"""Results on disk: torn, foreign and repeated lines."""

import pytest

from domindex.errors import DomindexError, InputError
from domindex_bench import Cell, CellResult, Record

DONE = CellResult("paper", "circle", "knn", 0, "done", {"accuracy": 51.0, "worst_domain": "7"}, 0.1)

LUCKLESS = Cell("paper", "circle", "knn", 1).ended("failed", "", note="out of luck")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results" / "record.jsonl"


def test_what_was_written_is_read_back(path):
    Record.open(path).append(DONE)
    assert Record(path).read() == {("paper", "circle", "knn", 0): DONE}


def test_a_torn_last_line_costs_that_line_only(path):
    record = Record.open(path)
    record.append(DONE)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert list(Record(path).read()) == [("paper", "circle", "knn", 0)]
    Record.open(path).append(LUCKLESS)
    assert path.read_bytes().startswith(whole)
    assert [result.status for result in Record(path).read().values()] == ["done", "failed"]


def test_the_last_word_on_a_cell_counts(path):
    record = Record.open(path)
    record.append(DONE.cell.ended("failed", "", note="out of luck"))
    record.append(DONE)
    assert record.read() == {DONE.cell.key: DONE}


@pytest.mark.parametrize("line", ["not json", '{"dataset": "circle"}', "[1, 2]", "3"])
def test_a_foreign_line_is_named_and_nothing_is_touched(path, line):
    Record.open(path).append(DONE)
    with path.open("a") as file:
        file.write(line + "\n")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"Line 2 of .*record\.jsonl is not a result"):
        Record.open(path)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InputError, match=r"cannot be written to .*taken.* Name a folder"):
        Record.open(tmp_path / "taken" / "record.jsonl")


def test_a_full_disk_is_said_and_keeps_what_there_is(path, monkeypatch):
    record = Record.open(path)
    record.append(DONE)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DomindexError, match=r"circle knn seed 1 could not be added .*No space"):
        record.append(LUCKLESS)
    assert DONE.cell.key in record.read()


def test_a_record_that_is_not_there_is_said(path):
    with pytest.raises(InputError, match=r"no record to read at .*record\.jsonl .*measure first"):
        Record(path).read()
