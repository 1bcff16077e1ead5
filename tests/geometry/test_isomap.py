"""Geodesics unroll curves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from domindex.errors import InputError
from domindex.geometry import geodesic_distances
from domindex.geometry.isomap import (
    extend_geodesics,
    extend_mean_geodesics,
    known_paths,
    mean_geodesics,
)

LINE = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))


def chords_of_an_arc(n_domains=9, seed=0) -> np.ndarray:
    jitter = np.random.default_rng(seed).normal(size=(n_domains, 2)) * 0.1
    angles = np.linspace(0.0, 1.5 * np.pi, n_domains)
    return squareform(pdist(5 * np.c_[np.cos(angles), np.sin(angles)] + jitter))


def test_geodesics_measure_along_an_arc():
    angles = np.linspace(0, np.pi, 60)
    chords = squareform(pdist(np.c_[np.cos(angles), np.sin(angles)]))
    assert chords[0, -1] == pytest.approx(2.0)
    assert geodesic_distances(chords, 2)[0, -1] == pytest.approx(np.pi, rel=1e-3)


def test_components_are_bridged_by_the_shortest_missing_pair():
    points = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])[:, None]
    paths = geodesic_distances(squareform(pdist(points)), 1)
    assert paths[2, 3] == pytest.approx(8.0)
    assert paths[0, 5] == pytest.approx(12.0)


def test_identical_domains_stay_joined_at_no_distance():
    points = np.array([0.0, 0.0, 0.0, 1.0])[:, None]
    paths = geodesic_distances(squareform(pdist(points)), 1)
    assert paths[0, 2] == 0.0
    assert paths[0, 3] == pytest.approx(1.0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), k=st.integers(1, 20))
def test_paths_are_never_shorter_than_the_distance_and_permute_with_the_domains(seed, k):
    rng = np.random.default_rng(seed)
    distances = squareform(pdist(rng.normal(size=(9, 2))))
    paths = geodesic_distances(distances, k)
    assert (paths >= distances - 1e-12).all()
    assert np.isfinite(paths).all()
    order = rng.permutation(9)
    permuted = geodesic_distances(distances[np.ix_(order, order)], k)
    np.testing.assert_allclose(permuted, paths[np.ix_(order, order)], atol=1e-12)


def test_geodesics_need_a_neighbour():
    with pytest.raises(InputError, match="n_neighbors is 0"):
        geodesic_distances(LINE, 0)


def test_a_path_from_a_new_domain_starts_at_one_of_its_neighbours():
    corner = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    gaps = np.array([0.5, 1.1, 1.2])
    np.testing.assert_allclose(extend_geodesics(gaps, corner, 1), [0.5, 1.5, 2.5])
    np.testing.assert_allclose(extend_geodesics(gaps, corner, 2), [0.5, 1.1, 2.1])
    np.testing.assert_allclose(extend_geodesics(gaps, corner, 3), [0.5, 1.1, 1.2])


def test_a_new_domain_that_is_a_known_one_has_its_geodesics():
    places = np.array([0.0, 1.0, 2.5, 2.9, 7.0])
    direct = np.abs(places[:, None] - places) ** 0.9
    geodesics = geodesic_distances(direct, 2)
    for number in range(5):
        paths = extend_geodesics(direct[number], geodesics, 2)
        np.testing.assert_allclose(paths, geodesics[number], atol=1e-12)


def test_mean_geodesics_of_one_neighbourhood_are_its_geodesics():
    distances = chords_of_an_arc()
    np.testing.assert_allclose(mean_geodesics(distances, (3,)), geodesic_distances(distances, 3))


def test_mean_geodesics_weigh_every_neighbourhood_alike():
    distances = chords_of_an_arc()
    short, long = (geodesic_distances(distances, k) for k in (5, 2))
    expected = (long + short * long.mean() / short.mean()) / 2
    np.testing.assert_allclose(mean_geodesics(distances, (2, 5)), expected)


def test_identical_domains_have_no_geodesics_to_speak_of():
    assert not mean_geodesics(np.zeros((4, 4)), (2, 3)).any()


def test_a_known_domain_has_its_own_mean_geodesics():
    distances = chords_of_an_arc()
    expected = mean_geodesics(distances, (2, 3, 5))
    for number in range(9):
        paths = extend_mean_geodesics(distances[number], distances, (2, 3, 5))
        np.testing.assert_allclose(paths, expected[number], atol=1e-12)


def test_a_new_domain_is_joined_by_those_that_have_it_among_their_nearest():
    """Two known domains far apart, each other's only neighbour, and a new one between them."""
    distances = np.array([[0.0, 10.0], [10.0, 0.0]])
    gaps = np.array([4.0, 6.5])
    np.testing.assert_allclose(extend_geodesics(gaps, distances, 1), [4.0, 14.0])
    np.testing.assert_allclose(extend_mean_geodesics(gaps, distances, (1,)), [4.0, 6.5])


@pytest.mark.parametrize("n_domains", [2, 3, 5])
def test_all_others_are_neighbours_where_more_are_asked_for(n_domains):
    places = np.arange(n_domains) ** 1.5
    distances = np.abs(places[:, None] - places)
    for paths in known_paths(distances, (n_domains - 1, n_domains, n_domains + 3)):
        np.testing.assert_array_equal(paths.reach, distances.max(axis=1))
        assert paths.nearest.shape == (n_domains, n_domains - 1)
        for number, others in enumerate(paths.nearest):
            assert set(others) == set(range(n_domains)) - {number}
