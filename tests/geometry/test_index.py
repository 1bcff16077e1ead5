"""A map of domains as a value."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from domindex.errors import InputError
from domindex.geometry import DomainIndex, domain_graph, neighbors
from domindex.geometry.neighbors import point_graph


def planted(seed: int = 0, n: int = 12, d: int = 3) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1)
    return points - points.mean(axis=0)


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
    monkeypatch.setattr(neighbors, "MAP", replace(neighbors.MAP, max_drawn=10))
    monkeypatch.setattr(neighbors, "pdist", lambda *_: pytest.fail("all distances"))
    found = point_graph(points, names, **rule)
    assert list(found.nodes) == names
    assert {frozenset(pair) for pair in found.edges} == {frozenset(p) for p in expected.edges}
    for first, second, length in expected.edges(data="distance"):
        assert found.edges[first, second]["distance"] == pytest.approx(length)
    with pytest.raises(InputError, match="exactly one"):
        point_graph(points, names)


def test_at_least_one_pair_of_many_points_is_joined(monkeypatch):
    monkeypatch.setattr(neighbors, "MAP", replace(neighbors.MAP, max_drawn=10))
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
