"""Rows keep their names, domains may be made of a column, and classes are not split by a blank."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from domindex.errors import InputError
from domindex.inputs.preparation import TablePreparation
from domindex.tables import fit_table, predict_table
from domindex.tables.labels import DomainRule, choose_sources, read_labels
from domindex.tables.large import name_of

QUICK = {"candidates": [["raw", "linear"]], "training": {"index_steps": 5}}


@pytest.fixture(scope="module")
def keyed(table, tmp_path_factory):
    """The table with a record number, and a run that knows it."""
    folder = tmp_path_factory.mktemp("keyed")
    numbered = table.assign(record=[f"r{row:04}" for row in range(len(table))])
    numbered.to_csv(folder / "data.csv", index=False)
    run = fit_table(
        folder / "data.csv",
        target=["outcome"],
        domain="site",
        key="record",
        features=["x", "z"],
        out=folder / "run",
        settings=QUICK,
        report=False,
    )
    return run, folder / "data.csv"


def test_predictions_carry_the_key_and_what_is_to_be_kept(keyed, table, tmp_path):
    run, data = keyed
    found = predict_table(run, data, keep=["latitude", "outcome"], out=tmp_path / "p.csv").table
    assert list(found.columns[:4]) == ["record", "latitude", "outcome (given)", "site"]
    assert found["record"].tolist() == [f"r{row:04}" for row in range(len(table))]
    assert pd.read_csv(tmp_path / "p.csv")["record"].tolist() == found["record"].tolist()
    with pytest.raises(InputError, match="no column 'colour' for the columns to keep"):
        predict_table(run, data, keep=["colour"])


def test_a_table_in_parts_keeps_them_too_and_every_row_is_prepared_once(
    keyed, tmp_path, monkeypatch
):
    pytest.importorskip("pyarrow")
    run, data = keyed
    table = pd.read_csv(data).assign(distance=1.0)
    (tmp_path / "parts").mkdir()
    table.to_parquet(tmp_path / "parts" / "a.parquet")
    table.to_csv(tmp_path / "whole.csv", index=False)
    apply, prepared = TablePreparation.apply, []

    def counting(self, rows):
        prepared.append(len(rows))
        return apply(self, rows)

    monkeypatch.setattr(TablePreparation, "apply", counting)
    asked = {"keep": ["latitude", "distance", "outcome"], "out": tmp_path / "p.csv", "force": True}
    for name in ("parts", "whole.csv"):
        predict_table(run, tmp_path / name, **asked)
        found = pd.read_csv(tmp_path / "p.csv")
        kept = ["record", "latitude", "distance", "outcome (given)", "site"]
        assert list(found.columns[:5]) == kept
        assert list(found.columns[-2:]) == ["distance_on_map", "off_map"]
        assert found["record"].tolist() == table["record"].tolist()
        assert sum(prepared) == len(table)
        prepared.clear()


def test_domains_are_made_of_dates_and_of_bands():
    days = pd.Series(["10/03/2004", "28/02/2005", "01/03/2004"], name="day")
    by_month = DomainRule.fit(days, "month")
    assert by_month.names(days) == ["2004-03", "2005-02", "2004-03"]
    assert DomainRule.fit(days, "year").names(days) == ["2004", "2005", "2004"]
    height = pd.Series([0.0, 0.49, -0.1, 37.5, 2.0], name="height")
    rule = DomainRule.fit(height, "0.5")
    assert rule.names(height) == ["0", "0", "-0.5", "37.5", "2"]
    assert DomainRule.from_dict(asdict(rule)) == rule
    for wrong in ("week", "-1", "nan"):
        with pytest.raises(InputError, match="Choose month or year"):
            DomainRule.fit(height, wrong)


def test_a_run_makes_the_same_domains_of_a_later_table(table, tmp_path):
    table.assign(height=table["latitude"] * 10.0 + 3.0).to_csv(tmp_path / "a.csv", index=False)
    run = fit_table(
        tmp_path / "a.csv",
        target=["outcome"],
        domain="height",
        domain_by="10",
        features=["x", "z"],
        out=tmp_path / "run",
        settings=QUICK,
        report=False,
    )
    assert run.about["sources"] == ["500", "510", "520"]
    assert predict_table(run, tmp_path / "a.csv").table["height"].tolist()[-1] == "570"


def test_names_that_hold_commas_can_be_sources():
    present = ["Kent, UK", "Essex", "A,B"]
    known = np.array([True, True, False])
    assert choose_sources(present, known, ["Kent", "UK", "Essex"]) == ["Kent, UK", "Essex"]
    assert choose_sources(present, known, ["A", "B"]) == ["A,B"]
    with pytest.raises(InputError, match="no domain 'Kent'"):
        choose_sources(present, known, ["Kent", "Essex"])


def test_classes_that_differ_in_capitals_or_blanks_are_asked_about():
    table = pd.DataFrame({"y": ["Yes", "no", "yes ", "yes", "Yes", None]})
    with pytest.raises(
        InputError, match=r"'Yes' \(2 rows\) and 'yes' \(1 rows\).*--spelling merge"
    ):
        read_labels(table, ["y"], "auto", "ask")
    merged = read_labels(table, ["y"], "auto", "merge")
    assert merged.values[merged.known].tolist() == ["Yes", "no", "Yes", "Yes", "Yes"]
    assert len(set(read_labels(table, ["y"], "auto", "exact").values)) == 5
    with pytest.raises(InputError, match="Choose ask, merge or exact"):
        read_labels(table, ["y"], "auto", "guess")


def test_the_classes_and_their_shares_are_said_before_a_fit(keyed, table, tmp_path, capsys):
    fit_table(
        keyed[1],
        target=["outcome"],
        domain="site",
        features=["x", "z"],
        out=tmp_path / "run",
        settings=QUICK,
        report=False,
        progress=True,
    )
    share = (table["outcome"].dropna() == "well").mean()
    assert f"well {share:.0%}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"key": "recrd"}, r"no column 'recrd' for the names of rows \(--id\)"),
        ({"domain_by": "month"}, r"by month, and column 'site' holds no dates: 's0'"),
        ({"features": []}, "No column is left to be an input"),
        ({"sources": []}, "No domain is named as a source; there are 's0'"),
    ],
)
def test_what_is_asked_for_and_not_there_is_named(data, tmp_path, asked, message):
    with pytest.raises(InputError, match=message):
        fit_table(data, target=["outcome"], domain="site", out=tmp_path / "run", **asked)


def test_a_folder_is_called_by_its_name_wherever_one_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert name_of(".") == tmp_path.name


def test_all_columns_that_are_not_there_are_named_at_once(classes, data, tmp_path):
    wrong = {"target": ["outcom"], "domain": "Site", "key": "number", "exclude": ["colour"]}
    with pytest.raises(InputError) as caught:
        fit_table(data, out=tmp_path / "run", features=["x", "zz", "q q"], **wrong)
    text = str(caught.value)
    assert "'Site' for the domain and 'outcom' for the target" in text
    assert "'number' for the names of rows (--id) and 'zz', 'q q' for the inputs" in text
    assert "'colour' for the columns to leave out" in text
    assert "Did you mean 'site' and 'outcome' and 'z' and 'color'?" in text
    pd.DataFrame({"place": ["a"], "x": [1.0]}).to_csv(tmp_path / "later.csv", index=False)
    with pytest.raises(
        InputError, match=r"no column 'site' for the domain and 'z'.* for the inputs"
    ):
        predict_table(classes, tmp_path / "later.csv")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"exclude": ["z"], "keep_columns": ["z"]}, "'z' is named by --keep-column.*by --exclude"),
        ({"key": "x", "features": ["x", "z"]}, "'x' is named by --features.*by --id"),
        ({"exclude": ["z"], "categorical": ["z"]}, "'z' is named by --categorical.*by --exclude"),
    ],
)
def test_a_column_that_is_to_be_used_and_left_out_is_asked_about(data, tmp_path, asked, message):
    with pytest.raises(InputError, match=message):
        fit_table(data, target=["outcome"], domain="site", out=tmp_path / "run", **asked)
