"""What a fit starts from, seen through what it chose."""

from dataclasses import replace

import numpy as np
import pytest

from domindex import CrossDomainClassifier, Training
from domindex.datasets import make_circle

QUICK = {"predictor": "network", "training": Training(index_steps=5, steps=5), "random_state": 0}


def fit(family, **settings):
    return CrossDomainClassifier(**{**QUICK, **settings}).fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=20, samples_per_domain=60, random_state=0)


def test_a_rotation_about_the_users_zero_is_recognised(family):
    model = fit(family)
    assert model.flow_["family"] == "spin"
    assert model.flow_["n_components"] == 1
    assert not model.flow_["straightened"]


@pytest.mark.full
def test_bent_inputs_are_straightened(family):
    unit = (family.X - family.X.mean(axis=0)) / family.X.std()
    model = fit(replace(family, X=unit + 0.3 * np.sin(2 * unit)))
    assert model.flow_["misfit"] > 1.15
    assert model.flow_["straightened"]


def test_noise_features_are_left_out_of_the_encoding(family):
    rng = np.random.default_rng(0)
    noisy = np.column_stack([family.X, rng.normal(size=(len(family.X), 8))])
    wide = replace(family, X=noisy)
    model = fit(wide)
    encoded = model.encode(wide.X, sample_domain=wide.sample_domain)
    assert encoded.shape[1] == 2


def test_features_that_hold_the_class_are_kept_though_no_domain_differs_there():
    rng = np.random.default_rng(0)
    domains = np.repeat(np.arange(10), 60)
    classes = rng.integers(0, 2, size=600)
    moving = rng.normal(size=(600, 2)) + 3.0 * domains[:, None]
    still = (2 * classes - 1)[:, None] * [1.5, 0.0, 0.0] + 0.5 * rng.normal(size=(600, 3))
    X = np.hstack([moving, still])
    model = CrossDomainClassifier(
        predictor="network", training=Training(index_steps=5, steps=100), random_state=0
    ).fit(X, classes, sample_domain=domains, source_domains=[0, 1, 2, 3])
    target = domains > 3
    assert model.score(X[target], classes[target], sample_domain=domains[target]) > 0.95
