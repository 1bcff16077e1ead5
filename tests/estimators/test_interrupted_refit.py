"""A fit that is cut off in the middle leaves the model that was there."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from domindex import CrossDomainClassifier, MomentFlow, Training
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.neural.training import Trainer

DOMAIN = np.repeat(["a", "b", "c", "d"], 15)
ROLES = {"sample_domain": DOMAIN, "source_domains": ["a", "b"]}
SHORT = {"predictor": "network", "training": Training(steps=3, index_steps=3), "random_state": 0}


def rows(n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(len(DOMAIN), n_features))
    X[:, 0] += np.repeat(np.arange(4), 15)
    return X, (X[:, 1] > 0).astype(int)


def interrupt(*given, **options):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("model", "place", "method"),
    [
        (CrossDomainClassifier(**SHORT), Trainer, "run"),
        (CrossDomainClassifier(**SHORT), DomainGeometry, "fit"),
        (MomentFlow(LogisticRegression()), DomainGeometry, "fit"),
    ],
    ids=["training", "the map", "moment flow"],
)
def test_the_old_model_answers_as_before(model, place, method, monkeypatch):
    X, y = rows(3)
    model.fit(X, y, **ROLES)
    before = model.predict_proba(X, sample_domain=DOMAIN)
    kept = dict(vars(model))
    monkeypatch.setattr(place, method, interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*rows(5), **ROLES)
    assert vars(model).keys() == kept.keys()
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict_proba(X, sample_domain=DOMAIN), before)
