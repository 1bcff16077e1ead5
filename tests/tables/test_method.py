"""Runs of the paper's model: fitted, predicted, scored, mapped, grown and reported by the table."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domindex import VDIClassifier, VDIRegressor
from domindex.errors import InputError
from domindex.estimators.models import METHODS
from domindex.serving.served_run import ServedRun, ServeSettings, Upload
from domindex.tables import (
    Run,
    TextFormat,
    add_table,
    draw_report,
    fit_table,
    index_table,
    predict_table,
    resume_table,
    score_table,
)

SHORT = {"pretraining_steps": 4, "steps": 6, "refresh_every": 3}
CLASSES = {"target": ["outcome"], "domain": "site", "exclude": ["latitude", "dose"]}
VALUES = {"target": ["dose"], "domain": "site", "features": ["x", "z"]}


def fit(data, out, **asked):
    return fit_table(data, out=out, method="vdi", **{"settings": SHORT, "report": False} | asked)


@pytest.fixture(scope="module")
def classes(data, tmp_path_factory):
    return fit(data, tmp_path_factory.mktemp("runs") / "classes", **CLASSES, report=True)


@pytest.fixture(scope="module")
def values(data, tmp_path_factory):
    return fit(data, tmp_path_factory.mktemp("runs") / "values", **VALUES)


def test_the_run_holds_the_papers_model_which_is_not_the_default(classes, values):
    assert next(iter(METHODS)) == "cross-domain"
    assert type(classes.model()) is VDIClassifier
    assert type(values.model()) is VDIRegressor
    about = Run.open(classes.folder).about
    assert about["estimator"] == "VDIClassifier"
    assert about["settings"] == SHORT
    assert about["summary"] == classes.model().summary().splitlines()
    assert set(about["stages"]) == {"training", "explaining"}


def test_predictions_are_those_of_the_estimator(classes, values, table, data, new_sites):
    predicted = predict_table(classes, data).table
    expected = classes.model().predict_proba(table, sample_domain="site")
    np.testing.assert_allclose(predicted[["p(ill)", "p(well)"]].to_numpy(), expected)
    assert (predict_table(values, data).table["std(dose)"] > 0).all()
    found = predict_table(classes, new_sites)
    assert found.new_domains == [f"new-s{number}" for number in range(2, 8)]


def test_rows_in_parts_are_predicted_as_the_whole(classes, table, tmp_path):
    renamed = table.assign(site="new-" + table["site"])
    (tmp_path / "parts").mkdir()
    for number in range(3):
        part = pa.Table.from_pandas(renamed.iloc[number::3], preserve_index=False)
        pq.write_table(part, tmp_path / "parts" / f"{number}.parquet")
    predict_table(classes, tmp_path / "parts", out=tmp_path / "found.csv")
    found = pd.read_csv(tmp_path / "found.csv")
    order = np.concatenate([np.arange(number, len(table), 3) for number in range(3)])
    renamed.iloc[order].to_csv(tmp_path / "whole.csv", index=False)
    whole = predict_table(classes, tmp_path / "whole.csv").table
    np.testing.assert_allclose(found["p(ill)"], whole["p(ill)"].to_numpy())
    np.testing.assert_allclose(found["distance"], whole["distance"].to_numpy(), atol=1e-6)


def test_scores_stand_without_forecasts(classes, values, table, tmp_path):
    rng = np.random.default_rng(0)
    late = table.assign(
        outcome=rng.choice(["well", "ill"], len(table)), dose=rng.normal(size=len(table))
    )
    late.to_csv(tmp_path / "late.csv", index=False)
    scores = score_table(classes, tmp_path / "late.csv")
    assert scores.table.columns.tolist() == ["domain", "role", "rows", "accuracy", "auc", "brier"]
    assert "VDIClassifier makes no forecasts, so none stand beside these." in scores.notes
    assert "forecast" not in scores.summary()
    assert {"error", "bias", "coverage_80"} <= set(score_table(values, tmp_path / "late.csv").table)


def test_the_map_is_written_and_grows(classes, new_sites, tmp_path):
    index = index_table(classes, new_sites).table
    assert index["role"].tolist() == ["source"] * 3 + ["target"] * 5 + ["new"] * 6
    grown = add_table(classes, new_sites, out=tmp_path / "grown")
    assert grown.table["domain"].tolist() == [f"new-s{number}" for number in range(2, 8)]
    assert len(grown.run.model().domains_) == 14
    assert index_table(grown.run).table["role"].tolist()[-6:] == ["added"] * 6


def test_the_report_says_what_it_leaves_out(classes):
    content = json.loads((classes.folder / "report.json").read_text())
    assert content["estimator"] == "VDIClassifier"
    assert any("holds no source out while it is fitted" in note for note in content["notes"])
    assert content["held_out"] is None
    assert content["trials"] == content["drivers"] == []
    assert all(domain["forecast"] is None for domain in content["domains"])
    assert all(domain["rows"] == 25 for domain in content["domains"])
    assert content["history"]["phases"]
    assert draw_report(classes.folder).stat().st_size > 0


def test_a_page_answers_with_it(classes, data):
    served = ServedRun.open(classes, ServeSettings())
    with data.open("rb") as content:
        answer = served.answer(Upload("patients.csv", content, TextFormat()))
    assert len(answer.predictions) == 200
    assert answer.domains["expected"].isna().all()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"method": "vid"}, "method is 'vid'. Choose one of cross-domain, vdi."),
        ({"settings": {"index_dmi": 3}}, "VDIClassifier has no setting 'index_dmi'.*'index_dim'"),
        ({"settings": {"training": {"steps": 3}}}, r"no setting 'training'.*Leave out the line"),
        ({"settings": {"effort": "quick"}}, "VDIClassifier has no setting 'effort'"),
        ({"settings": {"encoder": "cubic"}}, "encoder is 'cubic'. Choose one of"),
    ],
    ids=str,
)
def test_settings_are_checked_against_the_class_of_the_method(data, tmp_path, asked, words):
    with pytest.raises(InputError, match=words):
        fit_table(data, out=tmp_path / "run", **{"method": "vdi"} | CLASSES | asked)
    assert not (tmp_path / "run").exists()


def test_settings_of_the_paper_are_none_of_the_default_method(data, tmp_path):
    with pytest.raises(InputError, match="CrossDomainClassifier has no setting 'aggregation'"):
        fit_table(data, out=tmp_path / "run", **CLASSES, settings={"aggregation": "mean"})


def test_a_fit_that_was_cut_off_goes_on_after_its_first_phase(data, values, tmp_path, monkeypatch):
    def cut(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("domindex.estimators.vdi.train_model", cut)
        with pytest.raises(KeyboardInterrupt):
            fit(data, tmp_path / "run", **VALUES, checkpoint=True)
    monkeypatch.setattr("domindex.estimators.vdi.pretrain", cut)
    run = resume_table(tmp_path / "run")
    found, expected = (one.model().domain_indices_ for one in (run, values))
    np.testing.assert_array_equal(found, expected)
