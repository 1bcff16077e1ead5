"""The closed form alone, in front of any scikit-learn model."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

from domindex import MomentFlow
from domindex.datasets import load_dataset, make_circle
from domindex.errors import FlowWarning, InputError, NoDomainWarning
from domindex.evaluation import index_correlation


def fit(model, family):
    return model.fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )


def target_accuracy(model, family) -> float:
    target = ~family.is_source
    predicted = model.predict(family.X[target], sample_domain=family.sample_domain[target])
    return float(np.mean(predicted == family.y[target]))


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=20, samples_per_domain=60, random_state=0)


@pytest.fixture(scope="module")
def fitted(family):
    return fit(MomentFlow(LogisticRegression()), family)


def test_a_linear_model_on_aligned_inputs_holds_where_one_on_raw_inputs_fails(family, fitted):
    sources = family.is_source
    raw = LogisticRegression().fit(family.X[sources], family.y[sources])
    assert raw.score(family.X[~sources], family.y[~sources]) < 0.8
    assert target_accuracy(fitted, family) > 0.95
    assert fitted.family_ == "spin"
    assert index_correlation(fitted.domain_indices_, family.true_index) > 0.99


def test_aligned_domains_coincide(family):
    model = fit(MomentFlow(), family)
    aligned = model.transform(family.X, sample_domain=family.sample_domain)
    means = np.stack([aligned[family.sample_domain == k].mean(axis=0) for k in family.domains])
    raw_means = np.stack([family.X[family.sample_domain == k].mean(axis=0) for k in family.domains])
    assert np.ptp(means, axis=0).max() < 0.2 * np.ptp(raw_means, axis=0).max()
    assert model.misfit_ < 1.15


def test_a_new_domain_is_placed_and_predicted(family, fitted):
    rows = family.sample_domain == 15
    named = fitted.predict_proba(family.X[rows], sample_domain=family.sample_domain[rows])
    renamed = fitted.predict_proba(family.X[rows], sample_domain=["new"] * rows.sum())
    np.testing.assert_allclose(named, renamed, atol=0.1)
    np.testing.assert_array_equal(renamed, fitted.predict_proba(family.X[rows]))


def test_regressors_work_too(family):
    values = family.X @ np.array([1.0, 2.0]) + 0.5
    model = MomentFlow(Ridge()).fit(
        family.X,
        values,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    assert model.predict(family.X, sample_domain=family.sample_domain).shape == values.shape


def test_whole_numbers_are_values_for_a_regressor(family):
    model = fit(MomentFlow(Ridge()), family)
    assert model.task_ == "regression"
    assert len(np.unique(model.predict(family.X, sample_domain=family.sample_domain))) > 2
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "classes_")


def test_several_outputs_come_back_side_by_side(family):
    values = np.column_stack([family.X.sum(axis=1), family.X[:, 0]])
    hidden = np.where(family.is_source[:, None], values, np.nan)
    model = MomentFlow(Ridge()).fit(
        family.X, hidden, sample_domain=family.sample_domain, source_domains=family.source_domains
    )
    assert model.predict(family.X, sample_domain=family.sample_domain).shape == values.shape


def test_a_score_is_the_accuracy_or_the_share_of_variance(family, fitted):
    target = ~family.is_source
    rows = {"sample_domain": family.sample_domain[target]}
    scored = fitted.score(family.X[target], family.y[target], **rows)
    assert scored == target_accuracy(fitted, family)
    weights = np.zeros(target.sum())
    weights[0] = 1.0
    first = fitted.predict(family.X[target], **rows)[0] == family.y[target][0]
    assert fitted.score(family.X[target], family.y[target], weights, **rows) == float(first)
    regressor = fit(MomentFlow(Ridge()), family)
    predicted = regressor.predict(family.X, sample_domain=family.sample_domain)
    share = 1.0 - ((predicted - family.y) ** 2).mean() / family.y.var()
    scored = regressor.score(family.X, family.y, sample_domain=family.sample_domain)
    assert scored == pytest.approx(share)


def test_what_it_was_fitted_to_can_be_read(family, fitted):
    assert fitted.domains_ == list(family.domains)
    assert set(fitted.source_domains_) == set(family.source_domains)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.domain_indices_.shape == (20, 2)
    assert fitted.domain_index_.domains == tuple(family.domains)
    assert is_classifier(fitted)
    assert is_regressor(MomentFlow(Ridge()))
    assert clone(fitted).get_params()["estimator__C"] == 1.0


def test_target_labels_are_never_read(family):
    spoiled = np.where(family.is_source, family.y, 7)
    honest = fit(MomentFlow(LogisticRegression()), family)
    blind = MomentFlow(LogisticRegression()).fit(
        family.X, spoiled, sample_domain=family.sample_domain, source_domains=family.source_domains
    )
    rows = {"sample_domain": family.sample_domain}
    np.testing.assert_array_equal(
        honest.predict_proba(family.X, **rows), blind.predict_proba(family.X, **rows)
    )


def test_fitting_and_transforming_at_once_is_fitting_and_then_transforming(family):
    given = {"sample_domain": family.sample_domain, "source_domains": family.source_domains}
    at_once = MomentFlow().fit_transform(family.X, family.y, **given)
    model = fit(MomentFlow(), family)
    np.testing.assert_allclose(
        at_once, model.transform(family.X, sample_domain=family.sample_domain)
    )


def test_pictures_of_another_shape_are_refused(family):
    model = MomentFlow(LogisticRegression()).fit(
        np.stack([family.X, family.X], axis=1),
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    with pytest.raises(InputError, match=r"rows of shape \(2, 1\), but fit saw \(2, 2\)"):
        model.transform(family.X[:, :, None])


def test_without_an_estimator_there_is_nothing_to_predict_with(family):
    assert not hasattr(MomentFlow(), "predict")
    assert not hasattr(MomentFlow(), "predict_proba")
    assert not hasattr(fit(MomentFlow(), family), "estimator_")
    with pytest.raises(NotFittedError):
        MomentFlow().transform(family.X)


@pytest.mark.parametrize(
    ("name", "floor"),
    [
        ("dg-15", 0.995),
        pytest.param("circle", 0.98, marks=pytest.mark.full),
        pytest.param("dg-60", 0.995, marks=pytest.mark.full),
    ],
)
def test_the_papers_datasets_are_solved_without_training(paper_data, name, floor):
    dataset = load_dataset(name, paper_data)
    assert target_accuracy(fit(MomentFlow(LogisticRegression()), dataset), dataset) >= floor


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_aligned_inputs_come_as_a_frame_where_asked_for(family, kind):
    frames = pytest.importorskip(kind)
    model = fit(MomentFlow(), family)
    plain = model.transform(family.X, sample_domain=family.sample_domain)
    told = model.set_output(transform=kind).transform(family.X, sample_domain=family.sample_domain)
    assert isinstance(told, frames.DataFrame)
    assert list(told.columns) == list(model.get_feature_names_out()) == ["x0", "x1"]
    np.testing.assert_array_equal(told.to_numpy(), plain)


def test_it_scores_with_an_estimator_and_says_what_is_missing_without(family, fitted):
    rows = {"sample_domain": family.sample_domain}
    right = fitted.predict(family.X, **rows) == family.y
    assert fitted.score(family.X, family.y, **rows) == pytest.approx(right.mean())
    with pytest.warns(NoDomainWarning):
        fitted.score(family.X[:5], family.y[:5])
    bare = fit(MomentFlow(), family)
    assert not hasattr(bare, "score")
    with pytest.raises(AttributeError) as raised:
        bare.predict(family.X, **rows)
    assert "MomentFlow(LogisticRegression())" in str(raised.value.__cause__)


def test_it_warns_where_held_out_sources_say_that_the_flow_does_harm(family, fitted):
    """Levels of the domains that carry over: taken out, nothing is left to predict from."""
    rng = np.random.default_rng(0)
    names = np.repeat(np.arange(9), 40)
    level = np.repeat(rng.normal(0.0, 3.0, 9), 40)
    rows = np.stack([level + rng.normal(size=360), rng.normal(size=360)], axis=1)
    how = {"sample_domain": names, "source_domains": [0, 1, 2, 3, 4, 5]}
    with pytest.warns(FlowWarning, match=r"Ridge predicts less behind it .*Fit it without") as said:
        model = MomentFlow(Ridge()).fit(rows, rows[:, 0], **how)
    assert said[0].filename == __file__
    behind, plain = model.held_out_scores_
    assert behind < 0.5 < plain
    assert fitted.held_out_scores_[0] >= fitted.held_out_scores_[1]
    alone = MomentFlow(Ridge()).fit(rows, rows[:, 0], **how | {"source_domains": [0]})
    assert alone.held_out_scores_ is None
    assert MomentFlow().fit(rows, rows[:, 0], **how).held_out_scores_ is None
