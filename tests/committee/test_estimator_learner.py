"""Estimators of any origin as learners, and what they are blamed for."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domindex.committee.learners.estimators import EstimatorLearner, EstimatorPredictor
from domindex.errors import InputError, PredictorError


class Boosted:
    """As LightGBM's: fit, predict, predict_proba and classes_; no subclass of anything."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)[::-1]
        self.centres = np.array([X[y == number].mean(axis=0) for number in self.classes_])
        return self

    def predict_proba(self, X):
        gaps = ((X[:, None] - self.centres[None]) ** 2).sum(axis=-1)
        odds = np.exp(gaps.min(axis=1, keepdims=True) - gaps)
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class OneColumn:
    """A regressor that refuses more than one output."""

    def fit(self, X, y):
        if np.ndim(y) != 1:
            raise ValueError("y should be 1d")
        self.slopes = np.linalg.lstsq(X, y, rcond=None)[0]
        return self

    def predict(self, X):
        return X @ self.slopes


class Returning(Boosted):
    """Returns what it is told to, whatever it is asked."""

    def __init__(self, answer):
        self.answer = answer

    def predict_proba(self, X):
        return self.answer(len(X))

    predict = predict_proba


class Gapless(Boosted):
    """As XGBoost's: class numbers without gaps, or none at all."""

    def fit(self, X, y):
        if not np.array_equal(np.unique(y), np.arange(y.max() + 1)):
            raise ValueError("invalid classes")
        super().fit(X, y)
        self.centres = self.centres[::-1]
        del self.classes_
        return self


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 120)
    features = rng.normal(size=(120, 3)) + 2 * np.eye(3)[labels]
    return features, labels, features @ rng.normal(size=(3, 2))


def fit(estimator, *told, **further):
    return EstimatorLearner("mine", estimator).fit(*told, seed=0, **further)


def accuracy(predicted, labels):
    return (predicted.argmax(axis=1) == labels).mean()


@pytest.mark.parametrize(
    "estimator",
    [Boosted(), Gapless(), LogisticRegression(), HistGradientBoostingClassifier(max_iter=10)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_probabilities_stand_in_the_order_of_all_classes(rows, estimator):
    features, labels, _ = rows
    spread = np.array([1, 4, 2])[labels]
    predicted = fit(estimator, features, spread, 6).predict(features)
    assert predicted.shape == (120, 6)
    assert (predicted[:, [0, 3, 5]] == 0).all()
    np.testing.assert_allclose(predicted.sum(axis=1), 1)
    assert accuracy(predicted, spread) > 0.8


def test_one_class_needs_no_estimator(rows):
    never = Returning(lambda n: 1 / 0)
    predicted = fit(never, rows[0], np.full(120, 2), 4).predict(rows[0])
    np.testing.assert_array_equal(predicted, np.eye(4)[np.full(120, 2)])


@pytest.mark.parametrize(
    ("estimator", "copies"),
    [
        (OneColumn(), 2),
        (HistGradientBoostingRegressor(max_iter=20), 2),
        (RandomForestRegressor(10), 1),
        (make_pipeline(StandardScaler(), Ridge()), 1),
    ],
    ids=["own", "boosting", "forest", "pipeline"],
)
def test_many_outputs_with_estimators_that_take_one(rows, estimator, copies):
    features, _, values = rows
    fitted = fit(estimator, features, values, None)
    assert len(fitted.estimators) == copies
    predicted = fitted.predict(features)
    assert predicted.shape == values.shape
    assert ((predicted - values) ** 2).mean() < 0.5 * values.var()
    single = fit(estimator, features, values[:, :1], None).predict(features)
    assert single.shape == (120, 1)


def test_the_estimator_that_was_given_stays_as_it_is(rows):
    own, theirs = Boosted(), ExtraTreesClassifier(5)
    for estimator in (own, theirs):
        before = dict(vars(estimator))
        fit(estimator, rows[0], rows[1], 3)
        assert vars(estimator) == before


def test_a_seed_is_used_where_none_was_set(rows):
    def predicted(random_state, seed):
        steps = make_pipeline(StandardScaler(), ExtraTreesClassifier(5, random_state=random_state))
        learner = EstimatorLearner("mine", steps)
        return learner.fit(rows[0], rows[1], 3, seed).predict(rows[0] + 0.5).tobytes()

    assert predicted(None, 1) == predicted(None, 1)
    assert predicted(None, 1) != predicted(None, 2)
    assert predicted(7, 1) == predicted(7, 2)


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["plain", "pipeline"],
)
def test_weights_matter(rows, estimator):
    features, labels, _ = rows
    plain = fit(estimator, features, labels, 3).predict(features)
    heavy = fit(estimator, features, labels, 3, weights=1 + 9.0 * (labels == 0)).predict(features)
    assert heavy[:, 0].mean() > plain[:, 0].mean() + 0.05
    without = fit(estimator, features, labels, 3, weights=1.0 * (labels != 0)).predict(features)
    assert (without[:, 0] == 0).all()


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsClassifier(), Boosted(), make_pipeline(StandardScaler(), KNeighborsClassifier())],
    ids=["neighbours", "own", "pipeline"],
)
def test_weights_are_not_silently_dropped(rows, estimator):
    with pytest.raises(InputError, match=r"'mine' cannot weigh rows: the fit of \w+ has no sample"):
        fit(estimator, rows[0], rows[1], 3, weights=np.ones(120))


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (lambda n: np.full((n, 3), np.nan), "NaN or infinity"),
        (lambda n: np.full((n, 2), 0.5), r"shape \(120, 2\) where \(120, 3\)"),
        (lambda n: np.full(n, 0.5), "shape"),
        (lambda n: np.tile([1.5, -0.5, 0], (n, 1)), "negative"),
        (lambda n: np.zeros((n, 3)), "all 0"),
        (lambda n: [["a", "b", "c"]] * n, "failed to predict"),
        (lambda n: 1 / 0, "failed to predict.*ZeroDivisionError"),
    ],
)
def test_nonsense_probabilities_name_the_predictor(rows, answer, word):
    fitted = fit(Returning(answer), rows[0], rows[1], 3)
    with pytest.raises(PredictorError, match=f"The predictor 'mine' .*{word}"):
        fitted.predict(rows[0])


def test_nonsense_values_name_the_predictor(rows):
    for answer in (lambda n: np.full(n, np.inf), lambda n: np.zeros((n, 3)), lambda n: None):
        fitted = fit(Returning(answer), rows[0], rows[2], None)
        with pytest.raises(PredictorError, match="The predictor 'mine'"):
            fitted.predict(rows[0])


def test_a_failing_fit_names_the_predictor_and_keeps_the_cause(rows):
    with pytest.raises(PredictorError, match=r"'mine' failed to fit .*'tol'") as caught:
        fit(LogisticRegression(tol="none"), rows[0], rows[1], 3)
    assert isinstance(caught.value.__cause__, ValueError)


def test_other_classes_than_told_are_noticed(rows):
    fitted = fit(Boosted(), rows[0], rows[1], 3)
    fitted.estimators[0].classes_ = np.array([0, 1, 1])
    with pytest.raises(PredictorError, match="other classes_"):
        fitted.predict(rows[0])


def test_rows_of_another_width_are_refused(rows):
    fitted = fit(LogisticRegression(), rows[0], rows[1], 3)
    with pytest.raises(PredictorError, match=r"shape \(120, 2\) for 3 features"):
        fitted.predict(rows[0][:, :2])


@pytest.mark.parametrize("n_present", [1, 2, 3])
def test_the_state_of_a_classifier_predicts_the_same(rows, n_present):
    fitted = fit(SGDClassifier(loss="log_loss"), rows[0], rows[1] % n_present, 4)
    revived = EstimatorPredictor.from_state(fitted.state())
    assert revived.predict(rows[0]).tobytes() == fitted.predict(rows[0]).tobytes()
    assert revived.name == "mine"


@pytest.mark.parametrize("estimator", [HistGradientBoostingRegressor(max_iter=3), Ridge()])
def test_the_state_of_a_regressor_predicts_the_same(rows, estimator):
    fitted = fit(estimator, rows[0], rows[2], None)
    revived = EstimatorPredictor.from_state(fitted.state())
    assert revived.predict(rows[0]).tobytes() == fitted.predict(rows[0]).tobytes()


@pytest.mark.parametrize(
    "change",
    [
        {"present": [0, 0, 1]},
        {"present": [0, 1, 9]},
        {"present": [-1, 0, 1]},
        {"present": []},
        {"present": [2]},
        {"n_outputs": 2},
        {"present": None, "n_outputs": 0.5},
        {"present": None, "n_outputs": 4, "estimators": np.zeros(5, dtype=np.uint8)},
    ],
)
def test_a_damaged_state_is_refused(rows, change):
    state = fit(LogisticRegression(), rows[0], rows[1], 3).state()
    with pytest.raises(ValueError, match=r"classes|estimator"):
        EstimatorPredictor.from_state({**state, **change})


def test_what_cannot_be_saved_is_refused_by_name(rows):
    with pytest.raises(InputError, match=r"'mine' cannot be kept .*Boosted.*Use pickle"):
        fit(Boosted(), rows[0], rows[1], 3).state()
