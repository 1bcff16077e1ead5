"""What a report holds, and that it survives JSON."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from domindex import CrossDomainClassifier, Training
from domindex.errors import InputError
from domindex.reporting import ReportData, report_data
from domindex.reporting.columns import aggregate_columns, report_columns

SHORT = {
    "candidates": [("raw", "linear"), ("flow", "linear")],
    "training": Training(index_steps=2, steps=2),
    "random_state": 0,
}


def test_content_survives_json(data):
    text = json.dumps(data.to_dict(), allow_nan=False)
    assert ReportData.from_dict(json.loads(text)) == data


def closed(data: ReportData) -> ReportData:
    """The same report of a map that closes, one way of reaching targets as good as the other."""
    return replace(
        data,
        domains=tuple(
            replace(
                one,
                angle=0.5 * number,
                forecast=one.forecast and replace(one.forecast, two_ways=0.75),
            )
            for number, one in enumerate(data.domains)
        ),
    )


def test_angles_and_ways_survive_json_and_are_not_asked_of_older_reports(data):
    content = closed(data).to_dict()
    assert ReportData.from_dict(json.loads(json.dumps(content))) == closed(data)
    for one in content["domains"]:
        del one["angle"]
        if one["forecast"] is not None:
            del one["forecast"]["two_ways"]
    assert ReportData.from_dict(content) == data


def test_numbers_that_json_lacks_become_nothing(data):
    odd = replace(data, columns={"angle": (math.nan, math.inf, 1.0)})
    assert odd.to_dict()["columns"]["angle"] == [None, None, 1.0]


def test_domains_come_with_role_neighbours_and_distance(data, classifier, sources):
    assert [one.name for one in data.domains] == classifier.domains_
    assert {one.name for one in data.domains if one.role == "source"} == set(sources)
    for one in data.domains:
        assert one.rows == 30
        assert one.name not in one.neighbours
        assert len(one.neighbours) == 4
        assert (one.distance_to_source == 0.0) == (one.role == "source")
        assert (one.held_out_score is not None) == (one.role == "source")
        assert (one.forecast is None) == (one.role == "source")


def test_a_target_has_a_forecast_and_the_worst_is_named_in_words(data, classifier):
    forecasts = {one.name: one.forecast for one in data.domains if one.forecast is not None}
    assert list(forecasts) == classifier.forecast_["domain"].tolist()
    for one in forecasts.values():
        assert 0.0 <= one.low <= one.expected <= one.high <= 1.0
    worst = min(forecasts, key=lambda name: forecasts[name].expected)
    assert data.summary == tuple(classifier.summary().splitlines())
    assert any(f"({worst}, 80 % interval" in line for line in data.summary)


def test_candidates_that_predict_are_shown_with_their_weights(data):
    assert list(data.trials[0]) == ["candidate", "weight", "near loss", "far loss"]
    assert sum(one["weight"] for one in data.trials) == pytest.approx(1.0)


def test_content_of_before_the_forecasts_can_still_be_drawn(data):
    content = data.to_dict()
    del content["summary"]
    for one in content["domains"]:
        del one["forecast"]
    again = ReportData.from_dict(content)
    assert again.summary == ()
    assert all(one.forecast is None for one in again.domains)


def test_neighbours_are_the_nearest_on_the_map(data, classifier):
    apart = classifier.domain_index_.map_distances
    nearest = np.argsort(apart[0])[1]
    assert data.domains[0].neighbours[0] == classifier.domains_[nearest]


def test_columns_of_users_predictions_and_inputs_are_offered(data):
    assert list(data.columns) == [
        "angle",
        "rows",
        "region",
        "predicted share of class 1",
        "mean confidence",
        "input 1",
        "input 2",
    ]
    assert set(data.columns["region"]) == {"north", "<script>alert(1)</script>south"}


def test_quality_is_of_every_source_and_said_in_words(data, sources):
    assert [one.name for one in data.held_out.scores] == sources
    assert "left out in turn" in data.held_out.method
    assert data.held_out.baseline.startswith("Linear on raw inputs")
    assert set(data.held_out.figures) == {"accuracy", "auc", "brier", "log_loss"}
    assert data.held_out.classes == ("0", "1")
    assert len(data.held_out.confusion) == 2


def test_domains_are_compared_in_every_input(data):
    assert [one.name for one in data.profiles] == ["input 1", "input 2"]
    for one in data.domains:
        for difference in one.differences:
            assert difference.from_neighbours + difference.from_sources > 2 * difference.chance
            assert sum(difference.shares) == pytest.approx(1.0, abs=0.05)


def test_what_drives_predictions_is_shown_by_column(data):
    assert {one.column for one in data.drivers} == {"input 1", "input 2"}
    assert data.drivers[0].importance >= data.drivers[1].importance


def test_without_the_data_a_report_lacks_only_what_needs_it(classifier, data):
    alone = report_data(classifier)
    assert alone.audit is None
    assert alone.columns == {}
    assert "without the data" in alone.no_audit
    assert [one.rows for one in alone.domains] == [one.rows for one in data.domains]
    assert alone.held_out == data.held_out
    assert alone.profiles == data.profiles
    assert [one.differences for one in alone.domains] == [one.differences for one in data.domains]


def test_labels_without_inputs_are_refused(classifier, family):
    with pytest.raises(InputError, match="without X"):
        report_data(classifier, y=family.y)


def test_a_table_as_the_user_knows_it_is_compared_instead(classifier, family, names):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": family.X[:, 0], "ward": rng.choice(["a", "b"], len(family.X))})
    table["note"] = [f"secret {number}" for number in range(len(table))]
    is_first = np.array(names) == names[0]
    table.loc[is_first, "age"] = np.nan
    content = report_data(classifier, family.X, family.y, names, table=table, budget=0)
    assert [one.name for one in content.profiles] == ["age", "ward", "note"]
    assert set(content.profiles[1].bins) == {"a", "b", "others"}
    assert "secret" not in json.dumps(content.to_dict())
    first = content.domains[classifier.domains_.index(names[0])]
    assert first.missing[0].share == 1.0
    assert content.profiles[first.missing[0].column].name == "age"


def test_a_report_takes_no_more_time_than_it_is_given(classifier, family, names):
    content = report_data(classifier, family.X, family.y, names, budget=0)
    assert content.audit is None
    assert "more than a quarter" in content.no_audit
    with pytest.raises(InputError, match="budget is -1"):
        report_data(classifier, family.X, family.y, names, budget=-1)


def test_the_audit_speaks_of_three_conditions(data):
    statements = [one.statement for one in data.audit.conditions]
    assert statements == [
        "The encoding z does not reveal the domain",
        "The indices and z together keep the inputs",
        "The encoding z predicts the label in the sources",
    ]
    figures = data.audit.figures
    verdicts = [figures[name] for name in ("independent", "preserves_inputs", "label_sensitive")]
    assert [one.holds for one in data.audit.conditions] == verdicts
    assert all(one.sentences for one in data.audit.conditions)
    assert "of 3 conditions hold" in data.audit.summary


def test_a_regressor_is_scored_by_errors_and_shows_its_candidates(regressor, family, names):
    data = report_data(regressor, family.X, family.X[:, 0] * 2.0, names, budget=0, seconds=1.5)
    assert data.held_out.score_name == "root mean squared error"
    assert not data.held_out.higher_is_better
    assert data.trials[0]["candidate"] == "linear on raw inputs"
    assert data.trials[0]["weight"] == 1.0
    assert all(one.forecast.expected > 0 for one in data.domains if one.role == "target")
    assert data.facts["representation"] == "raw"
    assert data.facts["seconds to fit"] == 1.5
    assert "mean prediction" in data.columns
    assert ReportData.from_dict(data.to_dict()) == data


@pytest.mark.slow
def test_labels_of_targets_change_nothing(data, classifier, family, names):
    hidden = np.where(family.is_source, family.y, 7)
    again = report_data(classifier, family.X, hidden, names, budget=60, title=data.title)
    given = ("angle", "rows", "region")
    without = {name: values for name, values in data.columns.items() if name not in given}
    assert again == replace(data, columns=again.columns)
    assert dict(again.columns) == without


def test_data_too_small_for_an_audit_is_said_not_raised(family):
    rows = np.flatnonzero(family.sample_domain < 3)[::10]
    labels, names = family.y[rows], family.sample_domain[rows]
    labels = np.arange(len(rows)) % 2
    model = CrossDomainClassifier(**SHORT)
    model.fit(family.X[rows], labels, sample_domain=names, source_domains=[0])
    data = report_data(model, family.X[rows], labels, names, budget=60)
    assert "single source" in data.held_out.method
    assert "With one source no domain could be held out" in model.summary()
    assert any(text.startswith("There is one source") for text in data.warnings)
    assert data.audit is None
    assert all(one.differences == () for one in data.domains)
    assert "audit of the index could not be made" in data.no_audit
    assert "fewer than 10 rows" in data.warnings[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "names no format"),
        ({"format": 99}, "has format 99, and this domindex reads 1"),
        ({"format": 1}, "damaged: KeyError"),
    ],
)
def test_other_content_is_refused(content, message):
    with pytest.raises(InputError, match=message):
        ReportData.from_dict(content)


def test_a_model_must_be_fitted_on_these_domains(classifier, family, names):
    with pytest.raises(InputError, match="after fit"):
        report_data(CrossDomainClassifier(), family.X, family.y, names)
    fewer = np.array(names) != names[-1]
    with pytest.raises(InputError, match="the data that the model was fitted on"):
        report_data(classifier, family.X[fewer], family.y[fewer], np.array(names)[fewer])


@pytest.mark.parametrize("table", [dict, pd.DataFrame, pl.DataFrame])
def test_numbers_are_averaged_and_of_texts_the_commonest_counts(table):
    columns = table(
        {"age": [1.0, 3.0, 5.0, None, 5.0, 7.0, 9.0], "kind": ["x", "x", "y", "x", "x", "x", None]}
    )
    found = aggregate_columns(columns, np.array([1, 1, 1, 1, 0, 0, 0]), 2)
    assert found == {"age": (7.0, 3.0), "kind": ("x", "x")}


def test_nothing_is_shown_of_a_single_row():
    columns = {"age": [1.0, 2.0, 3.0, 4.0, 5.0, 47.0], "note": [*"uvwxy", "Mr Smith"]}
    found = aggregate_columns(columns, np.array([0, 0, 0, 0, 0, 1]), 2)
    assert found == {"age": (3.0, None), "note": (None, None)}


def test_columns_must_have_a_value_per_row():
    with pytest.raises(InputError, match="3 values in 'age', but there are 4 rows"):
        aggregate_columns({"age": [1, 2, 3]}, np.array([0, 0, 1, 1]), 2)
    with pytest.raises(InputError, match="columns is a list"):
        aggregate_columns([1, 2], np.array([0, 1]), 2)


class Guess(RegressorMixin, BaseEstimator):
    """A regressor of two domains that predicts zeros."""

    domain_index_ = SimpleNamespace(domains=["a", "b"])
    source_domains_ = ("a",)

    def predict(self, X, *, sample_domain):
        return np.zeros(len(X))

    def _read_rows(self, X):
        return X

    def _input_names(self):
        return None


def test_only_so_many_inputs_are_offered_and_images_as_one():
    notes, row_domains = [], np.array([0, 0, 0, 1, 1, 1])
    columns = report_columns(Guess(), np.ones((6, 70)), [*"aaabbb"], row_domains, None, notes)
    assert list(columns) == ["mean prediction", *(f"input {n}" for n in range(1, 61))]
    assert notes == ["10 of the columns are not offered for colouring the map."]
    images = report_columns(Guess(), np.ones((6, 3, 3)), [*"aaabbb"], row_domains, None, notes)
    assert images == {"mean prediction": (0.0, 0.0), "mean of the inputs": (1.0, 1.0)}
