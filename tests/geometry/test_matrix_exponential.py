"""Exponentials of stacks of matrices against closed forms and SciPy's."""

import numpy as np
import pytest
from scipy.linalg import expm

from domindex.geometry.matrix_exponential import exponentials


def test_a_quarter_turn_is_the_exponential_of_its_angle():
    angles = np.linspace(0.0, 20.0, 7)
    turns = exponentials(angles[:, None, None] * np.array([[0.0, -1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(turns[:, 0, 0], np.cos(angles), atol=1e-12)
    np.testing.assert_allclose(turns[:, 1, 0], np.sin(angles), atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 14])
@pytest.mark.parametrize("scale", [1e-6, 0.1, 3.0])
def test_scipy_agrees(size, scale):
    matrices = scale * np.random.default_rng(size).normal(size=(20, size, size))
    expected = expm(matrices)
    largest = np.abs(expected).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(exponentials(matrices) / largest, expected / largest, atol=1e-12)


def test_small_and_large_matrices_share_a_stack():
    matrices = np.stack([np.zeros((4, 4)), 1e-3 * np.ones((4, 4)), 5.0 * np.eye(4)])
    np.testing.assert_allclose(exponentials(matrices), expm(matrices), rtol=1e-12, atol=1e-15)


def test_what_is_not_finite_has_no_exponential_and_raises_nothing():
    assert np.isnan(exponentials(np.full((2, 3, 3), np.inf))).all()


def test_no_matrices_have_no_exponentials():
    assert exponentials(np.empty((0, 3, 3))).shape == (0, 3, 3)
