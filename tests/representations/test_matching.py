"""Weights that make one group look like another."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.geometry.settings import MAP
from domindex.representations import map_rows
from domindex.representations.map_rows import (
    balancing_weights,
    effective_sample_fraction,
    may_be_cut,
    resembling_rows,
)


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


def seasons(n_domains=8, n_rows=12, n_sources=3, seed=0, shared=True):
    """Targets hold winters; sources winters and summers, in a shuffled order.

    The winters of all domains share their pattern, up to a shift and some noise.
    """
    rng = np.random.default_rng(seed)
    pattern = rng.exponential(size=(n_rows, 3))
    clouds, winters = [], []
    for number in range(n_domains):
        if not shared:
            pattern = rng.normal(size=(n_rows, 3))
        winter = pattern + rng.normal(size=3) + 0.05 * rng.normal(size=(n_rows, 3))
        if number >= n_sources:
            clouds.append(winter)
            continue
        summer = rng.normal(size=(3 * n_rows, 3)) * 2 + 6
        order = rng.permutation(4 * n_rows)
        clouds.append(np.vstack([winter, summer])[order])
        winters.append(np.flatnonzero(order < n_rows))
    return clouds, np.arange(n_domains) < n_sources, winters


def even(clouds):
    return [np.full(len(cloud), 1.0 / len(cloud)) for cloud in clouds]


def leaning_to(clouds, winters):
    """A rough first guess: winters thirty times as likely."""
    weights = even(clouds)
    for cloud, rows in zip(weights, winters):
        cloud[rows] *= 30
    return weights


def test_the_shared_rows_of_a_source_are_found():
    clouds, is_source, winters = seasons()
    kept = resembling_rows(clouds, is_source, leaning_to(clouds, winters))
    for rows, winter in zip(kept, winters):
        assert len(rows) == 12
        assert len(np.intersect1d(rows, winter)) >= 11


def test_targets_and_small_sources_keep_all_their_rows():
    clouds, is_source, _ = seasons()
    clouds[0] = clouds[0][:10]
    kept = resembling_rows(clouds, is_source, even(clouds))
    assert len(kept[0]) == 10
    assert all(len(kept[number]) == 12 for number in range(3, 8))


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_cut_where_no_pattern_is_shared(seed):
    clouds, is_source, winters = seasons(shared=False, seed=seed)
    kept = resembling_rows(clouds, is_source, leaning_to(clouds, winters))
    assert [len(rows) for rows in kept] == [len(cloud) for cloud in clouds]


@pytest.mark.parametrize("is_source", [[True, True], [False, False]])
def test_nothing_is_cut_without_both_sources_and_targets(is_source):
    clouds = [np.random.default_rng(n).normal(size=(20 - 5 * n, 2)) for n in range(2)]
    kept = resembling_rows(clouds, np.array(is_source), even(clouds))
    assert [len(rows) for rows in kept] == [20, 15]


def test_a_target_of_one_row_is_no_pattern():
    clouds = [np.random.default_rng(0).normal(size=(20, 2)), np.zeros((1, 2))]
    kept = resembling_rows(clouds, np.array([True, False]), even(clouds))
    assert [len(rows) for rows in kept] == [20, 1]


def test_only_a_source_larger_than_the_median_target_and_wider_than_all_may_be_cut():
    rng = np.random.default_rng(0)
    sizes, is_source = [30, 10, 12, 14], np.array([True, False, False, False])
    clouds = [rng.normal(size=(size, 2)) for size in sizes]
    clouds[0] *= 5.0
    assert may_be_cut(clouds, is_source)
    assert not may_be_cut([clouds[0] / 50.0, *clouds[1:]], is_source)
    assert not may_be_cut([clouds[0][:12], *clouds[1:]], is_source)
    assert not may_be_cut(clouds, ~is_source)
    assert not may_be_cut(clouds, np.ones(4, dtype=bool))
    assert not may_be_cut(clouds, np.zeros(4, dtype=bool))


def test_what_is_too_large_to_match_is_not_cut():
    huge = np.zeros((MAP.matched_rows + 1, 2))
    assert not may_be_cut([huge, huge[:10]], np.array([True, False]))
    assert not may_be_cut([huge[:-1], huge], np.array([True, False]))


def test_nothing_is_cut_where_matching_would_have_to_be_perfect(monkeypatch):
    clouds, is_source, winters = seasons()
    monkeypatch.setattr(map_rows, "MAP", replace(MAP, max_matching_cost=0.0))
    kept = resembling_rows(clouds, is_source, leaning_to(clouds, winters))
    assert [len(rows) for rows in kept] == [len(cloud) for cloud in clouds]
