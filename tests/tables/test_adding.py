"""Adding the domains of a table to a run: they are known afterwards, and nothing else changes."""

import numpy as np
import pandas as pd
import pytest

from domindex.errors import InputError
from domindex.tables import add_table, index_table, predict_table


@pytest.fixture(scope="module")
def added(classes, new_sites, tmp_path_factory):
    return add_table(classes, new_sites, out=tmp_path_factory.mktemp("runs") / "grown")


def test_a_new_run_knows_them_and_the_old_one_is_as_it_was(classes, added):
    names = [f"new-s{n}" for n in range(2, 8)]
    assert added.table["domain"].tolist() == names
    assert added.run.model().domains_ == [*classes.model().domains_, *names]
    assert len(classes.model().domains_) == 8
    (note,) = added.run.about["added"]
    assert (note["domains"], note["rows"], note["file"]) == (names, 150, "new.csv")
    assert {"expected_accuracy", "nearest_1", "off_map"} <= set(added.table)


def test_added_domains_have_their_role_on_the_map_and_are_predicted(added, new_sites):
    table = index_table(added.run).table
    assert table["role"].tolist() == ["source"] * 3 + ["target"] * 5 + ["added"] * 6
    assert predict_table(added.run, new_sites).new_domains == []


def test_known_domains_are_left_out_with_a_note(classes, table, tmp_path, capsys):
    some = table[table["site"].isin(["s3", "s4"])]
    some.assign(site=some["site"].replace("s4", "later")).to_csv(tmp_path / "a.csv", index=False)
    result = add_table(classes, tmp_path / "a.csv", out=tmp_path / "run", progress=True)
    assert result.table["domain"].tolist() == ["later"]
    assert "Left out 25 rows of domains that the run knows: 's3'." in capsys.readouterr().err


def test_a_table_without_new_domains_is_refused(classes, data, tmp_path):
    with pytest.raises(InputError, match="holds no new domain"):
        add_table(classes, data, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_is_replaced_only_where_that_is_allowed(added, table, tmp_path):
    run = add_table(added.run, _more(table, tmp_path), out=tmp_path / "run").run
    assert len(run.about["added"]) == 2
    (run.folder / "report.html").write_text("the report of the fit")
    again = _more(table, tmp_path, "third")
    with pytest.raises(InputError, match="--out"):
        add_table(run, again)
    with pytest.raises(InputError, match="force"):
        add_table(run, again, out=tmp_path / "run")
    replaced = add_table(run, again, force=True).run
    assert replaced.folder == run.folder
    assert replaced.model().domains_[-1] == "third"
    assert replaced.report.read_text() == "the report of the fit"


def test_strangers_are_added_flagged_and_said(values, table, tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"site": "elsewhere", "x": rng.normal(size=40), "z": 30.0})
    rows.to_csv(tmp_path / "far.csv", index=False)
    result = add_table(values, tmp_path / "far.csv", out=tmp_path / "run", progress=True)
    assert result.off_map == ["elsewhere"]
    assert "1 of 1 domains lie off the map ('elsewhere')" in capsys.readouterr().err
    predicted = predict_table(result.run, tmp_path / "far.csv")
    assert predicted.off_map == ["elsewhere"]
    assert predicted.table["off_map"].all()
    mapped = index_table(result.run).table.set_index("domain")
    assert mapped.loc["elsewhere", "off_map"]
    assert not mapped.drop("elsewhere")["off_map"].any()


def _more(table, folder, name="second"):
    path = folder / f"{name}.csv"
    table[table["site"] == "s4"].assign(site=name).to_csv(path, index=False)
    return path
