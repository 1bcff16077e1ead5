"""No value of an excluded column, no row and no unique text is in any file of a run."""

import json

import numpy as np
import pandas as pd
import pytest

from domindex import CrossDomainClassifier, Training
from domindex.errors import PreparationWarning
from domindex.tables import add_table, fit_table, index_table, score_table
from domindex.tables.request import shown_columns, without_row_values

QUICK = {"candidates": [["raw", "linear"]], "training": {"index_steps": 5}}
SECRETS = ["P-0", "Mrs Jones", "Dr Smith", "1950-0", "SECRET", "987654.25", "4711.5", "JON-77"]


@pytest.fixture(scope="module")
def patients():
    """Wards that drift; one has a single patient; names, notes and codes that point to people."""
    rng = np.random.default_rng(0)
    ward = np.r_[np.repeat(np.arange(7), 25), [7], [8] * 4]
    n = len(ward)
    table = pd.DataFrame(
        {
            "ward": [f"w{number}" for number in ward],
            "patient": [f"P-0{number:05}" for number in range(n)],
            "note": ["Mrs Jones called" if row % 2 else "seen by Dr Smith" for row in range(n)],
            "born": [f"1950-0{1 + row % 9}-{1 + row % 28:02}" for row in range(n)],
            "age": rng.normal(size=n) + ward,
            "dose": rng.normal(size=n),
            "drug": np.where(rng.random(n) > 0.5, "aspirin", "none"),
            "seat": rng.integers(0, 5, size=n),
            "outcome": np.where(rng.random(n) > 0.5, "well", "ill"),
        }
    )
    table.loc[3, "drug"] = "SECRET"
    table.loc[n - 5, ["age", "dose"]] = [987654.25, 4711.5]
    table.loc[10, "seat"] = 1234567
    table["staff"] = np.where(np.arange(n) % 3 > 0, "A", "B")
    table.loc[11, "staff"] = "JON-77"
    table.loc[ward >= 4, "outcome"] = None
    table.loc[:4, "dose"] = None
    return table


def texts_of(folder):
    """Every file of a run, the weights too, as text in which a planted word would be found."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def planted(folder):
    """The secrets that files of a folder hold."""
    return [
        (path, secret)
        for path, content in texts_of(folder).items()
        for secret in SECRETS
        if secret.encode() in content
    ]


@pytest.mark.parametrize("share", [False, True])
def test_no_file_of_a_run_holds_a_planted_secret(patients, tmp_path, share):
    pytest.importorskip("plotly")
    patients.to_csv(tmp_path / "patients.csv", index=False)
    run = fit_table(
        tmp_path / "patients.csv",
        target=["outcome"],
        domain="ward",
        exclude=["patient", "note", "born"],
        features=["age", "dose", "drug"],
        out=tmp_path / "run",
        settings=QUICK,
        share=share,
    )
    assert run.report is not None
    assert not planted(run.folder)
    about = json.loads((run.folder / "run.json").read_text())
    assert not {"patient", "note", "born"} & set(about["data"]["columns"])
    content = json.loads((run.folder / "report.json").read_text())
    assert not {"patient", "note", "born"} & set(content["columns"])
    assert content["columns"]["missing: dose"][0] == 0.2
    rows = {domain["name"]: domain["rows"] for domain in content["domains"]}
    assert rows["w8"] == (None if share else 4)
    assert rows["w0"] == 25
    assert content["preparation"] == about["notes"], "the report says what was done to the table"


def test_columns_that_name_rows_are_not_shown_and_neither_is_what_occurs_once():
    table = pd.DataFrame(
        {
            "name": [f"n{number}" for number in range(20)],
            "number": range(100, 120),
            "day": pd.date_range("2020-01-01", periods=20),
            "level": np.linspace(0.0, 1.0, 20),
            "staff": ["A"] * 19 + ["Jones"],
        }
    )
    shown = shown_columns(table)
    assert list(shown.columns) == ["level", "staff"]
    assert shown["staff"].tolist() == ["A"] * 19 + [None]


def test_figures_of_a_row_or_two_are_hidden():
    content = {
        "domains": [
            {"name": "a", "rows": 9, "held_out_score": 1.0},
            {"name": "b", "rows": 1, "held_out_score": 0.0, "differences": ["x"]},
            {"name": "c", "rows": 4, "held_out_score": 0.5},
        ],
        "columns": {"x": [1.0, 2.0, 3.0]},
        "held_out": {"scores": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
    }
    own = without_row_values(content, share=False)
    shared = without_row_values(content, share=True)
    assert own["columns"]["x"] == [1.0, None, 3.0]
    assert [domain["rows"] for domain in own["domains"]] == [9, 1, 4]
    assert own["domains"][1]["differences"] == []
    assert shared["columns"]["x"] == [1.0, None, None]
    assert [domain["rows"] for domain in shared["domains"]] == [9, None, None]
    assert [one["name"] for one in shared["held_out"]["scores"]] == ["a"]
    assert content["domains"][1]["held_out_score"] == 0.0


def test_shares_that_stand_for_a_few_rows_are_not_shared():
    bars = {"column": 0, "shares": [0.02, 0.08, 0.9], "neighbours": [0.3, 0.3, 0.4]}
    gaps = [{"column": 0, "share": 0.02}, {"column": 1, "share": 0.5}]
    content = {
        "domains": [{"name": "a", "rows": 60, "differences": [bars], "missing": gaps}],
        "columns": {"missing: age": [0.02], "drug=none": [0.05], "age": [0.02], "x=y": [0.01]},
        "profiles": [{"name": "age"}, {"name": "drug"}],
    }
    shared = without_row_values(content, share=True)
    (domain,) = shared["domains"]
    assert domain["differences"][0]["shares"] == [0.0, 0.08, 0.9]  # 1, 5 and 54 rows
    assert domain["missing"] == [gaps[1]]
    assert shared["columns"]["missing: age"] == shared["columns"]["drug=none"] == [None]
    assert shared["columns"]["age"] == [0.02]  # a mean, no share
    assert without_row_values(content, share=False)["domains"] == content["domains"]


def test_a_table_in_parts_and_domains_added_later_tell_no_small_counts_either(patients, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "parts").mkdir()
    patients.to_parquet(tmp_path / "parts" / "a.parquet", index=False)
    asked = {"target": ["outcome"], "domain": "ward", "features": ["age", "dose", "drug"]}
    few = patients.assign(dose=patients["dose"].fillna(0.5)).copy()
    few.loc[:2, "dose"] = None
    few.to_parquet(tmp_path / "parts" / "a.parquet", index=False)
    said = {}
    for share in (False, True):
        run = fit_table(
            tmp_path / "parts", out=tmp_path / f"run{share}", settings=QUICK, report=False,
            share=share, **asked,
        )  # fmt: skip
        said[share] = " ".join(run.notes)
        later = patients[patients["ward"] == "w8"].assign(ward="new")
        later.to_csv(tmp_path / "later.csv", index=False)
        added = add_table(run, tmp_path / "later.csv", out=tmp_path / f"added{share}").run
        assert added.about["added"][0]["rows"] == (None if share else 4)
    assert "'dose (3)'" in said[False]
    assert "'dose (below 5)'" in said[True]


def test_nothing_that_is_made_of_a_run_holds_a_secret_either(patients, tmp_path):
    """Domains added, labels scored, the map: of tables that hold secrets of their own."""
    patients.to_csv(tmp_path / "patients.csv", index=False)
    run = fit_table(
        tmp_path / "patients.csv", target=["outcome"], domain="ward", key="patient",
        exclude=["note", "born", "seat"], settings=QUICK, out=tmp_path / "run", report=False,
    )  # fmt: skip
    later = patients.assign(ward="new-" + patients["ward"], outcome="well", dose=4711.5)
    later.to_csv(tmp_path / "JON-77.csv", index=False)
    made = tmp_path / "made"
    made.mkdir()
    add_table(run, tmp_path / "JON-77.csv", out=made / "added")
    score_table(run, tmp_path / "JON-77.csv", out=made / "scores.csv")
    index_table(run, tmp_path / "JON-77.csv", out=made / "map.csv", graph=made / "map.graphml")
    named = json.loads((made / "added" / "run.json").read_text())["added"][0].pop("file")
    assert named == "JON-77.csv"  # a run names the files that it was made of, and nothing else
    found = [hit for hit in planted(made) if not (hit[0].endswith("run.json") and "JON" in hit[1])]
    assert not found


def test_a_model_fitted_on_a_frame_keeps_and_shows_no_secret(patients, tmp_path):
    pytest.importorskip("plotly")
    model = CrossDomainClassifier(candidates=[("raw", "linear")], training=Training(index_steps=2))
    with pytest.warns(PreparationWarning):
        model.fit(patients.drop(columns=["note", "seat"]), "outcome", sample_domain="ward")
    made = tmp_path / "made"
    model.save(made / "model")
    model.report(made / "report.html")
    (made / "shown.html").write_text(model._repr_html_())
    (made / "explained.txt").write_text(
        "".join(map(str, map(model.explain_domain, model.domains_)))
    )
    assert not planted(made)
