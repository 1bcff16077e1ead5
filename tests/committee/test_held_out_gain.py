"""Features earn their place on held-out source domains."""

import numpy as np

from domindex.committee.network import helps_on_held_out_domains


def domains_of(n_rows: int) -> np.ndarray:
    return np.arange(n_rows) % 4


def test_a_feature_that_carries_the_class_is_worth_keeping():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, size=200)
    informative = classes[:, None] + 0.1 * rng.normal(size=(200, 1))
    noise = rng.normal(size=(200, 2))
    assert helps_on_held_out_domains(noise, informative, classes, domains_of(200))
    assert not helps_on_held_out_domains(informative, noise, classes, domains_of(200))


def test_a_feature_that_holds_in_its_own_domain_only_is_not():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, size=200)
    domains = domains_of(200)
    side = np.where(domains % 2, 1.0, -1.0) * (2 * classes - 1)
    base = classes[:, None] + 0.8 * rng.normal(size=(200, 1))
    assert not helps_on_held_out_domains(base, side[:, None], classes, domains)


def test_one_source_domain_or_one_row_is_enough_to_decide():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, size=60)
    informative = classes[:, None] + 0.1 * rng.normal(size=(60, 1))
    noise = rng.normal(size=(60, 1))
    assert helps_on_held_out_domains(noise, informative, classes, np.zeros(60, dtype=int))
    assert not helps_on_held_out_domains(noise[:1], noise[:1], classes[:1], np.zeros(1, dtype=int))


def test_a_feature_that_carries_the_value_is_worth_keeping():
    rng = np.random.default_rng(0)
    values = 1e6 * rng.normal(size=(200, 2))
    noise = rng.normal(size=(200, 2))
    assert helps_on_held_out_domains(noise, values + noise, values, domains_of(200))
    assert not helps_on_held_out_domains(values, noise, values, domains_of(200))
