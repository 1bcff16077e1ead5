"""The finished stages of a fit: found again, or computed again where they are damaged."""

import errno
import os
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.persistence import stage_cache
from domindex.persistence.stage_cache import DESCRIPTION, StageCache

FACTS = {"the data": "a" * 64, "index_dim": "2"}


@pytest.fixture
def open_cache():
    """Opens folders, and closes them after the test."""
    with ExitStack() as stack:

        def opened(folder, facts=FACTS):
            cache = stack.enter_context(StageCache.open(folder))
            cache.begin(facts)
            return cache

        yield opened


@pytest.fixture
def folder(tmp_path):
    with StageCache.open(tmp_path / "kept") as cache:
        cache.begin(FACTS)
        cache.store("map", {"places": np.arange(3.0), "name": "a"})
    return tmp_path / "kept"


def test_a_stage_is_computed_once(folder, open_cache):
    cache = open_cache(folder)
    assert cache.load("map")["name"] == "a"
    assert cache.get("shape", lambda: (1, 2)) == (1, 2)
    assert cache.get("shape", lambda: pytest.fail("made again")) == (1, 2)
    assert cache.load("Shape") is None


def test_without_a_folder_nothing_is_kept():
    cache = StageCache()
    cache.begin(FACTS)
    assert cache.get("x", lambda: 1) == 1
    assert cache.get("x", lambda: 2) == 2


def test_every_flipped_byte_of_a_stage_and_every_cut_is_noticed(folder, open_cache):
    (path,) = folder.glob("*.stage")
    whole = path.read_bytes()
    cache = open_cache(folder)
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert cache.load("map") is None
        path.write_bytes(whole[:place])
        assert cache.load("map") is None
    path.write_bytes(whole)
    assert cache.load("map") is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"index_dim": "3"}, r"index_dim was 2 and is 3.*name another"),
        ({"the data": "b" * 64}, "the data differs"),
    ],
)
def test_another_fit_is_told_what_differs(changes, message, folder):
    with StageCache.open(folder) as cache, pytest.raises(InputError, match=message):
        cache.begin(FACTS | changes)


def test_the_seed_is_drawn_once(tmp_path, open_cache):
    with StageCache.open(tmp_path / "kept") as cache:
        seed = cache.seed()
        cache.begin(FACTS)
    assert open_cache(tmp_path / "kept").seed() == seed


def test_two_fits_do_not_share_a_folder(folder):
    code = (
        "import sys\nfrom domindex.persistence.stage_cache import StageCache\n"
        "from domindex.errors import InputError\n"
        "try:\n    StageCache.open(sys.argv[1]).__enter__()\n"
        "except InputError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with StageCache.open(folder):
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "Another fit is writing" in said
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == ""


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path, open_cache):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="left alone"):
        open_cache(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        open_cache(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_damaged_description_is_said_to_be(folder, open_cache):
    (folder / DESCRIPTION).write_text("{}")
    with pytest.raises(InputError, match="not a domindex checkpoint"):
        open_cache(folder)


def test_a_disk_that_fills_up_ends_the_keeping_and_nothing_else(folder, open_cache, monkeypatch):
    def full(path, parts):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    cache = open_cache(folder)
    monkeypatch.setattr(stage_cache, "replace_file", full)
    with pytest.warns(UserWarning, match=r"nothing is kept.*No space left"):
        assert cache.get("more", lambda: 5) == 5
    assert cache.get("again", lambda: 6) == 6
    monkeypatch.undo()
    cache.folder = folder
    assert cache.load("map") is not None


def test_what_cannot_be_written_is_made_again(folder, open_cache):
    cache = open_cache(folder)
    made = []
    for _ in range(2):
        cache.get("odd", lambda: made.append(1) or object())
    assert len(made) == 2
