import networkx as nx
import numpy as np
import pytest

from domindex.datasets import DomainDataset


def two_domains(X: np.ndarray, graph: nx.Graph | None = None) -> DomainDataset:
    return DomainDataset(
        name="two",
        X=X,
        y=np.array([0, 1, 0]),
        sample_domain=np.array(["b", "a", "b"]),
        source_domains=["b"],
        domains=["a", "b"],
        task="classification",
        true_index=None,
        index_names=(),
        graph=graph,
        description="",
    )


def test_sources_and_targets_share_out_the_domains_and_the_rows():
    dataset = two_domains(np.zeros((3, 1)))
    assert dataset.target_domains == ["a"]
    np.testing.assert_array_equal(dataset.is_source, [True, False, True])


@pytest.mark.parametrize("field", ["X", "y", "sample_domain"])
def test_arrays_refuse_to_be_written_to(field):
    with pytest.raises(ValueError, match="read-only"):
        getattr(two_domains(np.zeros((3, 1))), field)[0] = 1


def test_changing_the_callers_array_or_graph_changes_nothing():
    X, graph = np.zeros((3, 1)), nx.path_graph(["a", "b"])
    dataset = two_domains(X, graph)
    X += 1
    graph.remove_edge("a", "b")
    assert not dataset.X.any()
    assert dataset.graph.has_edge("a", "b")
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        dataset.graph.add_node("c")


def test_fields_cannot_be_replaced():
    with pytest.raises(AttributeError):
        two_domains(np.zeros((3, 1))).name = "other"


def test_it_shows_itself_in_one_line():
    expected = "DomainDataset('two': classification, X (3, 1), 2 domains, 1 of them sources)"
    assert repr(two_domains(np.zeros((3, 1)))) == expected
