"""Graphs join what is close."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.geometry import DomainIndex, domain_graph

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
