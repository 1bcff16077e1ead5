"""All domains are labelled: a model for domains that nobody has seen yet."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_score

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, VDIClassifier
from domindex.datasets import make_domain_graph
from domindex.errors import InputError
from domindex.evaluation import DomainKFold, cross_validate_domains

FOLLOWING = [("flow", "linear"), ("raw", "linear"), ("domain_standardised", "linear")]


@pytest.fixture(scope="module")
def family():
    return make_domain_graph(n_domains=9, random_state=0)


@pytest.fixture(scope="module")
def rows(family):
    """Those of all domains but the last, named by texts."""
    known = family.sample_domain < 8
    names = [f"d{name}" for name in family.sample_domain[known]]
    return family.X[known], family.y[known], names


@pytest.fixture(scope="module")
def new(family):
    there = family.sample_domain == 8
    return family.X[there], family.y[there]


@pytest.fixture(scope="module")
def model(rows):
    X, y, names = rows
    made = CrossDomainClassifier(candidates=FOLLOWING, effort="quick", random_state=0)
    return made.fit(X, y, sample_domain=names)


def test_every_domain_is_a_source_and_none_is_forecast(model):
    assert model.source_domains_ == model.domains_
    assert len(model.forecast_) == 0
    assert "expected_accuracy" in model.forecast_


def test_it_says_how_each_domain_was_predicted_without_its_labels(model):
    held_out = model.held_out_
    assert held_out["domain"].tolist() == model.domains_
    assert held_out["accuracy"].mean() > held_out["plain"].mean()
    assert "All 8 domains have labels." in model.summary()


def test_a_domain_never_seen_is_predicted_placed_added_and_forecast(model, new):
    X, y = new
    names = ["new"] * len(X)
    assert model.score(X, y, sample_domain=names) > 0.9
    forecast = model.forecast(X, sample_domain=names).iloc[0]
    assert forecast["low"] <= 1.0 <= forecast["high"] + 0.1
    assert model.place_domains(X)["expected_accuracy"].notna().all()
    assert model.add_domains(X, sample_domain=names).forecast_["domain"].tolist() == ["new"]


def test_a_place_stands_for_the_rows_of_a_domain(model, new):
    X, y = new
    place = model.place_domains(X)[["index_1", "index_2"]].to_numpy()[0]
    together = model.predict_proba(X, at=place)
    one_by_one = np.concatenate([model.predict_proba(X[n : n + 1], at=place) for n in range(5)])
    np.testing.assert_allclose(one_by_one, together[:5], atol=1e-12)
    assert (model.predict(X, at=place) == y).mean() > 0.9
    by_name = model.predict(X, sample_domain=["new"] * len(X), at={"new": place})
    np.testing.assert_array_equal(by_name, model.predict(X, at=np.tile(place, (len(X), 1))))


def test_values_at_a_place_have_deviations(rows):
    X, _, names = rows
    made = CrossDomainRegressor(candidates=FOLLOWING, effort="quick", random_state=0)
    made.fit(X, X[:, 0], sample_domain=names)
    mean, deviation = made.predict(X[:3], at=made.domain_indices_[0], return_std=True)
    assert mean.shape == deviation.shape == (3,)
    assert (deviation > 0).all()
    assert made.held_out_.columns.tolist() == ["domain", "error", "plain"]


@pytest.mark.parametrize("at", [[1.0], [[0.0, 0.0]] * 3, [np.nan, 0.0], "north", {"d0": [0, 0]}])
def test_a_place_that_is_none_is_refused(model, rows, at):
    with pytest.raises(InputError, match="at= "):
        model.predict(rows[0][:2], sample_domain=["new"] * 2, at=at)


def test_a_committee_that_needs_rows_says_so(rows):
    X, y, names = rows
    made = CrossDomainClassifier(candidates=FOLLOWING[2:], effort="quick", random_state=0)
    made.fit(X, y, sample_domain=names)
    with pytest.raises(InputError, match=r"every member .* measures rows.*Leave at= out"):
        made.predict(X[:1], at=[0.0, 0.0])


def test_it_is_saved_and_opened(model, new, tmp_path):
    model.save(tmp_path / "model")
    opened = domindex.load(tmp_path / "model")
    names = ["new"] * len(new[0])
    np.testing.assert_array_equal(
        opened.predict_proba(new[0], sample_domain=names),
        model.predict_proba(new[0], sample_domain=names),
    )


def test_the_default_needs_no_targets(rows, new):
    X, y, names = rows
    model = CrossDomainClassifier(effort="quick", random_state=0).fit(X, y, sample_domain=names)
    assert model.score(*new, sample_domain=["new"] * len(new[0])) > 0.9
    assert not model.candidates_["candidate"].str.contains("balanced|coral").any()


def test_few_domains_are_cross_validated(rows):
    X, y, names = rows
    few = np.isin(names, ["d0", "d1", "d2"])
    X, y, names = X[few], y[few], np.array(names)[few]
    model = MomentFlow(LogisticRegression())
    table = cross_validate_domains(model, X, y, sample_domain=names)
    assert sorted(table["domain"]) == ["d0", "d1", "d2"]
    params = {"sample_domain": names}
    with config_context(enable_metadata_routing=True):
        by_fold = cross_val_score(model, X, y, cv=DomainKFold(3), params=params)
        by_group = cross_val_score(
            model, X, y, cv=LeaveOneGroupOut(), params=params | {"groups": names}
        )
    np.testing.assert_array_equal(by_fold, by_group)


def test_a_placeholder_is_no_label(rows):
    X, y, names = rows
    filled = np.where(np.isin(names, ["d6", "d7"]), -1, y)
    with pytest.raises(InputError, match="y is −1"):
        CrossDomainClassifier().fit(X, filled, sample_domain=names)


def test_methods_of_adaptation_still_need_targets(rows):
    X, y, names = rows
    with pytest.raises(InputError, match=r"There is no target domain.*CrossDomainClassifier"):
        VDIClassifier().fit(X, y, sample_domain=names)
