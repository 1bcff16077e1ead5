"""A linear rule and boosting of its residuals: it goes on, it bends, it comes back."""

import numpy as np
import pytest

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.committee.learners.base import (
    PREDICTORS,
    Predictor,
)
from domindex.committee.learners.estimators import BoostedLinearLearner, BoostedLinearPredictor
from domindex.errors import PredictorError

SHORT = Training(index_steps=3)


def bent_line(n=400, low=0.0, high=1.0, seed=0):
    """y rises by 5 over a unit of the first feature, with a wave of the second on top."""
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.uniform(low, high, n), rng.uniform(0, 1, n)])
    return features, 5 * features[:, :1] + np.sin(6 * features[:, 1:])


def error(name, train, test):
    fitted = PREDICTORS[name].fit(*train, None, 0)
    return float(((fitted.predict(test[0]) - test[1]) ** 2).mean())


def test_it_goes_on_beyond_its_rows_where_trees_stand_still():
    train, beyond = bent_line(), bent_line(low=2.0, high=3.0, seed=1)
    errors = {name: error(name, train, beyond) for name in ("boosting", "linear", "boosted_linear")}
    assert errors["boosting"] > 30  # two units further on it is still where its rows ended
    assert errors["boosted_linear"] < 0.5 * errors["linear"]


def test_it_bends_where_a_line_does_not():
    train, within = bent_line(), bent_line(seed=1)
    assert error("boosted_linear", train, within) < 0.2 * error("linear", train, within)


def test_many_outputs_weights_and_its_state():
    features, values = bent_line()
    values = np.hstack([values, -values])
    weights = np.repeat([1.0, 0.0], 200)
    learner = PREDICTORS["boosted_linear"]
    fitted = learner.fit(features, values, None, 0, weights)
    half = learner.fit(features[:200], values[:200], None, 0)
    np.testing.assert_allclose(fitted.predict(features), half.predict(features), atol=1e-9)
    revived = Predictor.from_entry(fitted.entry())
    assert isinstance(revived, BoostedLinearPredictor)
    assert revived.predict(features).tobytes() == fitted.predict(features).tobytes()


def test_states_that_do_not_fit_together_are_refused():
    features, values = bent_line(60)
    state = BoostedLinearLearner().fit(features, values, None, 0).entry()
    other = PREDICTORS["linear"].fit(features[:, :1], values, None, 0).entry()
    with pytest.raises(ValueError, match="does not fit the trees"):
        BoostedLinearPredictor.from_state({**state["state"], "linear": other["state"]})
    damaged = {**state["state"]["linear"], "is_class": True}
    with pytest.raises(ValueError, match="for values, not for classes"):
        BoostedLinearPredictor.from_state({**state["state"], "linear": damaged})


def bands(seed=0):
    """Six domains, bands of the first feature; the lower three are labelled."""
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.uniform(0, 6, 360), rng.normal(size=360)])
    values = 2 * features[:, 0] + np.sin(3 * features[:, 1]) + 0.1 * rng.normal(size=360)
    return features, values, np.array([f"band {int(x)}" for x in features[:, 0]])


def test_it_is_asked_for_by_name_and_saved(tmp_path):
    X, y, domain = bands()
    sources = ["band 0", "band 1", "band 2"]
    model = CrossDomainRegressor(
        candidates=[("raw", "boosted_linear"), ("raw", "boosting")], training=SHORT
    )
    model.fit(X, y, sample_domain=domain, source_domains=sources)
    assert model.candidates_["candidate"][0] == "boosted_linear on raw"
    targets = ~np.isin(domain, sources)
    assert model.score(X[targets], y[targets], sample_domain=domain[targets]) > 0.8
    model.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    predicted = model.predict(X, sample_domain=domain)
    assert again.predict(X, sample_domain=domain).tobytes() == predicted.tobytes()


def test_classes_are_refused_in_words():
    X, y, domain = bands()
    model = CrossDomainClassifier(predictor="boosted_linear", training=SHORT)
    with pytest.raises(PredictorError, match="is for values, and there are 2 classes"):
        model.fit(X, y > 6, sample_domain=domain, source_domains=["band 2", "band 3", "band 4"])
