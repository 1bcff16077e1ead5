"""The closed form alone, in front of any scikit-learn model."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

from domindex import MomentFlow
from domindex.datasets import load_dataset, make_circle
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


def test_a_linear_model_on_carried_inputs_holds_where_one_on_raw_inputs_fails(family):
    sources = family.is_source
    raw = LogisticRegression().fit(family.X[sources], family.y[sources])
    assert raw.score(family.X[~sources], family.y[~sources]) < 0.8
    model = fit(MomentFlow(LogisticRegression()), family)
    assert target_accuracy(model, family) > 0.95
    assert model.family_ == "spin"
    assert index_correlation(model.domain_indices_, family.true_index) > 0.99


def test_carried_domains_coincide(family):
    model = fit(MomentFlow(), family)
    carried = model.transform(family.X, sample_domain=family.sample_domain)
    means = np.stack([carried[family.sample_domain == k].mean(axis=0) for k in family.domains])
    raw_means = np.stack([family.X[family.sample_domain == k].mean(axis=0) for k in family.domains])
    assert np.ptp(means, axis=0).max() < 0.2 * np.ptp(raw_means, axis=0).max()
    assert model.misfit_ < 1.15


def test_a_new_domain_is_placed_and_predicted(family):
    model = fit(MomentFlow(LogisticRegression()), family)
    rows = family.sample_domain == 15
    named = model.predict_proba(family.X[rows], sample_domain=family.sample_domain[rows])
    renamed = model.predict_proba(family.X[rows], sample_domain=["new"] * rows.sum())
    np.testing.assert_allclose(named, renamed, atol=0.1)
    np.testing.assert_array_equal(renamed, model.predict_proba(family.X[rows]))


def test_regressors_work_too(family):
    values = family.X @ np.array([1.0, 2.0]) + 0.5
    model = MomentFlow(Ridge()).fit(
        family.X,
        values,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    assert model.predict(family.X, sample_domain=family.sample_domain).shape == values.shape


def test_without_an_estimator_there_is_nothing_to_predict_with(family):
    assert not hasattr(MomentFlow(), "predict")
    with pytest.raises(NotFittedError):
        MomentFlow().transform(family.X)


@pytest.mark.parametrize(("name", "floor"), [("circle", 0.98), ("dg-15", 0.995), ("dg-60", 0.995)])
def test_the_papers_datasets_are_solved_without_training(paper_data, name, floor):
    dataset = load_dataset(name, paper_data)
    assert target_accuracy(fit(MomentFlow(LogisticRegression()), dataset), dataset) >= floor
