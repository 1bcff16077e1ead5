"""Files and folders appear complete or not at all, and never over what nobody gave up."""

import contextlib
import os

import pytest

from domindex.errors import InputError
from domindex.persistence import atomic
from domindex.persistence.atomic import check_free_file, existing_folder, new_file, new_folder


def test_a_file_takes_its_name_when_the_block_has_ended(tmp_path):
    goal = tmp_path / "deep" / "a.txt"
    with new_file(goal, overwrite=False) as draft:
        draft.write_text("whole")
        assert not goal.exists()
    assert goal.read_text() == "whole"
    assert os.listdir(goal.parent) == ["a.txt"]


def write_half_and_stop(goal):
    with new_file(goal, overwrite=True) as draft:
        draft.write_text("half")
        raise KeyboardInterrupt


def test_a_block_that_fails_leaves_the_file_before_as_it_was(tmp_path):
    goal = tmp_path / "a.txt"
    goal.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_half_and_stop(goal)
    assert goal.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    goal = tmp_path / "run"
    for content in ("first", "second"):
        with new_folder(goal, marker="mark", overwrite=True) as draft:
            (draft / "mark").touch()
            (draft / content).touch()
    assert sorted(os.listdir(goal)) == ["mark", "second"]
    assert os.listdir(tmp_path) == ["run"]


def test_a_folder_without_the_mark_is_left_alone_whoever_asks(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with (
        pytest.raises(InputError, match="no mark in it"),
        new_folder(tmp_path, marker="mark", overwrite=True),
    ):
        pass
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_what_stands_in_the_way_is_named_before_any_work(tmp_path):
    (tmp_path / "a.txt").write_text("before")
    with pytest.raises(InputError, match="overwrite=True, --force"):
        check_free_file(tmp_path / "a.txt", overwrite=False)
    with pytest.raises(InputError, match="is a folder and cannot be written to"):
        check_free_file(tmp_path, overwrite=True)
    with (
        pytest.raises(InputError, match="is a file"),
        new_folder(tmp_path / "a.txt", marker="mark", overwrite=True),
    ):
        pass


def test_a_full_disk_is_said(tmp_path):
    def write_to_a_full_disk(path):
        raise OSError(28, "No space left on device")

    with (
        pytest.raises(InputError, match=r"No space left on device.*has room"),
        new_file(tmp_path / "a.txt", overwrite=False) as draft,
    ):
        write_to_a_full_disk(draft)
    assert os.listdir(tmp_path) == []


def written(goal, content):
    with new_folder(goal, marker="mark", overwrite=True) as draft:
        (draft / "mark").write_text(content)


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_replaced_folder_is_there_at_every_moment_or_comes_back(
    tmp_path, monkeypatch, can_exchange
):
    """A kill is a stop without any clean-up: here after each call that changes names."""
    goal = tmp_path / "run"
    written(goal, "first")
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchange_names", lambda first, second: False)
    for moment in range(3):
        with pytest.MonkeyPatch.context() as patch:
            _stop_after(patch, moment)
            with contextlib.suppress(_Killed):
                written(goal, "second")
        assert existing_folder(goal).joinpath("mark").read_text() in ("first", "second")
        written(goal, "first")


class _Killed(BaseException):
    pass


def _stop_after(patch, n_renames):
    """From then on nothing on the disk changes any more."""
    calls = []
    rename = os.rename

    def counted(*names):
        if len(calls) >= n_renames:
            raise _Killed
        calls.append(names)
        rename(*names)

    patch.setattr(os, "rename", counted)
    patch.setattr(atomic.shutil, "rmtree", lambda *a, **o: None)


def test_drafts_that_a_kill_left_are_swept_after_a_day(tmp_path):
    old, new = tmp_path / ".run-draft-old", tmp_path / ".run-draft-new"
    for draft in (old, new):
        draft.mkdir()
    os.utime(old, (0, 0))
    written(tmp_path / "run", "whole")
    assert not old.exists()
    assert new.exists()
