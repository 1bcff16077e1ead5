"""What is refused before any work."""

import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import AdaBoostRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from domindex import CrossDomainClassifier, CrossDomainRegressor
from domindex.committee.learners.estimators import check_estimator, weight_argument
from domindex.errors import InputError


class Bare:
    def fit(self, X, y): ...

    def predict(self, X): ...


@pytest.mark.parametrize(
    ("estimator", "task", "word"),
    [
        (3, "regression", "has no fit and no predict"),
        (StandardScaler(), "regression", "StandardScaler, which has no predict"),
        (RandomForestClassifier, "classification", r"RandomForestClassifier\(\)"),
        (LinearRegression(), "classification", "a regressor, and the task is classification"),
        (LogisticRegression(), "regression", "a classifier, and the task is regression"),
        (make_pipeline(StandardScaler(), LinearRegression()), "classification", "a regressor"),
        (SVC(), "classification", r"SVC, which has no predict_proba.*CalibratedClassifierCV"),
        (RidgeClassifier(), "classification", "RidgeClassifier, which has no predict_proba"),
        (Bare(), "classification", "Bare, which has no predict_proba"),
        (KMeans(), "classification", "KMeans, which has no predict_proba"),
    ],
)
def test_an_estimator_that_cannot_do_it_is_refused(estimator, task, word):
    with pytest.raises(InputError, match=word):
        check_estimator(estimator, task)


def test_what_can_do_it_passes():
    check_estimator(Bare(), "regression")
    check_estimator(LogisticRegression(), "classification")
    check_estimator(make_pipeline(StandardScaler(), LogisticRegression()), "classification")


def test_where_weights_go():
    assert weight_argument(LogisticRegression()) == "sample_weight"
    assert weight_argument(make_pipeline(StandardScaler(), AdaBoostRegressor())) == (
        "adaboostregressor__sample_weight"
    )
    assert weight_argument(Bare()) is None
    assert weight_argument(make_pipeline(StandardScaler(), "passthrough")) is None


@pytest.mark.parametrize(
    "model",
    [
        CrossDomainClassifier(predictor=SVC()),
        CrossDomainRegressor(predictor=LogisticRegression()),
        CrossDomainClassifier(predictor=None),
        CrossDomainClassifier(predictor="stumps"),
    ],
)
def test_models_refuse_before_they_look_at_the_data(model):
    with pytest.raises(InputError, match="predictor"):
        model.fit("no data", "at all")


def test_parameters_of_the_estimator_are_parameters_of_the_model():
    model = CrossDomainClassifier(predictor=LogisticRegression())
    model.set_params(predictor__C=3.0)
    assert model.get_params()["predictor__C"] == 3.0
