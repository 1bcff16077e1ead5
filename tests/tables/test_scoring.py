"""Labels that turn up later: how good a run was, domain by domain, beside its forecast."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss

from domindex.errors import InputError, OffMapWarning
from domindex.tables import fit_table, predict_table, score_table


@pytest.fixture(scope="module")
def followup(table):
    """The same rows, with what came out in all sites."""
    rng = np.random.default_rng(0)
    late = table.copy()
    late["outcome"] = np.where(rng.random(len(late)) > 0.5, "well", "ill")
    late["dose"] = rng.normal(size=len(late))
    return late


def test_figures_are_those_of_the_predictions(classes, followup, tmp_path):
    followup.to_csv(tmp_path / "late.csv", index=False)
    scores = score_table(classes, tmp_path / "late.csv", out=tmp_path / "scores.csv")
    predicted = predict_table(classes, tmp_path / "late.csv").table
    right = predicted["outcome"].to_numpy() == followup["outcome"].to_numpy()
    expected = pd.Series(right).groupby(followup["site"]).mean()
    found = scores.table.set_index("domain")["accuracy"]
    pd.testing.assert_series_equal(found.sort_index(), expected, check_names=False)
    assert scores.table["accuracy"].is_monotonic_increasing
    targets = scores.table[scores.table["role"] == "target"]
    assert scores.overall["accuracy"] == pytest.approx(targets["accuracy"].mean())
    assert scores.table.loc[scores.table["role"] == "source", "as_forecast"].isna().all()
    inside = (targets["low"] <= targets["accuracy"]) & (targets["accuracy"] <= targets["high"])
    assert targets["as_forecast"].tolist() == inside.tolist()
    assert f"{int(inside.sum())} of 5 domains as forecast" in scores.summary()
    assert len(pd.read_csv(tmp_path / "scores.csv")) == 8


def test_values_have_errors_and_coverage(values, followup, tmp_path):
    some = followup[followup["site"] != "s0"].copy()
    some.loc[some.index[:3], "dose"] = None
    some.to_csv(tmp_path / "late.csv", index=False)
    scores = score_table(values, tmp_path / "late.csv")
    assert {"error", "bias", "coverage_80", "expected", "low", "high"} <= set(scores.table)
    assert scores.table["rows"].sum() == len(some) - 3
    assert "Left out 3 rows without a label." in scores.notes
    predicted = predict_table(values, tmp_path / "late.csv").table
    of_one = (some["site"] == "s4").to_numpy()
    gaps = predicted["dose"].to_numpy()[of_one] - some["dose"].to_numpy()[of_one]
    found = scores.table.set_index("domain").loc["s4", "error"]
    assert found == pytest.approx(np.sqrt((gaps**2).mean()))


def test_a_table_without_labels_is_refused(classes, table, tmp_path):
    table.assign(outcome=None).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match=r"nothing to compare with. Fill in outcome"):
        score_table(classes, tmp_path / "a.csv")
    table.drop(columns="outcome").to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match="no column 'outcome' for the target"):
        score_table(classes, tmp_path / "b.csv")


def test_labels_spelled_otherwise_are_those_of_the_run(classes, followup, tmp_path):
    followup.to_csv(tmp_path / "late.csv", index=False)
    spelled = followup["outcome"].replace("well", " Well")
    spelled.iloc[-3:] = "unknown"
    followup.assign(outcome=spelled).to_csv(tmp_path / "other.csv", index=False)
    expected = score_table(classes, tmp_path / "late.csv").table.set_index("domain")
    scores = score_table(classes, tmp_path / "other.csv")
    found = scores.table.set_index("domain")
    rest = expected.index.drop("s7")
    pd.testing.assert_series_equal(found["accuracy"][rest], expected["accuracy"][rest])
    notes = " ".join(scores.notes)
    assert "Took the label ' Well'" in notes
    assert "no class of the run, which no prediction can match: 'unknown (3 rows)'" in notes


def test_scores_of_sources_alone_are_said_to_be_no_test(classes, data):
    assert any("learned from their labels" in note for note in score_table(classes, data).notes)


def test_a_workbook_is_fitted_predicted_and_scored(table, tmp_path):
    pytest.importorskip("openpyxl")
    book = tmp_path / "patients.xlsx"
    table.assign(seen=pd.Timestamp("2020-01-01")).to_excel(book, index=False)
    table.to_csv(tmp_path / "patients.csv", index=False)
    asked = {"target": ["outcome"], "domain": "site", "features": ["x", "z", "color"]}
    asked |= {"settings": {"candidates": [["raw", "linear"]], "training": {"index_steps": 2}}}
    run = fit_table(book, out=tmp_path / "a", report=False, **asked)
    same = fit_table(tmp_path / "patients.csv", out=tmp_path / "b", report=False, **asked)
    found = predict_table(run, book).table
    pd.testing.assert_frame_equal(found, predict_table(same, tmp_path / "patients.csv").table)
    late = table.assign(outcome=np.where(table.index % 2, "well", "ill"))
    late.to_excel(tmp_path / "late.xlsx", index=False)
    assert len(score_table(run, tmp_path / "late.xlsx").table) == 8


def test_the_brier_score_is_that_of_the_report(classes, followup, tmp_path):
    """Of two classes the squared error of one probability, as scikit-learn has it too."""
    followup.to_csv(tmp_path / "late.csv", index=False)
    scores = score_table(classes, tmp_path / "late.csv").table.set_index("domain")
    predicted = predict_table(classes, tmp_path / "late.csv").table
    here = (followup["site"] == "s4").to_numpy()
    expected = brier_score_loss(followup["outcome"][here] == "well", predicted["p(well)"][here])
    assert scores.loc["s4", "brier"] == pytest.approx(expected)


def test_a_shared_run_tells_no_score_of_a_few_rows(table, tmp_path):
    """The error of a domain of one row, beside its prediction, is that row's label."""
    table.to_csv(tmp_path / "a.csv", index=False)
    late = table[~table["site"].isin(["s6", "s7"])].assign(dose=1.0)
    late = pd.concat([late, table[table["site"] == "s7"].iloc[:2].assign(dose=77.5)])
    late.to_csv(tmp_path / "late.csv", index=False)
    found = {}
    for share in (False, True):
        run = fit_table(
            tmp_path / "a.csv", target=["dose"], domain="site", features=["x", "z"], share=share,
            settings={"candidates": [["raw", "linear"]], "training": {"index_steps": 3}},
            report=False, out=tmp_path / f"run{share}",
        )  # fmt: skip
        found[share] = score_table(run, tmp_path / "late.csv", out=tmp_path / f"{share}.csv")
    shown, hidden = (found[share].table.set_index("domain") for share in (False, True))
    assert shown.loc["s7", "rows"] == 2
    assert shown.loc["s7", "error"] > 50
    assert hidden.loc["s7", ["rows", "error", "bias", "coverage_80", "as_forecast"]].isna().all()
    assert hidden.loc["s7", "expected"] == pytest.approx(shown.loc["s7", "expected"])
    others = [f"s{number}" for number in range(6)]
    pd.testing.assert_series_equal(hidden.loc[others, "error"], shown.loc[others, "error"])
    assert found[True].overall["error"] == pytest.approx(
        shown.loc[["s3", "s4", "s5"], "error"].mean()
    )
    assert "Hid the figures of 1 domain with fewer than 5 labels" in found[True].notes[-1]


def test_domains_off_the_map_are_noted_once_not_warned_about_one_by_one(
    classes, followup, tmp_path, capsys, recwarn
):
    far = followup.assign(site="far-" + followup["site"], z=1e6)
    far.to_csv(tmp_path / "far.csv", index=False)
    score_table(classes, tmp_path / "far.csv", progress=True)
    assert "8 of 8 domains lie off the map" in " ".join(capsys.readouterr().err.split())
    assert not [one for one in recwarn if one.category is OffMapWarning]


def test_a_plain_model_stands_beside_where_one_predicts(data, followup, classes, tmp_path):
    followup.to_csv(tmp_path / "late.csv", index=False)
    how = {"target": ["outcome"], "domain": "site", "exclude": ["dose"], "report": False}
    both = {"candidates": [["raw", "linear"], ["domain_centred", "linear"]]}
    short = {"training": {"index_steps": 1}}
    run = fit_table(data, out=tmp_path / "run", settings=both | short, **how)
    scores = score_table(run, tmp_path / "late.csv")
    alone = {"candidates": [["raw", "linear"]]}
    plain = fit_table(data, out=tmp_path / "plain", settings=alone | short, **how)
    expected = score_table(plain, tmp_path / "late.csv").table.set_index("domain")
    if "plain" in scores.table:
        found = scores.table.set_index("domain")["plain"]
        pd.testing.assert_series_equal(
            found.sort_index(), expected["accuracy"].sort_index(), check_names=False
        )
    assert expected["plain"].tolist() == expected["accuracy"].tolist()
    assert "plain" not in score_table(classes, tmp_path / "late.csv").table  # a network alone


def test_groups_of_a_column_are_compared_in_domains_that_are_no_sources(
    classes, followup, tmp_path
):
    rng = np.random.default_rng(1)
    late = followup.assign(sex=rng.choice(["f", "m"], len(followup)))
    late.to_csv(tmp_path / "late.csv", index=False)
    scores = score_table(classes, tmp_path / "late.csv", by="sex")
    assert set(scores.table) >= {"sex", "rows", "accuracy", "auc", "said(ill)", "said(well)"}
    predicted = predict_table(classes, tmp_path / "late.csv").table["outcome"].to_numpy()
    is_source = late["site"].isin(classes.predictor().source_domains_).to_numpy()
    own = ~is_source & (late["sex"] == "f").to_numpy()
    found = scores.table.set_index("sex").loc["f"]
    assert found["rows"] == own.sum()
    assert found["accuracy"] == pytest.approx((predicted == late["outcome"].to_numpy())[own].mean())
    assert found["said(ill)"] == pytest.approx((predicted[own] == "ill").mean())
    assert scores.overall["accuracy"] == pytest.approx(scores.table["accuracy"].mean())
    with pytest.raises(InputError, match="no column 'age'"):
        score_table(classes, tmp_path / "late.csv", by="age")
