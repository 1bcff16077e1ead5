"""A table fitted: what the folder holds, what is refused, and that nothing is half-written."""

import json

import numpy as np
import pytest

from domindex import CrossDomainClassifier, Training
from domindex.errors import InputError, PreparationWarning
from domindex.tables import Run, fit_table

QUICK = {"predictor": "network", "training": {"index_steps": 5, "steps": 10}}
LINEAR = {"candidates": [["raw", "linear"]], "training": {"index_steps": 5}}


def test_a_run_holds_all_that_is_needed_and_nothing_else(classes):
    assert sorted(path.name for path in classes.folder.iterdir()) == [
        "model",
        "run.json",
    ]
    assert not [path for path in classes.folder.parent.iterdir() if path != classes.folder]


def test_a_run_says_what_was_fitted(classes):
    about = Run.open(classes.folder).about
    assert about["task"] == "classification"
    assert about["sources"] == ["s0", "s1", "s2"]
    assert about["features"] == ["x", "z", "color=blue", "color=red"]
    assert about["seed"] == 0
    assert about["settings"] == QUICK
    assert {"python", "domindex", "torch"} <= set(about["versions"])
    assert any("with one value, or nearly: 'version'" in note for note in about["notes"])
    assert any("Filled in missing inputs" in note for note in about["notes"])
    assert about["summary"] == classes.model().summary().splitlines()


def test_the_model_is_what_the_estimator_makes_of_the_same_rows(classes, table):
    rows = table.drop(columns=["latitude", "dose"])
    with pytest.warns(PreparationWarning):
        direct = CrossDomainClassifier(
            predictor="network", training=Training(**QUICK["training"]), random_state=0
        ).fit(rows, "outcome", sample_domain="site")
    expected = direct.predict_proba(rows)
    found = classes.model().predict_proba(table, sample_domain="site")
    assert found.tobytes() == expected.tobytes()


def test_rows_without_a_label_in_a_source_are_left_out_with_a_note(table, tmp_path):
    gaps = table.copy()
    gaps.loc[[0, 1], "outcome"] = None
    gaps.to_csv(tmp_path / "a.csv", index=False)
    how = {
        "target": ["outcome"],
        "domain": "site",
        "features": ["x", "z"],
        "settings": LINEAR,
        "report": False,
    }
    run = fit_table(tmp_path / "a.csv", out=tmp_path / "run", **how)
    assert any("Left out 2 rows of source domains" in note for note in run.notes)
    assert run.about["data"]["rows"] == len(table)


def test_labels_of_domains_that_are_no_sources_are_never_used(table, data, tmp_path, values):
    how = {
        "target": ["dose"],
        "domain": "site",
        "features": ["x", "z"],
        "settings": QUICK,
        "report": False,
    }
    full = table.assign(dose=table["dose"].fillna(1e6))
    full.to_csv(tmp_path / "a.csv", index=False)
    named = fit_table(tmp_path / "a.csv", out=tmp_path / "run", sources=["s0", "s1", "s2"], **how)
    assert any("Ignored the labels of 125 rows" in note for note in named.notes)
    frame = table[["x", "z"]].fillna(0.0)
    asked = {"sample_domain": table["site"]}
    np.testing.assert_array_equal(
        named.model().predict(frame, **asked), values.model().predict(frame, **asked)
    )


def test_an_existing_run_is_refused_before_any_work(classes, tmp_path):
    before = (classes.folder / "run.json").read_bytes()
    with pytest.raises(InputError, match="--force"):
        fit_table(tmp_path / "nowhere.csv", target=["y"], domain="d", out=classes.folder)
    assert (classes.folder / "run.json").read_bytes() == before


def test_force_does_not_replace_a_folder_that_is_no_run(data, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="left alone"):
        fit_table(data, target=["outcome"], domain="site", out=tmp_path, force=True)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_fit_that_is_stopped_leaves_the_run_before_as_it_was(
    data, classes, tmp_path, monkeypatch
):
    before = {path.name: path.read_bytes() for path in classes.folder.glob("*.json")}

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("domindex.tables.run.write_json", stop)
    how = {
        "target": ["outcome"],
        "domain": "site",
        "features": ["x", "z"],
        "settings": LINEAR,
        "report": False,
    }
    with pytest.raises(KeyboardInterrupt):
        fit_table(data, out=classes.folder, force=True, **how)
    assert {path.name: path.read_bytes() for path in classes.folder.glob("*.json")} == before
    with pytest.raises(KeyboardInterrupt):
        fit_table(data, out=tmp_path / "run", **how)
    assert not list(tmp_path.iterdir())


def test_force_replaces_a_run(data, tmp_path):
    how = {
        "domain": "site",
        "out": tmp_path / "run",
        "features": ["x", "z"],
        "settings": LINEAR,
        "report": False,
    }
    fit_table(data, target=["outcome"], **how)
    assert fit_table(data, target=["dose"], force=True, **how).about["task"] == "regression"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"target": ["outcom"]}, r"no column 'outcom' for the target.*Did you mean 'outcome'"),
        ({"domain": "cite"}, r"no column 'cite' for the domain.*Did you mean 'site'"),
        ({"target": ["site"]}, "another for the domain"),
        ({"target": []}, "at least one column to predict"),
        ({"sources": ["s0", "S1"]}, r"no domain 'S1'.*Did you mean 's1'"),
        ({"sources": ["s0", "s7"]}, "have no labels at all"),
        ({"sources": [f"s{n}" for n in range(8)]}, "have no labels at all"),
        ({"task": "regression"}, "holds texts, and regression needs numbers"),
        ({"task": "guess"}, "Choose auto"),
        ({"missing": "guess"}, "'impute' or 'error'"),
        ({"missing": "error"}, "1 inputs are missing"),
        ({"settings": {"index": 3}}, r"no setting 'index'.*Did you mean 'index_dim'"),
        ({"settings": {"steps": 3}}, r"no setting 'steps'.*below a line \[training\]"),
        ({"settings": {"training": {"step": 3}}}, r"no setting 'step'.*Did you mean 'steps'"),
        ({"settings": {"training": 500}}, r"training is 500\. Give it a table of its own"),
        ({"settings": {"training": {"steps": -1}}}, "steps is -1"),
    ],
)
def test_a_wrong_request_is_explained_and_leaves_nothing(data, tmp_path, how, message):
    request = {"target": ["outcome"], "domain": "site", "features": ["x", "z"]} | how
    with pytest.raises(InputError, match=message):
        fit_table(data, out=tmp_path / "run", **request)
    assert not list(tmp_path.iterdir())


def test_a_domain_column_with_blanks_is_refused(table, tmp_path):
    table.assign(site=table["site"].replace("s4", " ")).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(
        InputError, match=r"'site' is blank in 25 of 200 rows, the first is row 101"
    ):
        fit_table(tmp_path / "a.csv", target=["outcome"], domain="site", out=tmp_path / "run")


def test_a_run_that_is_not_there_or_damaged_is_named(classes, tmp_path):
    with pytest.raises(InputError, match="no folder"):
        Run.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no .*run\.json"):
        Run.open(tmp_path)
    (tmp_path / "run.json").write_text(
        json.dumps(classes.about | {"format": "a domindex run", "format_version": 99})
    )
    with pytest.raises(InputError, match="Install a newer domindex"):
        Run.open(tmp_path)
