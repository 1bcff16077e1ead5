"""Weights that make one group look like another."""

import numpy as np
import pytest

from domindex.geometry.entropy_balancing import balancing_weights, effective_sample_fraction


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(2000, 3))


def test_weighted_rows_have_the_goals_mean_and_covariance(rows):
    goal = np.random.default_rng(1).normal(size=(500, 3)) * [0.7, 1.1, 0.9] + [0.5, -0.3, 0.0]
    weights = balancing_weights(rows, goal)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).all()
    mean = weights @ rows
    np.testing.assert_allclose(mean, goal.mean(axis=0), atol=0.02)
    covariance = (rows - mean).T @ ((rows - mean) * weights[:, None])
    np.testing.assert_allclose(covariance, np.cov(goal.T), atol=0.05)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_unit_of_the_rows_does_not_matter(rows, unit):
    goal = rows[:300] + [0.5, -0.3, 0.0]
    weights = balancing_weights(unit * rows, unit * goal)
    np.testing.assert_allclose(weights, balancing_weights(rows, goal), rtol=1e-3)


def test_a_single_column_is_balanced(rows):
    goal = rows[:300, :1] + 0.4
    weights = balancing_weights(rows[:, :1], goal)
    assert weights @ rows[:, 0] == pytest.approx(goal.mean(), abs=0.02)


def test_rows_that_look_alike_already_keep_equal_weights(rows):
    weights = balancing_weights(rows, rows[::-1])
    np.testing.assert_allclose(weights * len(rows), 1.0, atol=1e-6)
    assert effective_sample_fraction(weights) == pytest.approx(1.0)


def test_the_effective_sample_falls_with_the_distance_of_the_goal(rows):
    shares = [
        effective_sample_fraction(balancing_weights(rows, rows[:300] + shift))
        for shift in (0.0, 0.7, 1.5, 9.0)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.9
    assert shares[-1] < 0.05


def test_out_of_reach_rows_constant_columns_and_single_rows_stay_finite(rows):
    flat = np.hstack([rows, np.ones((len(rows), 1))])
    for source, goal in [(rows, rows[:3] + 1e6), (flat, flat[:5] + 1), (rows[:1], rows[1:2])]:
        weights = balancing_weights(source, goal)
        assert np.isfinite(weights).all()
        assert weights.sum() == pytest.approx(1.0)


def test_wide_rows_are_balanced_along_their_principal_directions():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 60)) * np.linspace(5, 0.1, 60)
    goal = rows[:200] + 0.5 * np.eye(60)[0]
    weights = balancing_weights(rows, goal)
    assert (weights @ rows)[0] == pytest.approx(goal[:, 0].mean(), abs=0.2)


@pytest.mark.parametrize("n_used", [1, 3, 10])
def test_the_effective_sample_fraction_is_the_share_of_rows_that_count(n_used):
    weights = np.zeros(10)
    weights[:n_used] = 1.0 / n_used
    assert effective_sample_fraction(weights) == pytest.approx(n_used / 10)
