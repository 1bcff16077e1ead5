"""The finished pieces of a fit: found again, or made again where they are damaged."""

import errno
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.persistence import journal as journal_module
from domindex.persistence.journal import DESCRIPTION, Journal, remove_journal

FACTS = {"the data": "a" * 64, "index_dim": "2"}


def opened(folder, facts=FACTS):
    journal = Journal.open(folder)
    journal.begin(facts)
    return journal


@pytest.fixture
def folder(tmp_path):
    journal = opened(tmp_path / "kept")
    journal.keep("map", {"places": np.arange(3.0), "name": "a"})
    journal.close()
    return tmp_path / "kept"


def test_a_piece_is_made_once(folder):
    journal = opened(folder)
    assert journal.find("map")["name"] == "a"
    assert journal.piece("shape", lambda: (1, 2)) == (1, 2)
    assert journal.piece("shape", lambda: pytest.fail("made again")) == (1, 2)
    assert journal.find("Shape") is None
    journal.forget("shape")
    assert journal.find("shape") is None


def test_without_a_folder_nothing_is_kept():
    journal = Journal()
    journal.begin(FACTS)
    assert journal.piece("x", lambda: 1) == 1
    assert journal.piece("x", lambda: 2) == 2


def test_another_process_gets_a_journal_without_a_folder(folder):
    journal = opened(folder)
    assert pickle.loads(pickle.dumps(journal)).folder is None
    assert journal.folder is not None


def test_every_flipped_byte_of_a_piece_and_every_cut_is_noticed(folder):
    (path,) = folder.glob("*.piece")
    whole = path.read_bytes()
    journal = opened(folder)
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert journal.find("map") is None
        path.write_bytes(whole[:place])
        assert journal.find("map") is None
    path.write_bytes(whole)
    assert journal.find("map") is not None


def test_another_fit_is_told_what_differs(folder):
    with pytest.raises(InputError, match=r"index_dim was 2 and is 3.*name another"):
        opened(folder, FACTS | {"index_dim": "3"})
    with pytest.raises(InputError, match="the data differs"):
        opened(folder, FACTS | {"the data": "b" * 64})


def test_the_seed_is_drawn_once(tmp_path):
    journal = Journal.open(tmp_path / "kept")
    seed = journal.seed()
    journal.begin(FACTS)
    journal.close()
    assert opened(tmp_path / "kept").seed() == seed


def test_two_fits_do_not_share_a_folder(folder):
    code = (
        "import sys\nfrom domindex.persistence.journal import Journal\n"
        "from domindex.errors import InputError\n"
        "try:\n    Journal.open(sys.argv[1])\nexcept InputError as error:\n    print(error)\n"
    )
    journal = opened(folder)
    command = [sys.executable, "-c", code, str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Another fit is writing" in said
    journal.close()
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == ""


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="left alone"):
        Journal.open(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        Journal.open(tmp_path / "thesis.txt")
    remove_journal(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_damaged_description_is_said_to_be(folder):
    (folder / DESCRIPTION).write_text("{}")
    with pytest.raises(InputError, match="not a domindex checkpoint"):
        Journal.open(folder)


def test_a_disk_that_fills_up_ends_the_keeping_and_nothing_else(folder, monkeypatch):
    def full(path, parts):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    journal = opened(folder)
    monkeypatch.setattr(journal_module, "replace_file", full)
    with pytest.warns(UserWarning, match=r"nothing is kept.*No space left"):
        assert journal.piece("more", lambda: 5) == 5
    assert journal.piece("again", lambda: 6) == 6
    monkeypatch.undo()
    assert opened(folder).find("map") is not None


def test_what_cannot_be_written_is_made_again(folder):
    journal = opened(folder)
    made = []
    for _ in range(2):
        journal.piece("odd", lambda: made.append(1) or object())
    assert len(made) == 2
