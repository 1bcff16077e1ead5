"""Scaling recovers what was planted, keeps its orientation, and makes room for newcomers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist, squareform

from domindex.errors import InputError
from domindex.geometry import (
    classical_scaling,
    place,
    procrustes_align,
    scaling_spectrum,
)
from domindex.geometry.map_scaling import scaled_index


def planted(seed: int = 0, n: int = 12, d: int = 3) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1)
    return points - points.mean(axis=0)


def test_scaling_recovers_a_planted_configuration():
    points = planted()
    found = classical_scaling(squareform(pdist(points)), 3)
    np.testing.assert_allclose(procrustes_align(found, points), points, atol=1e-8)


def test_components_beyond_the_number_of_domains_are_zero():
    found = classical_scaling([[0.0, 2.0], [2.0, 0.0]], 3)
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found[:, 1:], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(found[:, 0]), 1.0)


def test_one_domain_lies_at_the_origin():
    np.testing.assert_array_equal(classical_scaling([[0.0]], 2), [[0.0, 0.0]])


def test_the_spectrum_shows_how_many_directions_there_are():
    spectrum = scaling_spectrum(squareform(pdist(planted(d=2))))
    assert (spectrum[:2] > 1.0).all()
    np.testing.assert_allclose(spectrum[2:], 0.0, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000))
def test_permuting_domains_permutes_the_map(seed):
    distances = squareform(pdist(planted(seed)))
    order = np.random.default_rng(seed).permutation(len(distances))
    before = classical_scaling(distances, 2)
    after = classical_scaling(distances[np.ix_(order, order)], 2)
    np.testing.assert_allclose(after, before[order], atol=1e-7)


def test_alignment_undoes_a_rotation_a_flip_and_a_shift():
    points = planted(d=2) + 5.0
    turn = np.array([[0.6, -0.8], [0.8, 0.6]]) @ np.diag([1.0, -1.0])
    np.testing.assert_allclose(procrustes_align(points @ turn - 3.0, points), points, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), shift=st.floats(-10, 10))
def test_a_placed_point_lands_where_it_was_planted(seed, shift):
    points = planted(seed) + shift
    newcomers = np.random.default_rng(seed + 1).normal(size=(2, 3)) * 3
    gaps = cdist(newcomers, points)
    np.testing.assert_allclose(place(gaps, points), newcomers, atol=1e-6)
    np.testing.assert_allclose(place(gaps[0], points), newcomers[0], atol=1e-6)


def test_placing_a_known_domain_returns_its_own_point():
    points = planted(d=5)
    distances = squareform(pdist(points))
    flat = classical_scaling(distances, 2)
    np.testing.assert_allclose(place(distances, flat, distances), flat, atol=1e-6)


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        ([[0.0, 1.0]], "shape"),
        (np.zeros((0, 0)), "shape"),
        ([[0.0, 1.0], [2.0, 0.0]], "not symmetric"),
        ([[1.0, 1.0], [1.0, 1.0]], "zero diagonal"),
        ([[0.0, np.nan], [np.nan, 0.0]], "NaN"),
        ([[0.0, -1.0], [-1.0, 0.0]], "negative"),
    ],
)
def test_matrices_that_are_no_distances_are_refused(matrix, word):
    with pytest.raises(InputError, match=word):
        classical_scaling(matrix, 2)


def test_mismatched_shapes_are_refused():
    with pytest.raises(InputError, match="same order"):
        procrustes_align(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(InputError, match="every known domain"):
        place(np.zeros(3), np.zeros((4, 2)))
    with pytest.raises(InputError, match="NaN"):
        place(np.full(4, np.nan), np.zeros((4, 2)))
    with pytest.raises(InputError, match="n_components"):
        classical_scaling(np.zeros((2, 2)), 0)


def test_distances_that_differ_by_rounding_are_symmetric_enough():
    almost = np.array([[0.0, 1.0, 1e-8], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert classical_scaling(almost, 1).shape == (3, 1)
    almost[0, 2] = 1.1e-8
    with pytest.raises(InputError, match="not symmetric"):
        classical_scaling(almost, 1)


def test_the_spectrum_of_a_map_is_that_of_its_distances():
    points = 7.0 * planted()
    index, unit = scaled_index(range(12), squareform(pdist(points)), (), 2, None)
    assert unit != pytest.approx(1.0)
    np.testing.assert_allclose(index.eigenvalues, scaling_spectrum(index.distances), atol=1e-9)
