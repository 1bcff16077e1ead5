"""Figures draw what they are given, and return their Axes."""

import networkx as nx
import numpy as np
import pytest
from matplotlib.figure import Figure

from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.reporting import plot_domain_map

LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))


def index(n_components: int = 2) -> DomainIndex:
    return DomainIndex.from_distances(["a", "b", "$x_", "d"], LINE, n_components)


def test_a_map_names_every_domain_and_marks_sources():
    axes = plot_domain_map(index(), source_domains=["a"], color=range(4), color_label="year")
    assert {text.get_text() for text in axes.texts} == {"a", "b", "$x_", "d"}
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["source", "target"]
    axes.figure.canvas.draw()


def test_a_given_axes_is_used_and_a_graph_is_drawn():
    axes = Figure().add_subplot()
    graph = nx.Graph([("a", "b"), ("b", "elsewhere")])
    assert plot_domain_map(index(1), graph=graph, ax=axes) is axes
    assert len(axes.lines) == 1


def test_uncertainty_is_drawn_as_an_ellipse_per_domain():
    axes = plot_domain_map(index(), std=np.full((4, 2), 0.3))
    assert len(axes.patches) == 4
    assert axes.patches[0].width == pytest.approx(0.6)
    with pytest.raises(InputError, match="3 rows for 4 domains"):
        plot_domain_map(index(), std=np.ones((3, 2)))


def test_colours_must_match_the_domains():
    with pytest.raises(InputError, match="3 numbers for 4 domains"):
        plot_domain_map(index(), color=[1, 2, 3])
