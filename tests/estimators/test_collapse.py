"""A map, or an encoding, in which nothing can be told apart is said to be one."""

import warnings

import numpy as np
import pytest

from domindex import CrossDomainClassifier, Training, VDIClassifier
from domindex.errors import CollapseWarning
from domindex.estimators.fitted import warn_of_collapse


def test_domains_at_one_place_are_reported():
    with pytest.warns(CollapseWarning, match="All 3 domains lie at one place"):
        warn_of_collapse(np.full((3, 2), 0.5))


def test_an_encoding_that_is_constant_is_reported():
    with pytest.warns(CollapseWarning, match="adversary_weight"):
        warn_of_collapse(np.eye(2), np.full((4, 3), 7.0))


def test_a_map_and_an_encoding_that_vary_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapseWarning)
        warn_of_collapse(np.eye(2), np.random.default_rng(0).normal(size=(4, 3)))


@pytest.mark.parametrize(
    "model",
    [
        CrossDomainClassifier(
            candidates=[("raw", "linear")],
            training=Training(steps=2, index_steps=2),
            random_state=0,
        ),
        VDIClassifier(pretraining_steps=2, steps=2, random_state=0),
    ],
    ids=["committee", "vdi"],
)
def test_copies_of_one_domain_are_reported_by_a_fit(model):
    rng = np.random.default_rng(0)
    one = rng.normal(size=(20, 2))
    X, y = np.tile(one, (4, 1)), np.tile(one[:, 0] > 0, 4).astype(int)
    names = np.repeat(["a", "b", "c", "d"], 20)
    with pytest.warns(CollapseWarning):
        model.fit(X, y, sample_domain=names, source_domains=["a", "b"])
    assert np.isfinite(model.predict_proba(X, sample_domain=names)).all()
