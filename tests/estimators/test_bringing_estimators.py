"""Estimators of scikit-learn, and others like them, inside the models."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.datasets import make_circle
from domindex.errors import InputError, PredictorError

QUICK = {"training": Training(index_steps=3, steps=5), "random_state": 0}
ONCE = {"representation": "domain_standardised", **QUICK}


class Share:
    """The share of every class, whatever the row."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares = counts / counts.sum()

    def predict_proba(self, X):
        return np.tile(self.shares, (len(X), 1))

    def predict(self, X):
        return np.full(len(X), self.classes_[self.shares.argmax()])


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=8, n_sources=4, samples_per_domain=30, random_state=0)


def fit(model, family, y=None):
    return model.fit(
        family.X,
        family.y if y is None else y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )


@pytest.mark.parametrize(
    ("predictor", "settings"),
    [
        pytest.param("kernel", ONCE, id="kernel"),
        pytest.param(
            make_pipeline(StandardScaler(), LogisticRegression()),
            QUICK,
            id="a pipeline on every representation",
            marks=pytest.mark.full,
        ),
    ],
)
def test_a_classifier_is_fitted_saved_and_loaded(family, predictor, settings, tmp_path):
    model = fit(CrossDomainClassifier(predictor=predictor, **settings), family)
    assert len(model.candidates_) > (settings is QUICK)
    asked = {"sample_domain": family.sample_domain}
    predicted = model.predict_proba(family.X, **asked)
    np.testing.assert_allclose(predicted.sum(axis=1), 1)
    model.save(tmp_path / "model")
    revived = domindex.load(tmp_path / "model")
    assert revived.predict_proba(family.X, **asked).tobytes() == predicted.tobytes()
    assert repr(revived.predictor) == repr(predictor)
    clone(revived)


@pytest.mark.parametrize(
    "predictor",
    [
        pytest.param("trees", marks=pytest.mark.full),
        ExtraTreesRegressor(5),
        HistGradientBoostingRegressor(max_iter=5),
    ],
)
def test_a_regressor_is_fitted_saved_and_loaded(family, predictor, tmp_path):
    y = np.column_stack([family.X[:, 0], -family.X[:, 1]])
    model = fit(CrossDomainRegressor(predictor=predictor, **ONCE), family, y)
    asked = {"sample_domain": family.sample_domain}
    predicted = model.predict(family.X, **asked)
    assert predicted.shape == y.shape
    model.save(tmp_path / "model")
    revived = domindex.load(tmp_path / "model")
    assert revived.predict(family.X, **asked).tobytes() == predicted.tobytes()


def test_ones_own_is_used_and_not_saved_half(family, tmp_path):
    model = fit(CrossDomainClassifier(predictor=Share(), **ONCE), family)
    assert np.isfinite(model.predict_proba(family.X)).all()
    with pytest.raises(InputError, match=r"The predictor Share cannot be kept .* Use pickle"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_one_that_fails_is_named(family):
    model = CrossDomainClassifier(predictor=LogisticRegression(C=-1.0), **QUICK)
    with pytest.raises(PredictorError, match="'LogisticRegression' failed to fit"):
        fit(model, family)
