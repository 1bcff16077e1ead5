"""Scaling recovers what was planted, keeps its orientation, and makes room for newcomers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist, squareform

from domindex.errors import InputError
from domindex.geometry import (
    DomainIndex,
    classical_scaling,
    geodesic_distances,
    place,
    procrustes_align,
    scaling_spectrum,
)
from domindex.geometry.domain_map import scaled_index
from domindex.geometry.scaling import extend_paths, join_paths, known_paths, mean_geodesics


def planted(seed: int = 0, n: int = 12, d: int = 3) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1)
    return points - points.mean(axis=0)


def test_scaling_recovers_a_planted_configuration():
    points = planted()
    found = classical_scaling(squareform(pdist(points)), 3)
    np.testing.assert_allclose(procrustes_align(found, points), points, atol=1e-8)


@pytest.mark.parametrize("off", [0.0, 1e-13, -1e-13])
def test_the_side_of_a_map_with_two_equal_ends_does_not_hang_on_rounding(off):
    points = np.array([0.0, 1.0, 3.0, 4.0 + off])
    found = classical_scaling(np.abs(points[:, None] - points), 1)[:, 0]
    np.testing.assert_allclose(found, [2.0, 1.0, -1.0, -2.0], atol=1e-9)


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


def test_an_index_knows_its_stress_and_spectrum():
    points = planted(d=2)
    index = DomainIndex.from_distances(list("abcdefghijkl"), squareform(pdist(points)))
    assert index.stress == pytest.approx(0.0, abs=1e-9)
    assert len(index.eigenvalues) == 12
    flat = DomainIndex.from_distances(range(12), squareform(pdist(planted(d=4))), n_components=1)
    assert flat.stress > 0.1


def test_renaming_domains_changes_only_the_names():
    distances = squareform(pdist(planted()))
    first = DomainIndex.from_distances(range(12), distances)
    second = DomainIndex.from_distances([f"site {n}" for n in range(12)], distances)
    np.testing.assert_array_equal(first.coordinates, second.coordinates)
    assert second.domains[3] == "site 3"


def test_an_index_cannot_be_changed():
    index = DomainIndex.from_distances(range(12), squareform(pdist(planted())))
    with pytest.raises(ValueError, match="read-only"):
        index.coordinates[0, 0] = 1.0


def test_an_index_needs_a_name_for_each_domain():
    with pytest.raises(InputError, match="3 domain names"):
        DomainIndex.from_distances("abc", np.zeros((4, 4)))


def test_a_domain_is_found_by_its_name_and_only_by_that():
    index = DomainIndex.from_distances(range(12), squareform(pdist(planted())))
    np.testing.assert_array_equal(index.find(3), index.coordinates[3])
    assert index.find("3") is None


def test_an_index_comes_back_from_its_state():
    index = DomainIndex.from_distances(["a", 1, ("b", 2)], squareform(pdist(planted(n=3))))
    again = DomainIndex.from_state(index.state())
    assert again.domains == index.domains
    assert again.stress == index.stress
    np.testing.assert_array_equal(again.coordinates, index.coordinates)
    np.testing.assert_array_equal(again.eigenvalues, index.eigenvalues)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"domains": ("a", "b")}, "no map of 2 domains"),
        ({"domains": ("a", "b", "b")}, "do not have a name each"),
        ({"domains": ()}, "do not have a name each"),
        ({"distances": np.zeros((3, 2))}, "no map of 3 domains"),
        ({"eigenvalues": np.zeros(2)}, "no map of 3 domains"),
        ({"coordinates": np.zeros((2, 2))}, "no map of 3 domains"),
        ({"coordinates": np.zeros(3)}, "no map of 3 domains"),
    ],
)
def test_a_damaged_index_is_refused(damage, message):
    state = DomainIndex.from_distances("abc", squareform(pdist(planted(n=3)))).state()
    with pytest.raises(ValueError, match=message):
        DomainIndex.from_state({**state, **damage})


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
    gaps = np.array([[0.5, 1.1, 2.05]])
    for number, expected in [(1, [0.5, 1.5, 2.5]), (2, [0.5, 1.1, 2.1]), (3, [0.5, 1.1, 2.05])]:
        paths = known_paths(corner, (number,))
        np.testing.assert_allclose(extend_paths(gaps, paths)[0], expected)


def test_a_new_domain_that_is_a_known_one_has_its_geodesics():
    places = np.array([0.0, 1.0, 2.5, 2.9, 7.0])
    direct = np.abs(places[:, None] - places) ** 0.9
    found = extend_paths(direct, known_paths(direct, (2,)))
    np.testing.assert_allclose(found, geodesic_distances(direct, 2), atol=1e-12)


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
    found = extend_paths(distances, known_paths(distances, (2, 3, 5)))
    np.testing.assert_allclose(found, mean_geodesics(distances, (2, 3, 5)), atol=1e-12)


def test_a_new_domain_is_joined_by_those_that_have_it_among_their_nearest():
    """Two known domains far apart, each other's only neighbour, and a new one between them."""
    distances = np.array([[0.0, 10.0], [10.0, 0.0]])
    (paths,) = known_paths(distances, (1,))
    gaps = np.array([[4.0, 6.5]])
    alone = replace(paths, reach=np.zeros(2))
    np.testing.assert_allclose(extend_paths(gaps, [alone]), [[4.0, 14.0]])
    np.testing.assert_allclose(extend_paths(gaps, [paths]), [[4.0, 6.5]])


@pytest.mark.parametrize("n_domains", [2, 3, 5])
def test_all_others_are_neighbours_where_more_are_asked_for(n_domains):
    places = np.arange(n_domains) ** 1.5
    distances = np.abs(places[:, None] - places)
    for paths in known_paths(distances, (n_domains - 1, n_domains, n_domains + 3)):
        np.testing.assert_array_equal(paths.reach, distances.max(axis=1))
        assert paths.nearest.shape == (n_domains, n_domains - 1)
        for number, others in enumerate(paths.nearest):
            assert set(others) == set(range(n_domains)) - {number}


NEIGHBORS = (3, 4, 5, 6)


@pytest.fixture(scope="module")
def arc():
    """Distances of 40 points, unevenly spread along a noisy arc."""
    rng = np.random.default_rng(0)
    angle = np.sort(rng.uniform(0.0, 4.0, 40))
    points = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.03 * rng.normal(size=(40, 2))
    return cdist(points, points)


def test_a_domain_that_coincides_with_a_known_one_has_its_paths(arc):
    paths = known_paths(arc, NEIGHBORS)
    found = join_paths(arc[[7, 20]], arc, paths)
    np.testing.assert_allclose(found, mean_geodesics(arc, NEIGHBORS)[[7, 20]], atol=1e-12)


def test_each_is_placed_as_if_it_had_come_alone(arc):
    known, new = arc[:30, :30], arc[30:, :30]
    paths = known_paths(known, NEIGHBORS)
    together = join_paths(new, known, paths)
    alone = [join_paths(one[None], known, paths)[0] for one in new]
    np.testing.assert_array_equal(together, alone)


def test_the_graph_is_the_one_that_geodesics_with_the_new_domain_have(arc):
    """By the definition: paths with it, less what it does to the paths of its nearest."""
    known, new, rest = arc[1:, 1:], arc[0, 1:], (3,)
    order = np.append(np.arange(1, 40), 0)
    with_it = geodesic_distances(arc[np.ix_(order, order)], 3)
    near = np.argsort(new)[:3]
    weights = (1.0 / new[near]) / (1.0 / new[near]).sum()
    without = geodesic_distances(known, 3)
    expected = with_it[-1, :-1] - weights @ (with_it[near, :-1] - without[near])
    found = join_paths(new[None], known, known_paths(known, rest))[0]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_places_are_nearer_to_those_of_a_map_drawn_with_them_than_by_paths_as_they_are(arc):
    reference = classical_scaling(mean_geodesics(arc, NEIGHBORS), 2)
    gaps = {"joined": [], "as they are": []}
    for left in range(0, 40, 4):
        kept = np.delete(np.arange(40), left)
        known, new = arc[np.ix_(kept, kept)], arc[[left]][:, kept]
        shown, paths = mean_geodesics(known, NEIGHBORS), known_paths(known, NEIGHBORS)
        drawn = procrustes_align(classical_scaling(shown, 2), reference[kept])
        for name, lengths in (
            ("joined", join_paths(new, known, paths)),
            ("as they are", extend_paths(new, paths)),
        ):
            found = place(lengths, drawn, shown)[0]
            gaps[name].append(np.linalg.norm(found - reference[left]))
    assert np.median(gaps["joined"]) < 0.8 * np.median(gaps["as they are"])


def test_two_groups_far_apart_are_bridged():
    points = np.append(np.arange(4.0), 100.0 + np.arange(4.0))[:, None]
    known = cdist(points, points)
    found = join_paths(cdist([[1.4]], points), known, known_paths(known, (1,)))
    np.testing.assert_allclose(found, cdist([[1.4]], points), atol=1e-9)


def test_distances_that_were_not_measured_are_no_neighbours(arc):
    known, new = arc[:30, :30], arc[35, :30].copy()
    paths = known_paths(known, (3,))
    near = np.argsort(new)[:12]
    cut = np.full(30, np.inf)
    cut[near] = new[near]
    np.testing.assert_array_equal(
        join_paths(cut[None], known, paths), join_paths(new[None], known, paths)
    )


@pytest.mark.parametrize("n_known", [1, 2, 3])
def test_fewer_domains_than_neighbours(n_known):
    points = np.arange(float(n_known))[:, None]
    known = cdist(points, points)
    gaps = cdist([[0.25]], points)
    found = join_paths(gaps, known, known_paths(known, NEIGHBORS))
    np.testing.assert_allclose(found, gaps, atol=1e-12)


def test_identical_domains():
    known = np.zeros((5, 5))
    found = join_paths(np.full((1, 5), 2.0), known, known_paths(known, (2, 3)))
    np.testing.assert_allclose(found, 2.0)
