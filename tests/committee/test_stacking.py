"""Weights of a mixture: who gets them."""

import numpy as np
import pytest

from domindex.committee.weighing import stack

N = 240


def mixed(predicted, rows, penalties=None, scale=0.5):
    predicted = np.stack(predicted)
    penalties = np.zeros(len(predicted)) if penalties is None else np.asarray(penalties)
    weights = stack(predicted, penalties, rows, scale, draws=10, steps=600, seed=0)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()
    return weights


@pytest.fixture(scope="module")
def labels():
    return np.random.default_rng(0).integers(0, 2, size=N)


@pytest.fixture(scope="module")
def rows(held_out_of, labels):
    return held_out_of(labels, np.arange(N) // 40, n_classes=2)


def said(labels, share_right, seed):
    right = np.random.default_rng(seed).random(len(labels)) < share_right
    guess = np.where(right, labels, 1 - labels)
    return np.where(guess[:, None] == np.arange(2), 0.8, 0.2)


def test_the_better_of_two_gets_more(labels, rows):
    weights = mixed([said(labels, 0.95, 1), said(labels, 0.6, 2)], rows)
    assert weights[0] > 0.9


def test_equals_share(labels, rows):
    one = said(labels, 0.8, 1)
    np.testing.assert_allclose(mixed([one, one], rows), 0.5)


def test_a_price_moves_weight_away(labels, rows):
    one = said(labels, 0.8, 1)
    weights = mixed([one, one], rows, penalties=[0.0, 0.1])
    assert weights[1] < 0.2
    assert mixed([one, one], rows, penalties=[0.05, 0.05])[0] == pytest.approx(0.5)


def test_confident_wrong_predictions_leave_weights_finite(labels, rows):
    wrong = np.where(labels[:, None] == np.arange(2), 0.0, 1.0)
    weights = mixed([wrong, said(labels, 0.8, 1)], rows)
    assert np.isfinite(weights).all()
    assert weights[0] < 0.1
    assert np.isfinite(mixed([wrong, wrong], rows)).all()


def test_regressors_that_are_wrong_to_opposite_sides_are_both_used(held_out_of):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N, 1))
    rows = held_out_of(values, np.arange(N) // 40)
    off = rng.normal(size=(N, 1))
    weights = mixed([values + off, values - off, values + 3 * off], rows, scale=0.3)
    assert weights[:2].min() > 0.35
    assert weights[2] < 0.2
    mixture = np.einsum("c,cno->no", weights, [values + off, values - off, values + 3 * off])
    assert rows.losses(mixture).mean() < 0.2 * rows.losses(values + off).mean()


def test_the_better_regressor_gets_more(held_out_of):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(N, 2))
    rows = held_out_of(values, np.arange(N) // 40)
    noise = rng.normal(size=(N, 2))
    weights = mixed([values + 0.1 * noise, values + noise], rows, scale=0.1)
    assert weights[0] > 0.9


def test_domains_count_the_same_however_many_rows_they_have(held_out_of):
    domains = np.repeat([0, 1, 2], [180, 30, 30])
    labels = np.random.default_rng(0).integers(0, 2, size=N)
    rows = held_out_of(labels, domains, n_classes=2)
    first = said(labels, np.where(domains == 0, 0.95, 0.5), 1)
    others = said(labels, np.where(domains == 0, 0.5, 0.95), 2)
    weights = mixed([first, others], rows)
    assert weights[1] > 0.55, "two domains of three, a quarter of the rows"


def test_the_unit_of_values_does_not_matter(held_out_of):
    rng = np.random.default_rng(2)
    values, noise = rng.normal(size=(N, 1)), rng.normal(size=(N, 1))
    places = np.arange(N) // 40
    weights = [
        mixed([unit * (values + 0.5 * noise), unit * (values + 0.8 * noise[::-1])], rows, scale=0.3)
        for unit in (1.0, 1e3)
        for rows in [held_out_of(unit * values, places)]
    ]
    np.testing.assert_allclose(weights[1], weights[0], rtol=1e-6)
    assert 0.5 < weights[0][0] < 0.95


def test_what_says_the_opposite_gets_nothing(held_out_of):
    values = np.random.default_rng(3).normal(size=(N, 1))
    rows = held_out_of(values, np.arange(N) // 40)
    assert mixed([values, -values], rows, scale=0.3)[0] > 0.95


def test_the_same_seed_gives_the_same_weights(labels, rows):
    candidates = [said(labels, 0.9, 1), said(labels, 0.8, 2)]
    np.testing.assert_array_equal(mixed(candidates, rows), mixed(candidates, rows))
