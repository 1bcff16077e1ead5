"""Metrics at their extremes, where the answer is known."""

import networkx as nx
import numpy as np
import pytest

from domindex.errors import InputError
from domindex.evaluation import graph_auc, index_correlation, linear_r2
from domindex.geometry import DomainIndex

LINE = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))


def line_index() -> DomainIndex:
    return DomainIndex.from_distances(list("abcdef"), LINE)


def test_a_map_that_puts_joined_domains_closest_has_auc_one():
    path = nx.path_graph(list("abcdef"))
    assert graph_auc(line_index(), path) == 1.0
    assert graph_auc(line_index(), nx.complement(path)) == 0.0


def test_a_graph_with_other_names_or_without_contrast_is_refused():
    with pytest.raises(InputError, match="lacks the domain 'a'"):
        graph_auc(line_index(), nx.path_graph(6))
    with pytest.raises(InputError, match="all pairs or none"):
        graph_auc(line_index(), nx.complete_graph(list("abcdef")))


def test_correlation_ignores_direction_scale_and_rotation():
    truth = np.arange(6.0)
    points = np.outer(truth, [-3.0, 4.0])
    assert index_correlation(points, truth) == pytest.approx(1.0)


def test_r2_is_one_for_any_linear_reading_and_low_for_noise():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 2))
    assert linear_r2(points, points @ [1.0, -2.0] + 7.0) == pytest.approx(1.0)
    assert linear_r2(points, rng.normal(size=200)) < 0.1


def test_truths_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="one number per domain"):
        linear_r2(np.zeros((3, 2)), np.zeros(4))
    with pytest.raises(InputError, match="same number"):
        index_correlation(np.zeros((3, 2)), np.ones(3))
