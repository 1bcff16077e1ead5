"""Linear learners: what they minimise, and what happens at the edges."""

import numpy as np
import pytest

from domindex.committee.learners.estimators import LinearLearner, LinearMixture, LinearPredictor
from domindex.errors import InputError


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(90, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 100.0, 0.0, 5.0]
    return features, rng.integers(0, 3, 90), rng.normal(size=(90, 2)) + features[:, :2]


def test_values_minimise_the_penalised_mean_error(rows):
    features, _, values = rows
    penalty = 0.3
    fitted = LinearLearner(penalty).fit(features, values, None, 0)
    scale = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / scale
    covariance = scaled.T @ scaled / len(scaled) + penalty * np.eye(4)
    slopes = np.linalg.solve(covariance, scaled.T @ (values - values.mean(axis=0)) / len(scaled))
    np.testing.assert_allclose(fitted.slopes * scale[:, None], slopes, atol=1e-10)
    np.testing.assert_allclose(fitted.predict(features).mean(axis=0), values.mean(axis=0))


def test_classes_are_at_the_minimum_of_the_penalised_mean_loss(rows):
    features, labels, _ = rows
    penalty = 0.05
    fitted = LinearLearner(penalty).fit(features, labels, 3, 0)
    scale = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / scale
    errors = fitted.predict(features) - np.eye(3)[labels]
    gradient = scaled.T @ errors / len(labels) + penalty * fitted.slopes * scale[:, None]
    np.testing.assert_allclose(gradient, 0, atol=2e-4)


@pytest.mark.parametrize("is_class", [True, False])
def test_units_and_repeated_rows_change_nothing(rows, is_class):
    features, labels, values = rows
    truth, n_classes = (labels, 3) if is_class else (values, None)
    learner = LinearLearner(0.1)
    once = learner.fit(features, truth, n_classes, 0).predict(features)
    twice = learner.fit(np.tile(features, (2, 1)), np.concatenate([truth, truth]), n_classes, 0)
    np.testing.assert_allclose(twice.predict(features), once, atol=1e-5)
    other = learner.fit(features * 1000 - 7, truth, n_classes, 0).predict(features * 1000 - 7)
    np.testing.assert_allclose(other, once, atol=1e-5)


@pytest.mark.parametrize("is_class", [True, False])
def test_a_weight_is_a_number_of_rows(rows, is_class):
    features, labels, values = rows
    truth, n_classes = (labels, 3) if is_class else (values, None)
    counts = np.arange(90) % 3
    learner = LinearLearner(0.1)
    weighted = learner.fit(features, truth, n_classes, 0, counts.astype(float))
    repeated = learner.fit(
        np.repeat(features, counts, 0), np.repeat(truth, counts, 0), n_classes, 0
    )
    plain = learner.fit(features, truth, n_classes, 0)
    close = {"rtol": 0, "atol": 1e-3 if is_class else 1e-8}
    np.testing.assert_allclose(weighted.predict(features), repeated.predict(features), **close)
    assert np.abs(weighted.predict(features) - plain.predict(features)).max() > 0.01


def test_a_missing_class_has_probability_0_and_the_others_sum_to_1(rows):
    features, labels, _ = rows
    for n_present in (1, 2, 3):
        truth = labels % n_present + 1
        predicted = LinearLearner().fit(features, truth, 5, 0).predict(features)
        assert predicted.shape == (90, 5)
        absent = np.setdiff1d(np.arange(5), truth)
        assert (predicted[:, absent] == 0).all()
        np.testing.assert_allclose(predicted.sum(axis=1), 1)


def test_a_class_whose_rows_count_for_nothing_is_missing(rows):
    features, labels, _ = rows
    predicted = LinearLearner().fit(features, labels, 3, 0, (labels != 1) * 2.0).predict(features)
    assert (predicted[:, 1] == 0).all()


@pytest.mark.parametrize("is_class", [True, False])
def test_a_constant_feature_says_nothing_even_where_it_varies_later(rows, is_class):
    features, labels, values = rows
    truth, n_classes = (labels, 3) if is_class else (values, None)
    features[:, 1] = 0.1 + 1e8
    fitted = LinearLearner().fit(features, truth, n_classes, 0)
    moved = features + [0, 1e6, 0, 0]
    np.testing.assert_array_equal(fitted.predict(moved), fitted.predict(features))
    assert np.isfinite(fitted.predict(moved)).all()


def test_its_state_predicts_the_same(rows):
    features, labels, _ = rows
    fitted = LinearLearner().fit(features, labels % 2, 3, 0)
    revived = LinearPredictor.from_state(fitted.state())
    assert revived.predict(features).tobytes() == fitted.predict(features).tobytes()


@pytest.mark.parametrize("part", ["centre", "slopes", "intercept"])
def test_a_damaged_state_is_refused(rows, part):
    features, labels, _ = rows
    state = LinearLearner().fit(features, labels, 3, 0).state()
    state[part] = state[part][:-1]
    with pytest.raises(ValueError, match="do not fit"):
        LinearPredictor.from_state(state)


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.nan, np.inf])
def test_a_penalty_that_is_none_is_refused(penalty):
    with pytest.raises(InputError, match="above 0"):
        LinearLearner(penalty)


@pytest.mark.parametrize(
    ("weights", "word"),
    [
        (np.ones(3), "shape"),
        (np.full(90, -1.0), "negative"),
        (np.zeros(90), "not all of them 0"),
        (np.full(90, np.nan), "finite"),
    ],
)
def test_weights_that_are_none_are_refused(rows, weights, word):
    with pytest.raises(InputError, match=word):
        LinearLearner().fit(rows[0], rows[1], 3, 0, weights)


@pytest.mark.parametrize("is_class", [True, False])
def test_how_a_map_lies_says_nothing_to_a_rule_beside_it(rows, is_class):
    features, labels, values = rows
    truth, n_classes = (labels, 3) if is_class else (values, None)
    turned = features.copy()
    cosine, sine = np.cos(0.7), np.sin(0.7)
    turned[:, 2:] = features[:, 2:] @ [[cosine, sine], [-sine, cosine]]

    def moved_by_turning(learner):
        first, second = (
            learner.fit(rows, truth, n_classes, 0).predict(rows) for rows in (features, turned)
        )
        return np.abs(first - second).max()

    assert moved_by_turning(LinearLearner(0.5, together=2)) < 1e-4
    assert moved_by_turning(LinearLearner(0.5)) > 1e-3


@pytest.mark.parametrize("is_class", [True, False])
def test_a_mixture_predicts_what_is_mixed_of_its_rules(rows, is_class):
    features, labels, values = rows
    labels = np.where(labels == 1, 2, labels)  # a class that is missing stays so
    truth, n_classes = (labels, 3) if is_class else (values, None)
    mixture = LinearMixture((LinearLearner(1e-3), LinearLearner(1.0)), (0.3, 0.7))
    fitted = mixture.fit(features, truth, n_classes, 0)
    by_rule = [rule.fit(features, truth, n_classes, 0).predict(features) for rule in mixture.rules]
    found = fitted.predict(features)
    np.testing.assert_allclose(found, mixture.mixed(np.stack(by_rule), is_class), atol=1e-12)
    assert np.abs(found - by_rule[0]).max() > 0.01
    assert np.abs(found - by_rule[1]).max() > 0.01
    if is_class:
        assert (found[:, 1] == 0).all()


def test_rules_that_are_sure_of_different_classes_still_make_probabilities():
    mixture = LinearMixture((LinearLearner(1e-3), LinearLearner(1.0)), (0.75, 0.25))
    found = mixture.mixed(np.array([[[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]]), True)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found.argmax() == 0
