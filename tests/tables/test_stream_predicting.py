"""Large tables: fitted by a sample, predicted part by part, the same however they are divided."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domindex.errors import InputError
from domindex.inputs import sampling
from domindex.inputs.sampling import Limits, SampleSize
from domindex.tables import Run, fit_table, large, predict_table, summarise_table
from domindex.tables.large import LargeTables

ROLES = {"target": ["outcome"], "domain": "site", "exclude": ["color"], "report": False}
QUICK = {
    "settings": {
        "candidates": [["raw", "linear"], ["domain_centred", "linear"]],
        "training": {"index_steps": 5},
    }
}


@pytest.fixture(scope="module")
def big():
    """Eight sites that drift, of which three have labels; two kinds of rows, some values lost."""
    rng = np.random.default_rng(0)
    n = 1600
    number = rng.integers(0, 8, n)
    kind = rng.choice(["old", "new"], n)
    x = rng.normal(size=n) + number
    z = rng.normal(size=n)
    ill = x - number + (kind == "old") > 0.3
    table = pd.DataFrame({"x": x, "z": z, "kind": kind, "color": "any"})
    table["site"] = [f"s{k}" for k in number]
    table["outcome"] = np.where(number < 3, np.where(ill, "ill", "well"), None)
    table.loc[::50, "z"] = np.nan
    return table


def write(folder, frames):
    folder.mkdir()
    for number, part in enumerate(frames):
        table = pa.Table.from_pandas(part, preserve_index=False)
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=90)
    return folder


@pytest.fixture(scope="module")
def folder(big, tmp_path_factory):
    return write(tmp_path_factory.mktemp("big") / "table", [big.iloc[:900], big.iloc[900:]])


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    return fit_table(folder, out=tmp_path_factory.mktemp("runs") / "run", **ROLES, **QUICK)


def test_a_run_of_a_folder_is_one_like_any_other(run, big):
    about = json.loads((run.folder / "run.json").read_text())
    assert about["data"]["rows"] == len(big)
    assert about["task"] == "classification"
    assert about["sources"] == ["s0", "s1", "s2"]
    assert run.about["features"] == ["x", "z", "kind=new", "kind=old"]
    assert any("Missing inputs are filled in" in note for note in run.notes)
    assert Run.open(run.folder).model().domains_ == [f"s{k}" for k in range(8)]


def test_the_model_is_the_same_however_rows_are_divided_ordered_or_held(run, big, tmp_path):
    shuffled = big.sample(frac=1.0, random_state=1)
    many = write(tmp_path / "many", [shuffled.iloc[k::5] for k in range(5)])
    lazy = pl.from_pandas(shuffled).lazy()
    for number, data in enumerate([many, lazy]):
        other = fit_table(data, out=tmp_path / f"run{number}", **ROLES, **QUICK)
        first, second = (one.model() for one in (run, other))
        assert first._preparation == second._preparation
        first, second = (one.predict_proba(big, sample_domain="site") for one in (first, second))
        np.testing.assert_array_equal(first, second)


def test_predictions_in_parts_are_those_of_the_table_in_memory(
    run, folder, big, tmp_path, monkeypatch
):
    pq.write_table(pa.Table.from_pandas(big), tmp_path / "small.parquet")
    whole = predict_table(run, tmp_path / "small.parquet").table
    monkeypatch.setattr(sampling, "LIMITS", Limits(batch_rows=130))
    result = predict_table(run, folder, out=tmp_path / "p.parquet")
    assert (result.n_rows, result.table, result.new_domains) == (len(big), None, [])
    written = pd.read_parquet(tmp_path / "p.parquet")
    assert list(written.columns) == list(whole.columns)
    assert written["outcome"].tolist() == whole["outcome"].tolist()
    numbers = ["p(ill)", "p(well)", "distance"]
    np.testing.assert_allclose(written[numbers], whole[numbers], rtol=1e-9, atol=1e-12)


def test_new_domains_are_placed_once_and_alike_in_all_parts(run, big, tmp_path, monkeypatch):
    new = big.assign(site="new-" + big["site"].astype(str))
    data = write(tmp_path / "new", [new.iloc[:700], new.iloc[700:]])
    shuffled = write(tmp_path / "shuffled", [new.iloc[::-1]])
    first = predict_table(run, data, out=tmp_path / "a.parquet")
    assert first.new_domains == [f"new-s{k}" for k in range(8)]
    monkeypatch.setattr(sampling, "LIMITS", Limits(batch_rows=77))
    predict_table(run, shuffled, out=tmp_path / "b.parquet")
    a, b = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in "ab")
    np.testing.assert_allclose(a["p(ill)"], b["p(ill)"].iloc[::-1], rtol=1e-9)
    assert a.groupby("site")["distance"].nunique().eq(1).all()


def test_csv_in_and_out_gives_the_same_as_parquet(run, folder, big, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "LARGE", LargeTables(file_bytes=1000, csv_block=20_000))
    big.assign(z=big["z"].astype(object).fillna("NA")).to_csv(tmp_path / "big.csv.gz", index=False)
    other = fit_table(tmp_path / "big.csv.gz", out=tmp_path / "run", **ROLES, **QUICK)
    assert other.model()._preparation == run.model()._preparation
    predict_table(run, folder, out=tmp_path / "a.parquet")
    predict_table(other, tmp_path / "big.csv.gz", out=tmp_path / "b.csv")
    a, b = pd.read_parquet(tmp_path / "a.parquet"), pd.read_csv(tmp_path / "b.csv")
    assert list(a.columns) == list(b.columns)
    np.testing.assert_allclose(a["p(ill)"], b["p(ill)"], rtol=1e-12)


def test_categories_of_rare_rows_are_pooled_and_changes_are_known(big, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "LARGE", LargeTables(sample=SampleSize(a_domain=20, in_all=160)))
    rare = big.assign(still=0.0)
    rare.loc[7, ["kind", "still"]] = ["unique", 1.0]
    data = pl.from_pandas(rare).lazy()
    sample = summarise_table(data, domain="site", targets=["outcome"]).sample()
    assert "unique" not in set(sample["kind"])
    other = fit_table(data, out=tmp_path / "run", **ROLES, **QUICK)
    assert other.about["features"] == [
        "x",
        "z",
        "kind=new",
        "kind=old",
        "still",
    ]
    assert any("sample of 160 of 1600 rows, at most 20" in note for note in other.notes)


def test_a_sample_that_is_not_like_its_domain_is_said(big, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "LARGE", LargeTables(sample=SampleSize(a_domain=20, in_all=160)))
    heavy = pd.concat([big, pd.DataFrame([big.loc[0]] * 20_000).assign(x=50.0)])
    other = fit_table(pl.from_pandas(heavy).lazy(), out=tmp_path / "run", **ROLES, **QUICK)
    said = [note for note in other.notes if "is not like all of their rows" in note]
    assert [repr(big.loc[0, "site"]) in note for note in said] == [True]


def test_values_are_distinguished_from_classes_by_all_rows(big, tmp_path):
    counted = big.assign(outcome=np.where(big["outcome"].isna(), np.nan, np.arange(len(big)) % 30))
    data = write(tmp_path / "data", [counted])
    other = fit_table(data, out=tmp_path / "run", **ROLES, **QUICK)
    assert other.about["task"] == "regression"
    predict_table(other, data, out=tmp_path / "p.csv")
    assert {"outcome", "std(outcome)"} <= set(pd.read_csv(tmp_path / "p.csv").columns)


def test_a_prediction_that_fails_leaves_the_file_before_as_it_was(run, big, tmp_path):
    bad = write(tmp_path / "bad", [big, big.assign(site=None)])
    (tmp_path / "p.csv").write_text("before")
    with pytest.raises(InputError, match="blank"):
        predict_table(run, bad, out=tmp_path / "p.csv", force=True)
    assert (tmp_path / "p.csv").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "p.csv"]


def test_where_predictions_go_must_be_said(run, folder):
    with pytest.raises(InputError, match="have to go to a file"):
        predict_table(run, folder)


def test_a_file_with_other_columns_is_named_before_any_work(big, tmp_path):
    data = write(tmp_path / "data", [big, big.drop(columns="z")])
    with pytest.raises(InputError, match=r"1\.parquet has other columns than .*0\.parquet.*no 'z'"):
        fit_table(data, out=tmp_path / "run", **ROLES, **QUICK)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"domain": "cite"}, "no column 'cite' for the domain.*Did you mean 'site'"),
        ({"target": ["site"]}, "another for the domain"),
        ({"sources": ["s0", "s7"]}, "have no labels at all"),
        ({"sources": ["S0"]}, "no domain 'S0'"),
        ({"missing": "error"}, "32 inputs are missing, most in 'z'"),
        ({"exclude": ["colour"]}, "Did you mean 'color'"),
    ],
)
def test_a_wrong_request_is_explained(folder, tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        fit_table(folder, out=tmp_path / "run", **ROLES | change, **QUICK)
    assert not list(tmp_path.iterdir())


def test_texts_beyond_categories_are_left_out_and_mixtures_refused(big, tmp_path):
    names = big.assign(kind=[f"row {k}" for k in range(len(big))])
    named = fit_table(write(tmp_path / "a", [names]), out=tmp_path / "run", **ROLES, **QUICK)
    assert named.about["features"] == ["x", "z"]
    assert any("name rows" in note and "'kind'" in note for note in named.notes)
    mixed = big.assign(kind=np.where(big["kind"] == "old", "3", "four"))
    with pytest.raises(InputError, match="'kind' mixes numbers and texts"):
        fit_table(write(tmp_path / "b", [mixed]), out=tmp_path / "other", **ROLES, **QUICK)


def test_an_empty_folder_is_said(tmp_path):
    with pytest.raises(InputError, match="folder without Parquet files"):
        fit_table(tmp_path, out=tmp_path / "run", **ROLES)


def test_domains_around_a_ring_are_predicted_in_parts_as_at_once(tmp_path):
    rng = np.random.default_rng(0)
    number = np.repeat(np.arange(24), 40)
    label = rng.integers(0, 2, len(number))
    plane = np.column_stack([2.0 * label - 1.0, np.full(len(number), 3.0)])
    turned = (plane @ [1, 1j] + 0.3 * rng.normal(size=(len(number), 2)) @ [1, 1j]) * np.exp(
        2j * np.pi * number / 24
    )
    table = pd.DataFrame({"x": turned.real, "z": turned.imag})
    table["site"], table["outcome"] = [f"s{n:02d}" for n in number], np.where(label, "yes", "no")
    data = write(tmp_path / "data", [table])
    roles = {"target": ["outcome"], "domain": "site", "sources": [f"s{n:02d}" for n in range(8)]}
    quick = {"candidates": [["flow", "linear"]], "training": {"index_steps": 5}}
    run = fit_table(data, out=tmp_path / "run", **roles, settings=quick, report=False)
    assert run.model().domain_angles_ is not None
    predict_table(run, data, out=tmp_path / "p.parquet")
    whole = predict_table(run, data / "0.parquet").table
    written = pd.read_parquet(tmp_path / "p.parquet")
    np.testing.assert_allclose(written["p(yes)"], whole["p(yes)"], rtol=1e-9)
