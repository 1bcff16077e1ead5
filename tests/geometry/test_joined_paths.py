"""Tests of paths from new domains over the graph that they join."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from domindex.geometry.isomap import extend_paths, geodesic_distances, known_paths, mean_geodesics
from domindex.geometry.joined_paths import join_paths
from domindex.geometry.scaling import classical_scaling, place, procrustes_align

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
