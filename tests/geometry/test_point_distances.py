"""Distances between points of a map, few and many."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from domindex.geometry.landmarks import MOST_DRAWN
from domindex.geometry.neighbors import DomainWeb, tree_of_points
from domindex.geometry.point_distances import PointDistances, nearest_points

MANY = np.random.default_rng(0).normal(size=(MOST_DRAWN + 100, 2))
SOME, OTHERS = np.array([3, 5, 7]), np.array([0, 1, 599])


@pytest.mark.parametrize("points", [MANY[:100], MANY])
def test_rows_and_nearest_are_those_of_the_matrix(points):
    found, matrix = PointDistances.of(points), cdist(points, points)
    assert (found.matrix is None) == (len(points) > MOST_DRAWN)
    others = np.minimum(OTHERS, len(points) - 1)
    np.testing.assert_allclose(found.row(4), matrix[4], atol=1e-12)
    expected = matrix[np.ix_(SOME, others)].min(axis=1)
    np.testing.assert_allclose(found.to_nearest(SOME, others), expected, atol=1e-12)


@pytest.mark.parametrize("points", [MANY[:100], MANY])
def test_the_nearest_are_others_also_where_points_coincide(points):
    doubled = np.vstack([points, points])
    numbers, gaps = nearest_points(doubled, 3)
    assert (numbers != np.arange(len(doubled))[:, None]).all()
    np.testing.assert_allclose(gaps[:, 0], 0.0, atol=1e-12)
    assert all(len(set(row)) == 3 for row in numbers.tolist())


def test_own_is_left_out_among_many_goals():
    own = np.array([10, -1])
    numbers, gaps = nearest_points(MANY[[10, 11]], 2, MANY, own)
    assert 10 not in numbers[0]
    assert numbers[1, 0] == 11
    assert gaps[1, 0] == 0.0


def test_the_tree_of_many_points_reaches_all_by_short_steps():
    points = np.vstack([MANY, MANY[:50], MANY + 30.0])
    tree = tree_of_points(points)
    assert tree.nnz == 2 * (len(points) - 1)
    steps = np.sort(tree.data)[::2]
    assert steps[-1] < 45.0
    assert steps[-2] < 2.0
    web = DomainWeb.of(points, np.arange(len(points)) == 0, 0.1)
    assert web.arrival[0] == 0.0
    assert web.arrival.max() == 1.0
    assert len(np.unique(web.arrival)) == len(points)


def test_links_of_many_points_join_about_the_share_that_was_asked_for():
    web = DomainWeb.of(MANY, np.arange(len(MANY)) < 5, 0.2)
    links = web.links_among(np.arange(400))
    assert not links.diagonal().any()
    assert (links == links.T).all()
    assert links[np.triu_indices(400, 1)].mean() == pytest.approx(0.2, abs=0.05)
    assert set(web.next_to(7, np.arange(len(MANY)))) <= set(web.tree[[7]].indices)


def test_the_tree_of_two_points_is_the_way_between_them():
    tree = tree_of_points(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(tree.toarray(), [[0.0, 5.0], [5.0, 0.0]])
