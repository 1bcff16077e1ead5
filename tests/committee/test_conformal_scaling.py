"""Factors that make deviations mean what they say."""

import numpy as np
import pytest
from scipy.stats import norm

from domindex.committee.conformal_scaling import conformal_factors


def test_true_deviations_are_left_alone_and_wrong_ones_are_put_right():
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(20_000, 2)) * [1.0, 3.0]
    factors = conformal_factors(residuals, np.ones((20_000, 2)), np.ones(20_000))
    np.testing.assert_allclose(factors, [1.0, 3.0], rtol=0.03)


def test_nine_tenths_of_the_weight_lie_inside():
    rng = np.random.default_rng(0)
    residuals, weights = rng.standard_t(3, size=(500, 1)), rng.uniform(size=500)
    factor = conformal_factors(residuals, np.ones((500, 1)), weights)
    inside = (np.abs(residuals) <= norm.ppf(0.95) * factor)[:, 0]
    assert weights[inside].sum() / weights.sum() == pytest.approx(0.9, abs=0.01)


def test_a_single_row_or_no_residual_at_all_is_no_trouble():
    assert np.isfinite(conformal_factors(np.ones((1, 1)), np.ones((1, 1)), np.ones(1))).all()
    assert conformal_factors(np.zeros((9, 1)), np.ones((9, 1)), np.ones(9)) == 0.0
