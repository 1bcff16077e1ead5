"""Tables without labels, and tables in which all domains have them."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from domindex.cli import app
from domindex.errors import InputError
from domindex.tables import Run, add_table, fit_table, index_table, predict_table


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def mapped(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "map"
    asked = ("--domain", "site", "--exclude", "outcome,dose,latitude", "--no-report")
    result = command("map", data, *asked, "--out", out)
    assert result.exit_code == 0, result.stderr
    return Run.open(out)


def test_a_map_is_a_run_without_targets(mapped):
    assert mapped.targets == ()
    assert "no label was read" in mapped.about["summary"][0]
    table = index_table(mapped).table
    assert table["domain"].tolist() == [f"s{number}" for number in range(8)]
    assert table["distance"].isna().all()


def test_new_domains_are_added_to_a_map(mapped, new_sites, tmp_path):
    added = add_table(mapped, new_sites, out=tmp_path / "more")
    assert len(added.run.model().added_domains_) == 6
    assert "expected_error" not in added.table


@pytest.mark.parametrize("name", ["predict", "score"])
def test_a_map_predicts_nothing(mapped, data, name):
    result = command(name, mapped.folder, data)
    assert result.exit_code == 2
    assert "is a map alone, and predicts nothing" in result.stderr


def test_a_map_takes_no_target(data, tmp_path):
    with pytest.raises(InputError, match="none to predict for a map alone"):
        fit_table(data, target=["dose"], domain="site", method="map", out=tmp_path / "run")


def test_a_table_with_labels_in_every_domain_is_fitted_for_later_ones(table, new_sites, tmp_path):
    known = table[table["site"].isin(["s0", "s1", "s2"])]
    known.to_csv(tmp_path / "all.csv", index=False)
    asked = {"target": ["outcome"], "domain": "site", "exclude": ["dose", "latitude"]}
    run = fit_table(
        tmp_path / "all.csv", out=tmp_path / "run", **asked, settings={"effort": "quick"}
    )
    assert run.about["sources"] == ["s0", "s1", "s2"]
    assert any("All 3 domains have labels." in line for line in run.about["summary"])
    assert run.report is not None
    predicted = predict_table(run, new_sites)
    assert set(predicted.table["outcome"]) <= {"ill", "well"}
    assert isinstance(predicted.table, pd.DataFrame)


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    """A stream without names of domains: a fault is known in the first half."""
    rng, n_rows = np.random.default_rng(0), 400
    level = np.linspace(0, 6, n_rows)
    fault = rng.integers(0, 2, n_rows)
    table = pd.DataFrame({"time": pd.date_range("2024-01-01", periods=n_rows, freq="h")})
    table["a"] = rng.normal(scale=0.3, size=n_rows) + level + fault
    table["b"] = rng.normal(scale=0.3, size=n_rows) - level
    table["fault"] = np.where(np.arange(n_rows) < 200, np.where(fault, "yes", "no"), None)
    path = tmp_path_factory.mktemp("data") / "readings.csv"
    table.to_csv(path, index=False)
    return path


def test_a_stream_is_fitted_by_its_order(readings, tmp_path):
    asked = ("--target", "fault", "--order", "time", "--effort", "quick", "--no-report")
    result = command("fit", readings, *asked, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    run = Run.open(tmp_path / "run")
    assert len(run.model().source_domains_) >= 2
    assert "time" not in run.about["features"]
    predicted = predict_table(run, readings).table
    assert predicted["time"].nunique() == len(run.model().domains_)


def test_an_order_and_a_domain_are_too_much(readings, tmp_path):
    both = ("--order", "time", "--domain", "a", "--out", tmp_path / "map")
    result = command("map", readings, *both)
    assert result.exit_code == 2
    assert "Give one." in result.stderr
