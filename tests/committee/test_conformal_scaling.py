"""Factors that make deviations mean what they say."""

import numpy as np
import pytest
from scipy.stats import norm

from domindex.committee.committee import conformal_factors


def test_true_deviations_are_left_alone_and_wrong_ones_are_put_right():
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(20_000, 2)) * [1.0, 3.0]
    factors = conformal_factors(residuals, np.ones((20_000, 2)), np.ones(20_000))
    np.testing.assert_allclose(factors, [1.0, 3.0], rtol=0.03)


def test_an_interval_holds_its_share_where_that_asks_for_more_than_the_mean_square():
    residuals, weights = np.repeat([[0.1], [3.0]], [85, 15], axis=0), np.ones(100)
    (factor,) = conformal_factors(residuals, np.ones((100, 1)), weights)
    assert factor == pytest.approx(3.0 / norm.ppf(0.95))
    assert factor > np.sqrt((residuals**2).mean())


@pytest.mark.parametrize("freedom", [1.5, 2.0, 3.0])
def test_a_deviation_is_not_smaller_than_the_errors_where_tails_are_heavy(freedom):
    rng = np.random.default_rng(0)
    residuals, weights = rng.standard_t(freedom, size=(2000, 1)), rng.uniform(size=2000)
    (factor,) = conformal_factors(residuals, np.ones((2000, 1)), weights)
    assert factor == pytest.approx(np.sqrt(np.average(residuals[:, 0] ** 2, weights=weights)))
    inside = (np.abs(residuals) <= norm.ppf(0.95) * factor)[:, 0]
    assert weights[inside].sum() / weights.sum() > 0.9


def test_ordinary_errors_are_told_as_by_their_quantile_alone():
    rng = np.random.default_rng(0)
    changes = []
    for _ in range(50):
        residuals = rng.normal(size=(1000, 1))
        (factor,) = conformal_factors(residuals, np.ones((1000, 1)), np.ones(1000))
        changes.append(factor / (np.quantile(np.abs(residuals), 0.9) / norm.ppf(0.95)))
    assert 1.0 <= np.mean(changes) < 1.02


def test_a_single_row_or_no_residual_at_all_is_no_trouble():
    assert np.isfinite(conformal_factors(np.ones((1, 1)), np.ones((1, 1)), np.ones(1))).all()
    assert conformal_factors(np.zeros((9, 1)), np.ones((9, 1)), np.ones(9)) == 0.0
