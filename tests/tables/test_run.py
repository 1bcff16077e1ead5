"""The folder of a run: of the format before, and damaged in its inside."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from domindex.errors import InputError
from domindex.tables import Run, TextFormat, add_table, predict_table, score_table

FIRST = Path(__file__).parent / "formats" / "1"


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
        {"rule": 3},
        {"rule": {"by": "week"}},
    ],
    ids=str,
)
def test_a_value_that_no_fit_writes_is_refused_when_a_run_is_opened(copied, change):
    edit(copied / "run.json", **change)
    with pytest.raises(InputError, match=r"run\.json is damaged"):
        Run.open(copied)


@pytest.fixture
def first(tmp_path):
    """A run of format 1, whose preparation was a file of its own."""
    return shutil.copytree(FIRST / "run", tmp_path / "first")


def test_a_run_of_format_1_opens_and_predicts_what_it_did(first, tmp_path):
    expected = pd.read_csv(FIRST / "predictions.csv", dtype={"year": str})
    found = predict_table(first, FIRST / "table.csv").table
    pd.testing.assert_frame_equal(found, expected, rtol=1e-7, check_dtype=False)
    new = pd.read_csv(FIRST / "table.csv").assign(year="3/4/2030")
    new.to_csv(tmp_path / "new.csv", index=False)
    grown = add_table(first, tmp_path / "new.csv", out=tmp_path / "grown").run
    assert sorted(path.name for path in grown.folder.iterdir()) == ["model", "run.json"]
    assert grown.model().domains_[-1] == "2030"
    again = predict_table(grown, FIRST / "table.csv").table
    np.testing.assert_allclose(again["p(ill)"], expected["p(ill)"], rtol=1e-7)


@pytest.mark.parametrize(
    "change", [{"targets": []}, {"targets": ["dose"]}, {"domain": 3}, {"columns": 3}], ids=str
)
def test_a_preparation_of_format_1_that_does_not_fit_its_run_is_refused(first, change):
    edit(first / "preparation.json", **change)
    for ask in (predict_table, score_table):
        with pytest.raises(InputError, match=r"preparation\.json is damaged"):
            ask(first, FIRST / "table.csv")


def test_a_model_that_prepares_no_table_is_none_of_a_run(copied, classes, data):
    model = classes.model()
    model._preparation = None
    model.save(copied / "model", overwrite=True)
    with pytest.raises(InputError, match="does not know how to prepare a table"):
        predict_table(copied, data)


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
