"""Graphs join what is close."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.geometry import DomainIndex, domain_graph
from domindex.geometry import graph as graph_module
from domindex.geometry.graph import point_graph

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
def test_of_many_points_the_same_pairs_are_joined_without_all_distances(rule, monkeypatch):
    points = np.random.default_rng(0).normal(size=(40, 2))
    names = [f"d{number}" for number in range(40)]
    expected = point_graph(points, names, **rule)
    monkeypatch.setattr(graph_module, "MOST_DRAWN", 10)
    monkeypatch.setattr(graph_module, "pdist", lambda *_: pytest.fail("all distances"))
    found = point_graph(points, names, **rule)
    assert list(found.nodes) == names
    assert {frozenset(pair) for pair in found.edges} == {frozenset(p) for p in expected.edges}
    for first, second, length in expected.edges(data="distance"):
        assert found.edges[first, second]["distance"] == pytest.approx(length)
    with pytest.raises(InputError, match="exactly one"):
        point_graph(points, names)


def test_at_least_one_pair_of_many_points_is_joined(monkeypatch):
    monkeypatch.setattr(graph_module, "MOST_DRAWN", 10)
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
