"""Results on disk: torn, foreign and repeated lines; and which code a row was measured with."""

import subprocess

import pytest

from domindex._version import __version__
from domindex.errors import DomindexError, InputError
from domindex_bench import Cell, CellResult, Record
from domindex_bench.record import current_commit, origin, source_tree

DONE = CellResult("paper", "circle", "knn", 0, "done", {"accuracy": 51.0, "worst_domain": "7"}, 0.1)

LUCKLESS = Cell("paper", "circle", "knn", 1).ended("failed", note="out of luck")


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
    record.append(DONE.cell.ended("failed", note="out of luck"))
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


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", "-C", folder, *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


tree_now, commit_now = source_tree.__wrapped__, current_commit.__wrapped__
"""Without the memory for the length of a process."""


@pytest.fixture
def checkout(tmp_path):
    """A folder under version control with a package in it, and an installed copy below."""
    git(tmp_path, "init")
    for folder in ("src/inner", "src-other", "venv"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "src" / "__init__.py").write_text("one = 1\n")
    (tmp_path / "src" / "inner.py").write_text("two = 2\n")
    (tmp_path / "src" / "run.sh").write_text("")
    (tmp_path / "src" / "run.sh").chmod(0o755)
    (tmp_path / ".gitignore").write_text("venv\n__pycache__\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def test_the_tree_of_a_clean_checkout_is_gits(checkout):
    (checkout / "src" / "__pycache__").mkdir()
    (checkout / "src" / "__pycache__" / "inner.pyc").write_bytes(b"compiled")
    assert tree_now(checkout / "src") == git(checkout, "rev-parse", "HEAD:src")


def test_any_change_of_a_file_is_another_tree_committed_or_not(checkout):
    (checkout / "src" / "inner.py").write_text("two = 3\n")
    changed = tree_now(checkout / "src")
    assert changed != git(checkout, "rev-parse", "HEAD:src")
    git(checkout, "commit", "-am", "second")
    assert changed == git(checkout, "rev-parse", "HEAD:src")


def test_changed_code_is_called_dirty(checkout):
    (checkout / "notes.txt").write_text("outside the package")
    commit = git(checkout, "rev-parse", "HEAD")
    assert commit_now(checkout / "src") == commit
    (checkout / "src" / "__init__.py").write_text("changed = True")
    assert commit_now(checkout / "src") == f"{commit}-dirty"


def test_an_installed_copy_does_not_take_the_commit_of_the_folder_it_lies_in(checkout):
    assert commit_now(checkout / "venv") == f"unknown, version {__version__}"


def test_every_row_says_where_it_comes_from():
    row = LUCKLESS
    assert row.tree == source_tree()
    assert row.commit == current_commit()
    assert row.cores >= 1
    assert row.date.endswith("Z")
    always = {"python", "domindex", "numpy", "scipy", "scikit-learn", "torch"}
    assert set(origin()["versions"]) - {"skada"} == always
