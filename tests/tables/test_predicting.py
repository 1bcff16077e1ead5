"""Predictions for a table: the same as the model's own, in the order of the rows."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from domindex.cli import app
from domindex.datasets import make_seasonal
from domindex.errors import InputError
from domindex.tables import fit_table, index_table, predict_table


def test_classes_come_with_their_probabilities(classes, data, table):
    predicted = predict_table(classes, data).table
    assert list(predicted.columns) == [
        "site",
        "outcome",
        "p(ill)",
        "p(well)",
        "distance",
        "off_map",
    ]
    assert predicted["site"].tolist() == table["site"].tolist()
    chances = predicted[["p(ill)", "p(well)"]].to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    likeliest = np.array(["ill", "well"])[chances.argmax(axis=1)]
    assert predicted["outcome"].tolist() == likeliest.tolist()


def test_a_class_that_is_dear_to_miss_is_said_more_often(classes, values, data, tmp_path):
    plain = predict_table(classes, data).table
    dear = predict_table(classes, data, costs={"ill": 4}).table
    chances = plain[["p(ill)", "p(well)"]].to_numpy()
    np.testing.assert_array_equal(dear[["p(ill)", "p(well)"]].to_numpy(), chances)
    assert ((dear["outcome"] == "ill") == (4 * chances[:, 0] >= chances[:, 1])).all()
    asked = ["predict", classes.folder, data, "--out", tmp_path / "p.csv", "--cost", "ill=4"]
    assert CliRunner().invoke(app, list(map(str, asked))).exit_code == 0
    assert pd.read_csv(tmp_path / "p.csv")["outcome"].tolist() == dear["outcome"].tolist()
    refused = CliRunner().invoke(app, list(map(str, [*asked[:-1], "ill", "--force"])))
    assert "Write CLASS=NUMBER, such as ill=5." in refused.output
    with pytest.raises(InputError, match=r"Costs name 'sick'; the classes are 'ill', 'well'\."):
        predict_table(classes, data, costs={"sick": 4})
    with pytest.raises(InputError, match="Give numbers above 0"):
        predict_table(classes, data, costs={"ill": 0})
    with pytest.raises(InputError, match="this run predicts values"):
        predict_table(values, data, costs={"ill": 4})


def test_predictions_are_the_models_own_whatever_the_order_of_the_rows(values, table, tmp_path):
    shuffled = table.sample(frac=1.0, random_state=0)
    shuffled.to_csv(tmp_path / "a.csv", index=False)
    predicted = predict_table(values, tmp_path / "a.csv").table
    mean, deviation = values.model().predict(shuffled, sample_domain="site", return_std=True)
    np.testing.assert_allclose(predicted["dose"], mean, rtol=1e-12)
    np.testing.assert_allclose(predicted["std(dose)"], deviation, rtol=1e-12)


def test_distances_are_zero_in_sources_and_count_spacings_elsewhere(classes, data):
    by_site = predict_table(classes, data).table.groupby("site")["distance"].first()
    assert (by_site[["s0", "s1", "s2"]] == 0).all()
    assert (by_site[["s3", "s4", "s5", "s6", "s7"]] > 0).all()
    assert by_site["s7"] == by_site.max()


def test_domains_never_seen_are_placed(classes, data, new_sites):
    result = predict_table(classes, new_sites)
    assert result.new_domains == [f"new-s{n}" for n in range(2, 8)]
    assert predict_table(classes, data).new_domains == []
    known = predict_table(classes, data).table.groupby("site")["distance"].first()
    placed = result.table.groupby("site")["distance"].first()
    assert abs(placed["new-s7"] - known["s7"]) < abs(placed["new-s7"] - known["s3"])


def test_a_table_without_targets_is_enough(classes, table, tmp_path):
    bare = table[["color", "z", "x", "site"]]
    bare.to_csv(tmp_path / "a.csv", index=False)
    assert len(predict_table(classes, tmp_path / "a.csv").table) == len(table)


def test_a_table_without_an_input_or_a_domain_is_refused(classes, table, tmp_path):
    for lost, role in (("x", "inputs"), ("site", "domain")):
        table.drop(columns=lost).to_csv(tmp_path / "a.csv", index=False)
        with pytest.raises(InputError, match=f"no column '{lost}' for the {role}"):
            predict_table(classes, tmp_path / "a.csv")


def test_the_map_names_roles_and_neighbours(classes):
    index = index_table(classes.folder)
    table = index.table
    assert list(table.columns) == [
        *("domain", "role", "x1", "x2", "std1", "std2", "distance", "off_map"),
        *("nearest1", "nearest2", "nearest3"),
    ]
    assert table["role"].tolist() == ["source"] * 3 + ["target"] * 5
    model = classes.model()
    np.testing.assert_array_equal(table[["x1", "x2"]], model.domain_indices_)
    np.testing.assert_array_equal(table[["std1", "std2"]], model.domain_index_std_)
    assert set(index.graph.nodes) == set(table["domain"])
    for name, nearest in zip(table["domain"], table["nearest1"]):
        assert index.graph.has_edge(name, nearest)


def test_new_domains_join_the_map_and_move_nothing(classes, new_sites):
    before, after = index_table(classes).table, index_table(classes, new_sites).table
    assert after["role"].tolist()[len(before) :] == ["new"] * 6
    coordinates = ["domain", "x1", "x2", "std1", "std2", "distance"]
    pd.testing.assert_frame_equal(after[coordinates].iloc[: len(before)], before[coordinates])
    twin = after.set_index("domain").loc["new-s7", ["nearest1", "nearest2", "nearest3"]]
    assert "s7" in twin.tolist()


def test_a_map_that_closes_has_a_column_of_angles(tmp_path):
    months = make_seasonal(samples_per_domain=20)
    table = pd.DataFrame(months.X, columns=list("abcd"))
    table["month"] = [f"m{number:02d}" for number in months.sample_domain]
    table["side"] = np.where(months.is_source, np.array(["in", "out"])[months.y], None)
    table.to_csv(tmp_path / "months.csv", index=False)
    later = table[months.sample_domain == 7].assign(month="next")
    later.to_csv(tmp_path / "later.csv", index=False)
    settings = {
        "candidates": [["flow", "linear"]],
        "training": {"index_steps": 2, "steps": 2},
    }
    run = fit_table(
        tmp_path / "months.csv",
        target=["side"],
        domain="month",
        out=tmp_path / "run",
        settings=settings,
        report=False,
    )
    index = index_table(run, tmp_path / "later.csv")
    angles = index.table.set_index("domain")["angle"]
    np.testing.assert_array_equal(angles.iloc[:24], run.model().domain_angles_)
    assert abs(np.exp(1j * angles["next"]) - np.exp(1j * angles["m07"])) < 0.2
    assert index.graph.nodes["next"]["angle"] == angles["next"]
