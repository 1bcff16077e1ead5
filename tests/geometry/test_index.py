"""A map of domains as a value."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from domindex.errors import InputError
from domindex.geometry import DomainIndex


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
