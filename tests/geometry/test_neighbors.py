"""Which domains are joined, and which are nearest."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from domindex.errors import InputError
from domindex.geometry import DomainIndex, domain_graph, neighbors
from domindex.geometry.neighbors import DomainWeb, PointDistances, nearest_points, point_graph
from domindex.geometry.settings import MAP


def test_a_spanning_tree_is_the_chain_of_a_line_even_where_domains_coincide():
    points = np.array([0.0, 0.0, 1.0, 3.0])[:, None]
    web = DomainWeb.of(points, 0.5)
    assert web.tree.nnz == 2 * 3
    assert 1 in web.next_to(0, np.arange(4))
    assert web.next_to(3, np.arange(4)).tolist() == [2]


def test_next_to_a_domain_are_those_it_has_a_step_to():
    points = np.array([[0.0], [1.0], [2.0], [4.0]])
    web = DomainWeb.of(points, 0.5)
    everybody = np.array([3, 2, 1, 0])
    found = [web.next_to(domain, everybody).tolist() for domain in range(4)]
    assert found == [[1], [2, 0], [3, 1], [2]]
    assert web.next_to(1, np.array([0, 3])).tolist() == [0]


MANY = np.random.default_rng(0).normal(size=(MAP.max_drawn + 100, 2))
SOME, OTHERS = np.array([3, 5, 7]), np.array([0, 1, 599])


@pytest.mark.parametrize("points", [MANY[:100], MANY])
def test_rows_and_nearest_are_those_of_the_matrix(points):
    found, matrix = PointDistances(points), cdist(points, points)
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
    web = DomainWeb.of(points, 0.1)
    tree = web.tree
    assert tree.nnz == 2 * (len(points) - 1)
    steps = np.sort(tree.data)[::2]
    assert steps[-1] < 45.0
    assert steps[-2] < 2.0


def test_links_of_many_points_join_about_the_share_that_was_asked_for():
    web = DomainWeb.of(MANY, 0.2)
    links = web.links_among(np.arange(400))
    assert not links.diagonal().any()
    assert (links == links.T).all()
    assert links[np.triu_indices(400, 1)].mean() == pytest.approx(0.2, abs=0.05)
    assert set(web.next_to(7, np.arange(len(MANY)))) <= set(web.tree[[7]].indices)


def test_the_tree_of_two_points_is_the_way_between_them():
    tree = DomainWeb.of(np.array([[0.0, 0.0], [3.0, 4.0]]), 1.0).tree
    np.testing.assert_allclose(tree.toarray(), [[0.0, 5.0], [5.0, 0.0]])


LINE = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))


def test_pairs_are_joined_by_threshold_quantile_or_neighbours():
    path = {(i, i + 1) for i in range(5)}
    assert set(domain_graph(LINE, threshold=1.0).edges) == path
    assert set(domain_graph(LINE, quantile=1 / 3).edges) == path
    assert path <= set(domain_graph(LINE, n_neighbors=2).edges)
    assert domain_graph(LINE, quantile=1.0).number_of_edges() == 15


def test_a_graph_of_an_index_bears_its_names_and_map_distances():
    index = DomainIndex.from_distances(list("abcdef"), LINE, n_components=1)
    graph = domain_graph(index, threshold=1.0 + 1e-9)
    assert set(graph.nodes) == set("abcdef")
    assert graph.edges["a", "b"]["distance"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "rule", [{"threshold": 0.8}, {"quantile": 0.1}, {"n_neighbors": 3}], ids=str
)
def test_of_points_the_same_pairs_are_joined_without_all_distances(rule, monkeypatch):
    points = np.random.default_rng(0).normal(size=(40, 2))
    names = [f"d{number}" for number in range(40)]
    expected = domain_graph(cdist(points, points), **rule, domains=names)
    monkeypatch.setattr(neighbors, "MAP", replace(neighbors.MAP, max_drawn=10))
    monkeypatch.setattr(neighbors, "cdist", lambda *_: pytest.fail("all distances"))
    found = point_graph(points, names, **rule)
    assert list(found.nodes) == names
    assert {frozenset(pair) for pair in found.edges} == {frozenset(p) for p in expected.edges}
    for first, second, length in expected.edges(data="distance"):
        assert found.edges[first, second]["distance"] == pytest.approx(length)
    with pytest.raises(InputError, match="exactly one"):
        point_graph(points, names)


def test_at_least_one_pair_of_points_is_joined():
    points = np.array([[2.0**number, 0.0] for number in range(12)])
    assert list(point_graph(points, range(12), quantile=1e-6).edges) == [(0, 1)]


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ({"n_neighbors": 0}, "1 to 5"),
        ({"threshold": True}, "Pass a number"),
        ({"quantile": "half"}, "Pass a number"),
        ({}, "exactly one"),
        ({"threshold": 1.0, "quantile": 0.5}, "exactly one"),
        ({"quantile": 0.0}, "share of the pairs"),
        ({"n_neighbors": 6}, "1 to 5"),
        ({"threshold": 1.0, "domains": "ab"}, "2 nodes"),
    ],
)
def test_rules_that_do_not_fit_are_refused(rule, word):
    with pytest.raises(InputError, match=word):
        domain_graph(LINE, **rule)
