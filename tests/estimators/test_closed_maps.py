"""Fits on maps that close: angles, flows around the ring, two ways round, saving."""

import json

import numpy as np
import pytest

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, Training
from domindex.datasets import load_dataset, make_circle, make_seasonal
from domindex.evaluation import circular_correlation

SETTINGS = {
    "candidates": [("flow", "linear"), ("with_index", "linear")],
    "training": Training(index_steps=5, steps=5),
    "random_state": 0,
}


def half_turn(n_domains=18, n_rows=40):
    """Two classes opposite each other that turn by 180 degrees, until each is where the other was.

    Inputs come back to where they began, and the rule does not.
    """
    rng = np.random.default_rng(0)
    domains = np.repeat(np.arange(n_domains), n_rows)
    y = np.arange(len(domains)) % 2
    upright = np.column_stack([4.0 * y - 2.0, np.zeros(len(y))]) + 0.3 * rng.normal(
        size=(len(y), 2)
    )
    turn = np.exp(1j * np.pi * domains / n_domains) * (upright @ [1, 1j])
    return np.column_stack([turn.real, turn.imag]), y, domains


@pytest.fixture(scope="module")
def seasonal():
    return make_seasonal(samples_per_domain=30)


@pytest.fixture(scope="module")
def model(seasonal):
    return CrossDomainClassifier(**SETTINGS).fit(
        seasonal.X,
        seasonal.y,
        sample_domain=seasonal.sample_domain,
        source_domains=seasonal.source_domains,
    )


@pytest.fixture(scope="module")
def turned():
    X, y, domains = half_turn()
    model = CrossDomainClassifier(**SETTINGS | {"candidates": [("flow", "linear")]})
    return model.fit(X, y, sample_domain=domains, source_domains=range(5))


def test_months_get_the_angles_that_they_have(model, seasonal):
    assert model.domain_angles_.shape == (24,)
    truth = seasonal.true_index[:, 0]
    assert circular_correlation(model.domain_angles_, truth, seasonal.period) > 0.99


def test_a_rule_that_holds_all_year_is_carried_around_the_ring(model, seasonal):
    assert model.flow_["around"]
    rows = ~seasonal.is_source
    names = seasonal.sample_domain[rows]
    assert model.score(seasonal.X[rows], seasonal.y[rows], sample_domain=names) > 0.97


def test_both_ways_round_the_year_agree_and_the_summary_says_so(model):
    assert (model.forecast_["two_ways"] > 0.9).all()
    assert "The map closes: the domains lie on a ring (0, " in model.summary()
    assert "both give the same answers" in model.summary()


def test_a_new_month_gets_its_angle_and_its_predictions(model, seasonal):
    rows = seasonal.sample_domain == 8
    names = ["new"] * rows.sum()
    (found,) = model.place_domains(seasonal.X[rows], sample_domain=names)["angle"]
    assert abs(np.exp(1j * found) - np.exp(1j * model.domain_angles_[8])) < 0.1
    known = model.predict(seasonal.X[rows], sample_domain=[8] * rows.sum())
    new = model.predict(seasonal.X[rows], sample_domain=names)
    assert (known == new).mean() > 0.95
    (unnamed,) = model.place_domains(seasonal.X[rows])["angle"]
    assert unnamed == pytest.approx(found)


def test_a_closed_model_is_saved_and_opened_as_it_was(model, seasonal, tmp_path):
    model.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    np.testing.assert_array_equal(again.domain_angles_, model.domain_angles_)
    assert again.summary() == model.summary()
    names = ["new"] * len(seasonal.X)
    for given in (seasonal.sample_domain, names):
        np.testing.assert_array_equal(
            again.predict_proba(seasonal.X, sample_domain=given),
            model.predict_proba(seasonal.X, sample_domain=given),
        )


def test_an_open_model_is_saved_as_before_maps_could_close(tmp_path):
    family = make_circle(n_domains=8, n_sources=3, samples_per_domain=20)
    open_model = CrossDomainClassifier(**SETTINGS).fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    assert open_model.domain_angles_ is None
    assert "two_ways" not in open_model.forecast_
    assert "closes" not in open_model.summary()
    placed = open_model.place_domains(family.X, sample_domain=family.sample_domain)
    assert "angle" not in placed
    open_model.save(tmp_path / "model")
    written = json.loads((tmp_path / "model" / "model.json").read_text())
    assert not any(word in json.dumps(written) for word in ('"loop"', '"angles"', '"closes"'))
    assert domindex.load(tmp_path / "model").domain_angles_ is None


def test_where_two_ways_round_differ_the_forecast_says_so(turned):
    forecast = turned.forecast_.set_index("domain")
    assert (forecast.loc[8:14, "two_ways"] < 0.1).all()
    assert (forecast.loc[8:14, "low"] < 0.1).all()
    assert forecast.loc[5, "two_ways"] == 1.0
    assert forecast.loc[5, "low"] > 0.8
    assert "Two ways round the map give different answers in " in turned.summary()


def test_what_inputs_cannot_tell_is_right_one_way_round_only(turned):
    X, y, domains = half_turn()
    right = [
        turned.score(X[domains == k], y[domains == k], sample_domain=domains[domains == k])
        for k in range(18)
    ]
    assert min(right[:10]) > 0.95  # reached as they turned
    assert max(right[12:]) < 0.05  # reached the other way: every class is the other


@pytest.mark.full
def test_errors_of_values_are_wider_where_the_ways_differ():
    X, y, domains = half_turn()
    model = CrossDomainRegressor(**SETTINGS | {"candidates": [("flow", "linear")]})
    model.fit(X, 2.0 * y, sample_domain=domains, source_domains=range(5))
    forecast = model.forecast_.set_index("domain")
    assert (forecast.loc[8:14, "two_ways"] < 0.1).all()
    assert (forecast.loc[8:14, "high"] > 1.0).all()
    assert forecast.loc[5, "high"] < 0.5


def test_moment_flow_runs_around_the_ring(seasonal):
    model = MomentFlow().fit(
        seasonal.X,
        seasonal.y,
        sample_domain=seasonal.sample_domain,
        source_domains=seasonal.source_domains,
    )
    assert model.domain_angles_ is not None
    assert model.family_ == "spin"
    assert model.misfit_ < 1.1
    new = model.transform(seasonal.X[:30], sample_domain=["new"] * 30)
    known = model.transform(seasonal.X[:30], sample_domain=seasonal.sample_domain[:30])
    np.testing.assert_allclose(new, known, atol=0.5)


@pytest.fixture(scope="module")
def digits():
    """8 x 8 digits that turn by half a circle, and a fit that follows them over their grid."""
    data = load_dataset("rotating-digits")
    model = CrossDomainClassifier(**SETTINGS | {"candidates": [("grid_flow", "neighbours")]})
    model.fit(data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains)
    return model, data


@pytest.mark.full
def test_digits_that_turn_by_half_a_circle_lie_on_a_ring(digits):
    model, data = digits
    truth = [data.true_index[data.domains.index(name), 0] for name in model.domains_]
    assert model.domain_angles_ is not None
    assert circular_correlation(model.domain_angles_, truth, data.period) > 0.99


@pytest.mark.full
def test_digits_are_turned_back_around_the_ring(digits):
    model, data = digits
    assert model.grid_flow_["around"]
    right = model.predict(data.X, sample_domain=data.sample_domain) == data.y
    by_angle = {angle: right[data.sample_domain == angle].mean() for angle in data.domains}
    assert min(by_angle[angle] for angle in range(50, 111, 10)) > 0.8  # raw: down to 0.25
    assert max(by_angle[angle] for angle in range(120, 171, 10)) < 0.6  # seen upside down


@pytest.mark.full
def test_where_digits_may_be_upside_down_the_forecast_says_so(digits, tmp_path):
    model, data = digits
    forecast = model.forecast_.set_index("domain")
    assert (forecast.loc[90:140, "two_ways"] < 0.6).all()
    model.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    rows = slice(0, 1797, 9)
    names = data.sample_domain[rows]
    expected = model.predict_proba(data.X[rows], sample_domain=names)
    assert np.array_equal(again.predict_proba(data.X[rows], sample_domain=names), expected)
    assert again.grid_flow_ == model.grid_flow_
