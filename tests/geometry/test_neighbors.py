"""Which domains are joined, and in which order they are reached."""

import numpy as np
from scipy.spatial.distance import pdist, squareform

from domindex.geometry.neighbors import DomainWeb, order_of_arrival, spanning_tree

LINE = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))


def test_a_spanning_tree_is_the_chain_of_a_line_even_where_domains_coincide():
    points = np.array([0.0, 0.0, 1.0, 3.0])[:, None]
    tree = spanning_tree(squareform(pdist(points)))
    assert tree.sum() == 2 * 3
    assert tree[0, 1]
    assert tree[2, 3]


def test_domains_arrive_in_the_order_of_their_way_from_the_starts():
    starts = np.array([False, True, False, False, False, False])
    np.testing.assert_allclose(order_of_arrival(LINE, starts), [0.2, 0, 0.4, 0.6, 0.8, 1.0])


def test_next_to_a_domain_are_those_it_has_a_step_to():
    points = np.array([[0.0], [1.0], [2.0], [4.0]])
    web = DomainWeb.of(points, np.array([True, False, False, False]), 0.5)
    everybody = np.array([3, 2, 1, 0])
    found = [web.next_to(domain, everybody).tolist() for domain in range(4)]
    assert found == [[1], [2, 0], [3, 1], [2]]
    assert web.next_to(1, np.array([0, 3])).tolist() == [0]
