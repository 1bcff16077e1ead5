"""The learners of the library: they learn, for both tasks, with weights, and come back."""

import warnings

import numpy as np
import pytest

from domindex.committee.learners.base import (
    PREDICTORS,
    Learner,
    Predictor,
    list_predictors,
    register_predictor,
)
from domindex.committee.learners.estimators import KernelLearner, LinearLearner
from domindex.errors import InputError

NAMES = ["linear", "kernel", "trees", "boosting"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 150)
    features = rng.normal(size=(150, 3)) + 3 * np.eye(3)[labels]
    return features, labels, features @ rng.normal(size=(3, 2))


def test_they_are_known_by_name():
    further = ["boosted_linear", "convolutional", "neighbours", "catboost", "lightgbm"]
    assert list_predictors() == [*NAMES, *further]
    for name in NAMES:
        assert isinstance(PREDICTORS[name], Learner)
        assert PREDICTORS[name].name == name


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_class", [True, False])
def test_they_learn_and_their_states_predict_the_same(rows, name, is_class):
    features, labels, values = rows
    told, n_classes = (labels + 1, 5) if is_class else (values, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        fitted = PREDICTORS[name].fit(features, told, n_classes, 0)
        predicted = fitted.predict(features)
    assert fitted.name == name
    if is_class:
        assert (predicted.argmax(axis=1) == told).mean() > 0.9
        assert (predicted[:, [0, 4]] == 0).all()
    else:
        assert ((predicted - values) ** 2).mean() < 0.3 * values.var()
    revived = Predictor.from_entry(fitted.entry())
    assert revived.predict(features).tobytes() == predicted.tobytes()
    again = PREDICTORS[name].fit(features, told, n_classes, 0).predict(features)
    assert again.tobytes() == predicted.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_they_weigh_rows(rows, name):
    features, _, _ = rows
    values = np.repeat([[0.0], [1.0]], 75, axis=0)
    heavy = np.repeat([1.0, 9.0], 75)
    features = features[:, :1] * 0
    learner = PREDICTORS[name]
    assert learner.fit(features, values, None, 0).predict(features).mean() == pytest.approx(0.5)
    weighted = learner.fit(features, values, None, 0, heavy).predict(features)
    assert weighted.mean() == pytest.approx(0.9, abs=1e-6)


def test_landmarks_are_never_more_than_rows(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        fitted = KernelLearner(components=50).fit(rows[0][:9], rows[1][:9], 3, 0)
    assert fitted.predict(rows[0]).shape == (150, 3)
    assert fitted.estimators[0][1].n_components == 9


def test_what_is_no_learner_is_not_registered():
    for wrong in (object(), "linear"):
        with pytest.raises(InputError, match="cannot be registered"):
            register_predictor(wrong)
    further = ["boosted_linear", "convolutional", "neighbours", "catboost", "lightgbm"]
    assert list_predictors() == [*NAMES, *further]


def test_a_learner_of_ones_own_is_a_value():
    register_predictor(LinearLearner(5.0, "stiff"))
    try:
        assert PREDICTORS["stiff"].penalty == 5.0
    finally:
        PREDICTORS.remove("stiff")
