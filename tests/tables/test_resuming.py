"""A fit of a table that is cut off: what it leaves, how it goes on, and what a full disk costs."""

import errno
import json
import os
import shutil

import pytest

import domindex
from domindex.errors import InputError
from domindex.persistence import stage_cache
from domindex.persistence.atomic import new_folder
from domindex.tables import Run, fit_table, fitting, predict_table, resume_table
from domindex.tables.run import checkpoint_of

HOW = {
    "target": ["outcome"],
    "domain": "site",
    "features": ["x", "z"],
    "settings": {
        "candidates": [["raw", "linear"], ["domain_standardised", "linear"]],
        "training": {"index_steps": 5},
    },
    "report": False,
}


class Cut(BaseException):
    """In place of a kill."""


def cut(*arguments, **options):
    raise Cut


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    return fit_table(data, out=tmp_path_factory.mktemp("whole") / "run", **HOW)


def predicted(run, data):
    table = predict_table(run, data).table
    return table.select_dtypes("number").to_numpy().tobytes()


@pytest.fixture(scope="module")
def left_behind(data, tmp_path_factory):
    """What a fit leaves that was cut off when it had stored five stages."""
    write, left = stage_cache.replace_file, [5]
    out = tmp_path_factory.mktemp("cut off") / "run"

    def counting(path, parts):
        left[0] -= 1
        write(path, parts) if left[0] >= 0 else cut()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stage_cache, "replace_file", counting)
        with pytest.raises(Cut):
            fit_table(data, out=out, checkpoint=True, **HOW)
    assert [one.name for one in out.parent.iterdir()] == ["run.checkpoint"]
    return checkpoint_of(out)


@pytest.fixture
def cut_off(left_behind, tmp_path):
    """A folder in which a fit was cut off."""
    shutil.copytree(left_behind, checkpoint_of(tmp_path / "run"))
    return tmp_path / "run"


def test_resumed_it_gives_the_run_that_it_would_have_given(cut_off, data, whole):
    assert sorted(one.name for one in cut_off.parent.iterdir()) == ["run.checkpoint"]
    run = resume_table(cut_off)
    assert predicted(run, data) == predicted(whole, data)
    assert sorted(one.name for one in cut_off.parent.iterdir()) == ["run"]
    with pytest.raises(InputError, match="it is complete"):
        resume_table(cut_off)


def test_the_same_request_goes_on_and_another_is_refused(cut_off, data, whole):
    with pytest.raises(InputError, match=r"another request \(seed\).*--resume"):
        fit_table(data, out=cut_off, checkpoint=True, **HOW, seed=1)
    run = fit_table(data, out=cut_off, checkpoint=True, **HOW)
    assert predicted(run, data) == predicted(whole, data)


def test_a_table_that_was_changed_in_between_is_noticed(table, tmp_path, monkeypatch):
    table.to_csv(tmp_path / "a.csv", index=False)
    with monkeypatch.context() as patched:
        patched.setattr(Run, "write", cut)
        with pytest.raises(Cut):
            fit_table(tmp_path / "a.csv", out=tmp_path / "run", checkpoint=True, **HOW)
    table.assign(x=table["x"] + 1).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match="the data differs"):
        resume_table(tmp_path / "run")
    assert checkpoint_of(tmp_path / "run").is_dir()


def test_cut_off_in_the_report_only_the_report_is_made_again(data, tmp_path, monkeypatch):
    how = HOW | {"report": True}
    with monkeypatch.context() as patched:
        patched.setattr(fitting, "report_run", cut)
        with pytest.raises(Cut):
            fit_table(data, out=tmp_path / "run", checkpoint=True, **how)
    assert (tmp_path / "run" / "run.json").is_file()
    monkeypatch.setattr(fitting, "_fit", lambda *_: pytest.fail("fitted again"))
    monkeypatch.setattr(fitting, "report_run", lambda *_, **__: ["no report"])
    resume_table(tmp_path / "run")
    assert not checkpoint_of(tmp_path / "run").exists()


def test_a_fit_that_would_fail_again_leaves_no_checkpoint(data, tmp_path):
    with pytest.raises(InputError):
        fit_table(data, out=tmp_path / "run", checkpoint=True, **HOW | {"target": ["nothing"]})
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="nothing to resume"):
        resume_table(tmp_path / "run")


def test_a_full_disk_does_not_cost_the_fit(data, tmp_path, monkeypatch, whole):
    """The model goes to another place, and the checkpoint stays until there is room."""
    out, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()

    def full(folder, **options):
        if folder != out:
            return new_folder(folder, **options)
        error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise InputError(f"{out} cannot be written to ({error.strerror}).") from error

    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    with monkeypatch.context() as patched:
        patched.setattr("domindex.tables.run.new_folder", full)
        with pytest.raises(InputError, match=r"No space left.*kept in.*--resume") as caught:
            fit_table(data, out=out, checkpoint=True, **HOW)
    (rescued,) = elsewhere.iterdir()
    assert str(rescued) in str(caught.value)
    assert type(domindex.load(rescued)).__name__ == "CrossDomainClassifier"
    assert predicted(resume_table(out), data) == predicted(whole, data)


@pytest.mark.parametrize("damage", ["{}", "[]", json.dumps({"format": "x"})])
def test_a_damaged_request_is_said_to_be(cut_off, damage):
    (checkpoint_of(cut_off) / "request.json").write_text(damage)
    with pytest.raises(InputError, match=r"request\.json"):
        resume_table(cut_off)
