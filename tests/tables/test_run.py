"""The folder of a run, damaged in its inside."""

import json
import shutil

import pytest

from domindex.errors import InputError
from domindex.tables import Run, TextFormat, predict_table, score_table


@pytest.fixture
def copied(classes, tmp_path):
    return shutil.copytree(classes.folder, tmp_path / "run")


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    "change",
    [
        {"domain": 3},
        {"domain": None},
        {"targets": []},
        {"targets": "outcome"},
        {"task": "guessing"},
        {"task": []},
        {"notes": None},
        {"notes": [1]},
        {"key": 3},
        {"form": 1.5},
        {"form": {"delimiter": 3}},
        {"form": {"missing": 3}},
        {"form": {"missing": [3]}},
        {"form": {"encoding": "base64"}},
        {"form": {"colour": "red"}},
        {"added": 3},
    ],
    ids=str,
)
def test_a_value_that_no_fit_writes_is_refused_when_a_run_is_opened(copied, change):
    edit(copied / "run.json", **change)
    with pytest.raises(InputError, match=r"run\.json is damaged"):
        Run.open(copied)


@pytest.mark.parametrize("targets", [[], ["dose"], ["outcome", "dose"]])
def test_targets_that_are_not_those_of_the_run_are_refused(copied, data, targets):
    edit(copied / "preparation.json", targets=targets)
    for ask in (predict_table, score_table):
        with pytest.raises(InputError, match=r"preparation\.json is damaged"):
            ask(copied, data)


@pytest.mark.parametrize(
    "said",
    [
        {"delimiter": 3},
        {"decimal": 3},
        {"decimal": "x"},
        {"encoding": 3},
        {"encoding": "hex"},
        {"encoding": "a\0"},
        {"encoding": "no such"},
        {"na": "NA"},
        {"na": (3,)},
    ],
    ids=str,
)
def test_a_format_that_cannot_be_is_refused_when_it_is_said(said):
    with pytest.raises(InputError):
        TextFormat(**said)
