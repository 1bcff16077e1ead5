"""Which rows to label next: where they lie, what is said of them, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from domindex import CrossDomainClassifier, CrossDomainRegressor
from domindex.cli import app
from domindex.committee.suggestions import OpenDomain, choose_rows
from domindex.errors import InputError
from domindex.tables import fit_table, label_table

QUICK = {"effort": "quick", "candidates": [("raw", "linear")], "random_state": 0}


@pytest.fixture(scope="module")
def frame():
    """Six domains; `big` and `small` have no labels."""
    rng = np.random.default_rng(0)
    names = [name for name in "abcd" for _ in range(60)] + ["big"] * 120 + ["small"] * 12
    X = rng.normal(size=(len(names), 2))
    dose = X[:, 0] + rng.normal(scale=0.3, size=len(names))
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "site": names, "dose": dose})
    return frame.assign(ill=np.where(dose > 0, "yes", "no"))


def fitted(frame, kind, target):
    y = frame[target].astype(object).where(~frame["site"].isin(["big", "small"]), None)
    y = y.astype(float) if target == "dose" else y
    return kind(**QUICK).fit(frame[["x", "z"]], y, sample_domain=frame["site"])


@pytest.fixture(scope="module")
def model(frame):
    return fitted(frame, CrossDomainClassifier, "ill")


def ask(model, frame, n=20, **how):
    return model.suggest_labels(frame[["x", "z"]], n, sample_domain=frame["site"], **how)


def test_rows_of_targets_alone_are_asked_for_each_once(model, frame):
    found = ask(model, frame)
    assert found["row"].is_unique
    assert len(found) == 20
    assert found["domain"].tolist() == frame["site"].iloc[found["row"]].tolist()
    counts = found["domain"].value_counts()
    assert set(counts.index) == {"big", "small"}
    assert counts["big"] > counts["small"]


def test_reasons_say_what_is_expected_and_how_sure_the_model_is(model, frame):
    reason = ask(model, frame, 1)["reason"][0]
    assert reason.startswith("expected accuracy ")
    assert "in 120 rows; predicted " in reason
    found = ask(fitted(frame, CrossDomainRegressor, "dose"), frame, 3)
    assert found["reason"].str.contains(r"expected error .* rows; deviation ").all()


def test_unsure_rows_are_asked_for_rather_than_sure_ones(model, frame):
    sure = model.predict_proba(frame[["x", "z"]], sample_domain=frame["site"]).max(axis=1)
    target = frame["site"] == "big"
    rows = ask(model, frame, 10)["row"]
    assert sure[rows].mean() < sure[target].mean()


def test_rows_with_labels_are_not_asked_for_again(model, frame):
    first = ask(model, frame, 5)["row"]
    y = frame["ill"].where(frame.index.isin(first), None)
    then = ask(model, frame, 127, y=y)["row"]
    assert not set(first) & set(then)
    assert set(first) | set(then) == set(np.flatnonzero(frame["site"].isin(["big", "small"])))


def test_more_rows_than_there_are_cannot_be_asked_for(model, frame):
    with pytest.raises(InputError, match="n is 133, and 132 rows without a label are there, in 2"):
        ask(model, frame, 133)
    sources = frame[frame["site"] == "a"]
    with pytest.raises(InputError, match="0 rows without a label are there, in 0 domains"):
        ask(model, sources, 1)


@pytest.mark.parametrize("n", [0, -1, 1001, 2.5, True, "many"])
def test_what_is_no_number_of_rows_is_refused(model, frame, n):
    with pytest.raises(InputError, match=r"Ask for 1 to 1,000 rows"):
        ask(model, frame, n)


def test_new_domains_may_be_asked_about_where_a_fit_had_no_targets(frame):
    known = frame[frame["site"].isin(list("abcd"))]
    model = CrossDomainClassifier(**QUICK)
    model.fit(known[["x", "z"]], known["ill"], sample_domain=known["site"])
    with pytest.raises(InputError, match="no sources"):
        ask(model, known, 1)
    assert set(ask(model, frame, 4)["domain"]) <= {"big", "small"}


def test_the_first_row_is_the_middle_of_many_and_the_next_lies_apart():
    features = np.array([[0.0], [0.1], [-0.1], [5.0], [20.0]])
    domain = OpenDomain(features, np.ones(5), np.ones(5, dtype=bool), 1.0)
    first, second = (row for _, row, _ in choose_rows([domain], 2))
    assert first in (0, 1, 2)
    assert second in (3, 4)


def test_a_domain_with_more_at_stake_has_more_rows():
    rng = np.random.default_rng(0)
    alike = [rng.normal(size=(30, 2)) for _ in range(2)]
    stakes = 1.0, 4.0
    domains = [
        OpenDomain(rows, np.ones(30), np.ones(30, dtype=bool), stake)
        for rows, stake in zip(alike, stakes)
    ]
    chosen = [number for number, _, _ in choose_rows(domains, 12)]
    assert chosen.count(1) > 2 * chosen.count(0) > 0


@pytest.fixture(scope="module")
def run(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("label")
    blank = frame.copy()
    blank.loc[frame["site"].isin(["big", "small"]), "ill"] = None
    blank.to_csv(folder / "table.csv", index=False)
    settings = {name: QUICK[name] for name in ("effort", "candidates")}
    how = {"target": ["ill"], "domain": "site", "exclude": ["dose"], "report": False}
    return fit_table(folder / "table.csv", out=folder / "run", settings=settings, **how)


def test_a_table_to_fill_in_is_written_and_read_back(run, frame, tmp_path):
    data = run.folder.parent / "table.csv"
    arguments = ["label", str(run.folder), str(data), "--n", "8", "--out", str(tmp_path / "a.csv")]
    answer = CliRunner().invoke(app, [*arguments, "--json"])
    assert answer.exit_code == 0, answer.output
    assert len(json.loads(answer.stdout)["rows"]) == 8
    asked = pd.read_csv(tmp_path / "a.csv")
    assert asked.columns.tolist() == ["row", "ill", "reason", "x", "z", "site", "dose"]
    assert asked["ill"].isna().all()
    np.testing.assert_allclose(asked["x"], frame["x"].iloc[asked["row"] - 1])
    table = pd.read_csv(data)
    table.loc[asked["row"] - 1, "ill"] = frame["ill"].iloc[asked["row"] - 1].to_numpy()
    table.to_csv(tmp_path / "filled.csv", index=False)
    again = label_table(run, tmp_path / "filled.csv", n=8)
    assert not set(again["row"]) & set(asked["row"])


def test_a_method_that_suggests_nothing_says_so(frame, tmp_path):
    frame.drop(columns=["ill"]).to_csv(tmp_path / "table.csv", index=False)
    how = {"target": ["dose"], "domain": "site", "sources": ["a", "b"], "report": False}
    how |= {"method": "vdi", "settings": {"pretraining_steps": 2, "steps": 2}}
    vdi = fit_table(tmp_path / "table.csv", out=tmp_path / "run", **how)
    with pytest.raises(InputError, match="VDIRegressor, which suggests no rows"):
        label_table(vdi, tmp_path / "table.csv")
