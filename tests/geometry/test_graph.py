"""Geodesics unroll curves; graphs join what is close."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from domindex.errors import InputError
from domindex.geometry import DomainIndex, domain_graph, geodesic_distances
from domindex.geometry.neighbors import order_of_arrival, spanning_tree

LINE = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))


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
    ("rule", "word"),
    [
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


def test_geodesics_need_a_neighbour():
    with pytest.raises(InputError, match="n_neighbors is 0"):
        geodesic_distances(LINE, 0)


def test_a_spanning_tree_is_the_chain_of_a_line_even_where_domains_coincide():
    points = np.array([0.0, 0.0, 1.0, 3.0])[:, None]
    tree = spanning_tree(squareform(pdist(points)))
    assert tree.sum() == 2 * 3
    assert tree[0, 1]
    assert tree[2, 3]


def test_domains_arrive_in_the_order_of_their_way_from_the_starts():
    starts = np.array([False, True, False, False, False, False])
    np.testing.assert_allclose(order_of_arrival(LINE, starts), [0.2, 0, 0.4, 0.6, 0.8, 1.0])
