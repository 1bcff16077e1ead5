"""Committees end to end, on small data."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.committee import context as fit_context
from domindex.committee.committee import PredictorMember
from domindex.datasets import make_circle
from domindex.errors import InputError, PredictorError

QUICK = {"training": Training(index_steps=3, steps=3), "random_state": 0}
SEVERAL = [
    ("raw", "linear"),
    ("domain_standardised", "trees"),
    ("with_index", "boosting"),
    ("flow", "linear"),
]
LINEAR = {
    "candidates": [("raw", "linear"), ("domain_standardised", "linear")],
    "effort": "quick",
    **QUICK,
}


class Faulty:
    """Predicts nothing, or does not even learn."""

    def __init__(self, fault="nan"):
        self.fault = fault

    def fit(self, X, y):
        if self.fault == "raise":
            raise RuntimeError("I would rather not")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), np.nan)

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


def line(n_domains=6, n_rows=24, seed=0):
    """Clouds along a line; the class lies across it."""
    rng = np.random.default_rng(seed)
    place = np.repeat(np.arange(n_domains), n_rows)
    across = rng.normal(size=len(place))
    X = np.column_stack([2.0 * place + rng.normal(size=len(place)), across])
    return X, (across > 0).astype(int), np.array([f"d{k}" for k in place]), across


def fit(model, X, y, domain, n_sources=4, **how):
    sources = [f"d{k}" for k in range(n_sources)]
    return model.fit(X, y, sample_domain=domain, source_domains=sources, **how)


@pytest.fixture(scope="module")
def several():
    X, y, domain, _ = line()
    return fit(CrossDomainClassifier(candidates=SEVERAL, **QUICK), X, y, domain), X, domain


@pytest.fixture(scope="module")
def values():
    X, _, domain, across = line()
    y = np.column_stack([across, X[:, 0] - across])
    return fit(CrossDomainRegressor(candidates=SEVERAL, **QUICK), X, y, domain), X, domain


def test_the_mean_of_several_members_predicts(several):
    model, X, domain = several
    y = (X[:, 1] > 0).astype(int)
    target = np.isin(domain, ["d4", "d5"])
    assert model.score(X[target], y[target], sample_domain=domain[target]) > 0.85
    assert model.candidates_["weight"].sum() == pytest.approx(1.0)
    tried = set(model.candidates_["predictor"])
    assert {"linear", "trees", "boosting"} <= tried


def test_what_stands_in_targets_labels_changes_nothing(several):
    model, X, domain = several
    y = np.where(np.isin(domain, ["d4", "d5"]), -7, X[:, 1] > 0)
    again = fit(CrossDomainClassifier(candidates=SEVERAL, **QUICK), X, y, domain)
    asked = {"sample_domain": domain}
    assert again.predict_proba(X, **asked).tobytes() == model.predict_proba(X, **asked).tobytes()
    pd.testing.assert_frame_equal(again.forecast_, model.forecast_)
    pd.testing.assert_frame_equal(again.candidates_, model.candidates_)


def test_a_saved_committee_predicts_and_forecasts_the_same(several, tmp_path):
    model, X, domain = several
    model.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    for names in (domain, ["never seen"] * len(X)):
        assert (
            again.predict_proba(X, sample_domain=names).tobytes()
            == model.predict_proba(X, sample_domain=names).tobytes()
        )
    pd.testing.assert_frame_equal(again.forecast_, model.forecast_)
    pd.testing.assert_frame_equal(
        again.forecast(X, sample_domain=domain), model.forecast(X, sample_domain=domain)
    )
    pd.testing.assert_frame_equal(again.candidates_, model.candidates_)
    assert again.summary() == model.summary()
    assert again.candidates == model.candidates


def test_a_saved_committee_of_values_predicts_and_forecasts_the_same(values, tmp_path):
    model, X, domain = values
    model.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    for names in (domain, ["never seen"] * len(X)):
        for one, other in zip(
            again.predict(X, sample_domain=names, return_std=True),
            model.predict(X, sample_domain=names, return_std=True),
        ):
            assert one.tobytes() == other.tobytes()
    pd.testing.assert_frame_equal(again.forecast_, model.forecast_)


def test_a_domain_never_seen_goes_through_every_member(several, monkeypatch):
    model, X, domain = several
    asked = []
    predict = PredictorMember.predict

    def watch(self, rows, indices):
        asked.append(self)
        return predict(self, rows, indices)

    monkeypatch.setattr(PredictorMember, "predict", watch)
    rows = domain == "d4"
    found = model.predict_proba(X[rows], sample_domain=["new"] * rows.sum())
    assert [id(one) for one in asked] == [id(one) for one in model._committee.members]
    known = model.predict_proba(X[rows], sample_domain=domain[rows])
    np.testing.assert_allclose(found, known, atol=0.05)


def test_a_forecast_has_a_row_for_each_target_and_can_be_asked_of_any_rows(several):
    model, X, _ = several
    assert model.forecast_["domain"].tolist() == ["d4", "d5"]
    assert (model.forecast_["nearest"] == "d3").all()
    assert model.forecast_["distance"].is_monotonic_increasing
    told = model.forecast(X[:10])
    assert told["rows"].tolist() == [10]
    assert told["expected_accuracy"].between(0, 1).all()


def test_a_summary_names_members_and_what_to_expect(several):
    model, _, _ = several
    told = model.summary()
    assert told.startswith("Predictions: ")
    assert "%" in told
    assert "Expected accuracy by target domain" in told


@pytest.mark.parametrize(
    "kind", [CrossDomainClassifier, pytest.param(CrossDomainRegressor, marks=pytest.mark.full)]
)
def test_trees_in_threads_are_those_of_one_thread(kind, monkeypatch):
    X, y, domain, _ = line(n_domains=4, n_rows=12)
    pairs = [("raw", "linear"), ("raw", "boosting"), ("raw", "trees"), ("with_means", "trees")]
    alone = fit(kind(candidates=pairs, n_jobs=1, **QUICK), X, y, domain, 2)
    monkeypatch.setattr(fit_context, "available_threads", lambda: 3)
    together = fit(kind(candidates=pairs, **QUICK), X, y, domain, 2)
    pd.testing.assert_frame_equal(alone.candidates_, together.candidates_)
    predicted = [model.predict(X, sample_domain=domain) for model in (alone, together)]
    np.testing.assert_array_equal(*predicted)


def test_little_effort_takes_few_steps_for_the_indices_unless_told():
    X, y, domain, _ = line(n_domains=4, n_rows=10)
    pairs = [("raw", "linear")]
    short = fit(
        CrossDomainClassifier(candidates=pairs, effort="quick", random_state=0), X, y, domain, 2
    )
    told = fit(CrossDomainClassifier(candidates=pairs, effort="quick", **QUICK), X, y, domain, 2)
    assert (len(short.history_), len(told.history_)) == (50, 3)


def test_an_estimator_without_probabilities_is_named():
    X, y, domain, _ = line()
    pairs = [("raw", "linear"), ("raw", SVC())]
    with pytest.raises(InputError, match="SVC, which has no predict_proba"):
        fit(CrossDomainClassifier(candidates=pairs, **QUICK), X, y, domain)


@pytest.mark.parametrize("fault", ["nan", "raise"])
def test_one_that_fails_is_left_out_with_a_warning_where_there_are_others(fault):
    X, y, domain, _ = line()
    pairs = [("raw", "linear"), ("raw", Faulty(fault))]
    with pytest.warns(UserWarning, match="Faulty on raw is left out"):
        model = fit(CrossDomainClassifier(candidates=pairs, **QUICK), X, y, domain)
    assert model.candidates_["candidate"].tolist()[0].endswith("linear on raw")
    assert "Faulty" not in set(model.candidates_["predictor"])


@pytest.mark.parametrize("fault", ["nan", "raise"])
def test_one_that_fails_alone_is_named(fault):
    X, y, domain, _ = line()
    with pytest.raises(PredictorError, match="'Faulty'"):
        fit(CrossDomainClassifier(candidates=[("raw", Faulty(fault))], **QUICK), X, y, domain)


def test_a_users_estimator_stands_beside_others():
    X, y, domain, _ = line()
    mine = GaussianNB()
    pairs = [("raw", mine), ("domain_standardised", LogisticRegression()), ("raw", "linear")]
    model = fit(CrossDomainClassifier(candidates=pairs, **QUICK), X, y, domain)
    assert {"GaussianNB", "LogisticRegression"} <= set(model.candidates_["predictor"])
    assert not hasattr(mine, "classes_"), "the user's own stays as it is"


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"candidates": []}, "Pass a list of pairs"),
        ({"candidates": "raw"}, "Pass a list of pairs"),
        ({"candidates": [("raw",)]}, "Pass a list of pairs"),
        ({"candidates": [("rwa", "linear")]}, "no representation 'rwa'"),
        ({"candidates": [("raw", "liner")]}, "no predictor 'liner'"),
        ({"candidates": [("raw", "linear")], "predictor": "trees"}, "Give one or the other"),
        ({"candidates": [("raw", "network"), ("flow", "network")]}, "network twice"),
        ({"effort": "lazy"}, "effort is 'lazy'"),
        ({"class_weight": "equal"}, "class_weight is 'equal'"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(settings, word):
    X, y, domain, _ = line()
    with pytest.raises(InputError, match=word):
        fit(CrossDomainClassifier(**QUICK, **settings), X, y, domain)


def test_a_class_in_one_source_only_can_be_predicted():
    X, y, domain, across = line()
    y = np.where((domain == "d1") & (across > 1.0), 2, y)
    model = fit(CrossDomainClassifier(**LINEAR), X, y, domain)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.predict_proba(X, sample_domain=domain)).all()


def test_a_source_with_one_class_is_no_trouble():
    X, y, domain, _ = line()
    y = np.where(domain == "d2", 1, y)
    model = fit(CrossDomainClassifier(**LINEAR), X, y, domain)
    assert np.isfinite(model.predict_proba(X, sample_domain=domain)).all()


@pytest.mark.parametrize("n_sources", [1, 2])
def test_every_source_with_a_class_of_its_own_is_no_trouble(n_sources):
    X, _, domain, across = line()
    y = (across > 0).astype(int) if n_sources == 1 else (domain == "d0").astype(int)
    model = fit(CrossDomainClassifier(**LINEAR), X, y, domain, n_sources)
    assert np.isfinite(model.predict_proba(X, sample_domain=domain)).all()


def test_a_constant_output_is_predicted_as_it_is():
    X, _, domain, _ = line()
    model = fit(CrossDomainRegressor(**LINEAR), X, np.full(len(X), 3.5), domain)
    mean, deviation = model.predict(X, sample_domain=domain, return_std=True)
    np.testing.assert_allclose(mean, 3.5)
    assert (deviation > 0).all()
    assert np.isfinite(model.forecast_["expected_error"]).all()


@pytest.mark.parametrize("kind", [CrossDomainClassifier, CrossDomainRegressor])
@pytest.mark.parametrize(("n_domains", "n_sources"), [(2, 1), (3, 2), (5, 1)])
def test_one_or_two_sources_are_enough(kind, n_domains, n_sources):
    X, y, domain, across = line(n_domains)
    labels = y if kind is CrossDomainClassifier else across
    model = fit(kind(**LINEAR), X, labels, domain, n_sources)
    target = domain == f"d{n_domains - 1}"
    score = model.score(X[target], labels[target], sample_domain=domain[target])
    assert score > (0.8 if n_domains < 5 else 0.3)  # far from a single source nothing is promised
    assert len(model.forecast_) == n_domains - n_sources


def test_rows_of_weight_zero_have_no_say():
    X, y, domain, _ = line()
    weights = np.ones(len(X))
    weights[::3] = 0.0
    wrong = np.where(weights == 0, 1 - y, y)
    first, second = (
        fit(CrossDomainClassifier(**LINEAR), X, labels, domain, sample_weight=weights)
        for labels in (y, wrong)
    )
    asked = {"sample_domain": domain}
    np.testing.assert_array_equal(first.predict_proba(X, **asked), second.predict_proba(X, **asked))
    pd.testing.assert_frame_equal(first.forecast_, second.forecast_)


def test_values_of_weight_zero_have_no_say():
    X, _, domain, across = line()
    weights = np.ones(len(X))
    weights[domain == "d1"] = 0.0
    wrong = np.where(weights == 0, 1e6, across)
    first, second = (
        fit(CrossDomainRegressor(**LINEAR), X, labels, domain, sample_weight=weights)
        for labels in (across, wrong)
    )
    for one, other in zip(
        first.predict(X, sample_domain=domain, return_std=True),
        second.predict(X, sample_domain=domain, return_std=True),
    ):
        np.testing.assert_array_equal(one, other)


def test_one_source_that_counts_among_two_is_enough():
    X, y, domain, _ = line()
    weights = np.where(domain == "d0", 0.0, 1.0)
    model = fit(CrossDomainClassifier(**LINEAR), X, y, domain, 2, sample_weight=weights)
    assert np.isfinite(model.predict_proba(X, sample_domain=domain)).all()


def test_balanced_classes_find_more_of_the_rare_one():
    X, _, domain, across = line(n_rows=60)
    noisy = across + 0.8 * np.random.default_rng(1).normal(size=len(across))
    y = np.where(noisy > 1.3, "rare", "common")
    settings = {"predictor": "linear", "representation": "raw", **QUICK}
    plain, balanced, named = (
        fit(CrossDomainClassifier(class_weight=weight, **settings), X, y, domain)
        for weight in (None, "balanced", {"rare": 50.0})
    )
    found = [
        np.mean(model.predict(X, sample_domain=domain) == "rare")
        for model in (plain, balanced, named)
    ]
    assert found[0] < found[1] < found[2]


def test_weights_of_classes_are_saved(tmp_path):
    X, y, domain, _ = line()
    settings = {"predictor": "linear", "representation": "raw", **QUICK}
    for number, weight in enumerate(["balanced", {0: 1.0, 1: 2.0}]):
        model = fit(CrossDomainClassifier(class_weight=weight, **settings), X, y, domain)
        model.save(tmp_path / str(number))
        assert domindex.load(tmp_path / str(number)).class_weight == weight


@pytest.mark.full
def test_the_default_solves_a_rotating_family():
    family = make_circle(n_domains=12, n_sources=5, samples_per_domain=40, random_state=0)
    model = CrossDomainClassifier(**QUICK).fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    target = ~family.is_source
    score = model.score(
        family.X[target], family.y[target], sample_domain=family.sample_domain[target]
    )
    assert score > 0.9
    assert abs(model.forecast_["expected_accuracy"].mean() - score) < 0.15
    assert {"linear", "kernel", "trees", "boosting"} <= set(model.candidates_["predictor"])


@pytest.mark.slow
def test_little_effort_tries_linear_rules_and_trees():
    X, y, domain, _ = line()
    model = fit(CrossDomainClassifier(effort="quick", **QUICK), X, y, domain)
    assert set(model.candidates_["predictor"]) == {"linear", "trees"}


def test_a_network_that_was_asked_for_is_tried_in_haste_too():
    family = make_circle(n_domains=6, n_sources=3, samples_per_domain=20, random_state=0)
    asked = [("raw", "linear"), ("flow", "network")]
    model = CrossDomainClassifier(candidates=asked, effort="quick", **QUICK)
    model.fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    assert set(model.candidates_["candidate"]) == {"linear on raw", "network on flow"}


def test_a_distance_has_one_unit_wherever_it_stands():
    family = make_circle(n_domains=8, n_sources=3, samples_per_domain=30, random_state=0)
    model = CrossDomainClassifier(
        candidates=[("raw", "linear")], training=Training(steps=1, index_steps=1), random_state=0
    )
    roles = {"sample_domain": family.sample_domain, "source_domains": family.source_domains}
    model.fit(family.X, family.y, **roles)
    for one in (model, model.add_domains(family.X[-20:] + 0.1, sample_domain=["new"] * 20)):
        forecast = one.forecast_.set_index("domain")["distance"]
        shown = one.map_.set_index("domain")["distance"]
        np.testing.assert_allclose(forecast, shown[forecast.index])
