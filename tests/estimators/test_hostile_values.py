"""Values that once came out as exceptions of other libraries, or as NaN."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import torch

from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.errors import InputError

QUICK = {
    "candidates": [("raw", "linear")],
    "training": Training(steps=1, index_steps=1),
    "random_state": 0,
}
NAMES = np.repeat(list("abcdef"), 12)
X = np.random.default_rng(0).normal(size=(72, 3)) + np.repeat(np.arange(6.0), 12)[:, None]
VALUES, CLASSES = X.sum(axis=1), (X[:, 0] > X[:, 1]).astype(int)
ROLES = {"sample_domain": NAMES, "source_domains": ["a", "b", "c"]}
SIGNALING = Decimal("sNaN")


@pytest.fixture(scope="module")
def classifier():
    return CrossDomainClassifier(**QUICK).fit(X, CLASSES, **ROLES)


@pytest.fixture(scope="module")
def regressor():
    return CrossDomainRegressor(**QUICK).fit(X, VALUES, **ROLES)


def with_one(array, value):
    array = array.astype(object)
    array.flat[0] = value
    return array


def test_a_signaling_nan_is_an_input_error_or_a_missing_value():
    model = CrossDomainClassifier(**QUICK)
    with pytest.raises(InputError, match="sNaN"):
        model.fit(with_one(X, SIGNALING), CLASSES, **ROLES)
    with pytest.raises(InputError, match="NaN or hidden labels"):
        model.fit(X, with_one(CLASSES, SIGNALING), **ROLES)
    names = with_one(NAMES, SIGNALING)
    with pytest.raises(InputError, match="sample_domain is empty"):
        model.fit(X, CLASSES, sample_domain=names, source_domains=["a", "b"])
    frame = pd.DataFrame(X, columns=list("xyz")).astype(object)
    frame.iloc[0, 0] = SIGNALING
    fitted = model.fit(frame, CLASSES, **ROLES)
    assert np.isfinite(fitted.predict_proba(frame, sample_domain=NAMES)).all()


@pytest.mark.parametrize("name", [pd.NA, pd.NaT, None, np.nan, SIGNALING, []])
def test_explaining_what_is_no_domain_is_refused(classifier, name):
    with pytest.raises(InputError, match="none of the model's domains"):
        classifier.explain_domain(name)


def test_tensors_that_need_gradients_are_taken(classifier, regressor):
    y = torch.tensor(VALUES, requires_grad=True)
    weights = torch.ones(len(X), requires_grad=True)
    CrossDomainRegressor(**QUICK).fit(X, y, sample_weight=weights, **ROLES)
    expected = regressor.score(X, VALUES, sample_domain=NAMES)
    assert regressor.score(X, y, sample_domain=NAMES, sample_weight=weights) == expected


@pytest.mark.parametrize(
    "y", [VALUES * 1e155, np.full(72, 1e155), np.where(np.arange(72) == 0, 1e308, VALUES)]
)
def test_a_score_that_is_no_number_is_refused(regressor, y):
    with pytest.raises(InputError, match="score"):
        regressor.score(X, y, sample_domain=NAMES)


def test_weights_and_rows_of_a_score_that_make_none_are_refused(regressor):
    with pytest.raises(InputError, match="score"):
        regressor.score(X, VALUES, sample_domain=NAMES, sample_weight=np.full(72, 1e308))
    with pytest.raises(InputError, match="two rows"), pytest.warns(match="R"):
        regressor.score(X[:1], VALUES[:1], sample_domain=NAMES[:1])
