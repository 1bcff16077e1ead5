"""Progress is silent unless asked, and speaks on standard error alone."""

import pytest

from domindex.progress import Progress, show_progress


def test_silent_unless_asked(capsys):
    progress = Progress()
    progress.say("hello")
    assert list(progress.track("training", 3)) == [0, 1, 2]
    assert list(progress.each("reading", "ab")) == ["a", "b"]
    assert capsys.readouterr() == ("", "")


def test_lines_and_kept_bars_go_to_standard_error(capsys):
    with show_progress(1) as progress:
        progress.say("two [bold] domains")
        assert list(progress.track("training", 3)) == [0, 1, 2]
    out, err = capsys.readouterr()
    assert out == ""
    assert "two [bold] domains" in err
    assert "training" in err
    assert "3/3" in err


def test_a_passing_bar_is_not_drawn_into_a_file(capsys):
    with show_progress(1) as progress:
        assert list(progress.each("reading", iter("ab"), total=2)) == ["a", "b"]
    assert capsys.readouterr() == ("", "")


def fail_in_a_stage():
    with show_progress(1) as progress:
        for step in progress.track("first", 2):
            1 / step


def test_a_stage_that_fails_leaves_room_for_the_next(capsys):
    with pytest.raises(ZeroDivisionError):
        fail_in_a_stage()
    with show_progress(1) as progress:
        assert list(progress.track("second", 2)) == [0, 1]
    assert "2/2" in capsys.readouterr().err


def test_stages_may_be_nested_and_another_progress_may_come_between(capsys):
    with show_progress(1) as outer:
        assert [list(outer.track("inner", 2)) for _ in outer.track("outer", 2)] == [[0, 1]] * 2
        with show_progress(1) as other:
            assert list(other.track("other", 2)) == [0, 1]
    assert "other" in capsys.readouterr().err
