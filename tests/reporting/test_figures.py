"""Figures draw what they are given, and return their Axes."""

import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.geometry.distances import distances_to_sources
from domindex.reporting import (
    plot_domain_graph,
    plot_domain_map,
    plot_history,
    plot_index_against_truth,
    plot_local_indices,
    plot_map_on_positions,
    plot_montage,
    plot_scores_by_distance,
    plot_scores_by_domain,
)

LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
DOMAINS = ["a", "b", "$x_", "d"]
CHAIN = nx.path_graph(DOMAINS)
PICTURES = np.random.default_rng(0).random((4, 8, 10))
HISTORY = pd.DataFrame(
    {"phase": ["index", "index", "encoding"], "step": [4, 8, 4], "contrastive": [3.0, 2.0, None]}
)


def index(n_components: int = 2) -> DomainIndex:
    return DomainIndex.from_distances(DOMAINS, LINE, n_components)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def written(axes):
    return {text.get_text() for text in axes.texts}


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot_domain_map(index(), ax=ax),
        lambda ax: plot_map_on_positions(index(), np.eye(4)[:, :2] + LINE[:, :2], ax=ax),
        lambda ax: plot_index_against_truth(index(), range(4), ax=ax),
        lambda ax: plot_domain_graph(CHAIN, ax=ax),
        lambda ax: plot_local_indices(np.eye(4), DOMAINS, ax=ax),
        lambda ax: plot_history(HISTORY, ax=ax),
        lambda ax: plot_montage(index(), PICTURES, DOMAINS, ax=ax),
        lambda ax: plot_scores_by_domain({"a": 1.0, "$x_": 0.5}, ax=ax),
        lambda ax: plot_scores_by_distance(index(), {"d": 1.0}, source_domains=["a"], ax=ax),
    ],
)
def test_every_figure_uses_the_axes_it_is_given(draw):
    axes = Figure().add_subplot()
    assert draw(axes) is axes
    axes.figure.draw_without_rendering()


def test_a_map_names_every_domain_and_marks_sources():
    axes = plot_domain_map(index(), source_domains=["a"], color=range(4), color_label="year")
    assert written(axes) == {"a", "b", "$x_", "d"}
    assert legend(axes) == ["source", "target"]
    axes.figure.draw_without_rendering()


def test_a_map_with_one_component_lies_on_a_line_and_shows_a_graph():
    axes = plot_domain_map(index(1), graph=nx.Graph([("a", "b"), ("b", "elsewhere")]))
    assert len(axes.lines) == 1
    assert not axes.collections[0].get_offsets()[:, 1].any()


def test_uncertainty_is_drawn_as_an_ellipse_per_domain():
    axes = plot_domain_map(index(), std=np.full((4, 2), 0.3))
    assert len(axes.patches) == 4
    assert axes.patches[0].width == pytest.approx(0.6)
    with pytest.raises(InputError, match="3 rows for 4 domains"):
        plot_domain_map(index(), std=np.ones((3, 2)))


def test_texts_colour_by_group():
    axes = plot_domain_map(index(), color=["n", "n", "s", "s"], source_domains=["a"])
    assert legend(axes) == ["n, source", "n, target", "s, target"]


def test_numbers_share_one_scale_and_a_gap_is_grey():
    axes = plot_domain_map(index(), color=[0.0, np.nan, 1.0, 2.0], source_domains=["a"])
    axes.figure.draw_without_rendering()
    source, target = (drawn for drawn in axes.collections if len(drawn.get_offsets()))
    np.testing.assert_allclose(source.get_facecolor()[0][:3], (0.267, 0.005, 0.329), atol=1e-2)
    np.testing.assert_allclose(target.get_facecolor()[0][:3], 0.8)
    np.testing.assert_allclose(target.get_facecolor()[-1][:3], (0.993, 0.906, 0.144), atol=1e-2)


@pytest.mark.parametrize(
    ("color", "message"),
    [([1, 2, 3], "3 numbers for 4 domains"), (list("abcdefghi"), "9 numbers for 4 domains")],
)
def test_colours_must_match_the_domains(color, message):
    with pytest.raises(InputError, match=message):
        plot_domain_map(index(), color=color)


def test_more_groups_than_colours_are_refused():
    many = DomainIndex.from_distances(range(9), np.ones((9, 9)) - np.eye(9))
    with pytest.raises(InputError, match="9 different texts"):
        plot_domain_map(many, color=list("abcdefghi"))


def test_a_map_that_is_the_truth_turned_lies_on_it():
    known = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    apart = np.linalg.norm(known[:, None] - known, axis=-1) * 7.0
    axes = plot_map_on_positions(DomainIndex.from_distances(DOMAINS, apart), known)
    for line in axes.lines:
        np.testing.assert_allclose(*line.get_xydata(), atol=1e-9)
    assert axes.get_title() == "The map explains 100% of the positions"
    with pytest.raises(InputError, match=r"shape \(4, 1\) for 4 domains"):
        plot_map_on_positions(index(), known[:, :1])


@pytest.mark.parametrize("truth", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_an_index_that_follows_the_truth_rises_with_it(truth):
    axes = plot_index_against_truth(index(), truth, truth_label="angle", source_domains=["d"])
    points = np.vstack([drawn.get_offsets() for drawn in axes.collections])
    assert (np.diff(points[np.argsort(points[:, 0])][:, 1]) > 0).all()
    assert axes.get_title() == "|r| = 1.000"
    assert axes.get_xlabel() == "angle"


def test_a_graph_tells_edges_of_both_from_those_of_one():
    inferred = nx.Graph([("a", "b"), ("b", "$x_"), ("a", "d")])
    axes = plot_domain_graph(inferred, CHAIN, source_domains=["a"])
    expected = ["in both (2)", "inferred only (1)", "true only (1)", "source", "target"]
    assert legend(axes) == expected
    ends = [np.isnan(line.get_xdata()).sum() for line in axes.lines]  # one after every edge
    assert ends == [2, 1, 1]


def test_graphs_of_other_domains_and_missing_places_are_refused():
    with pytest.raises(InputError, match="'d'"):
        plot_domain_graph(CHAIN, nx.path_graph(["a", "b", "$x_"]))
    with pytest.raises(InputError, match="positions lacks 'b'"):
        plot_domain_graph(nx.Graph([("a", "b")]), positions={"a": (0, 0)})


def test_local_indices_of_chosen_domains_only():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    axes = plot_local_indices(rows, [*"aabb"] * 10, domains=["b"])
    assert len(axes.collections) == 1
    assert len(axes.collections[0].get_offsets()) == 20
    with pytest.raises(InputError, match="domains names 'c', but sample_domain holds 'a', 'b'"):
        plot_local_indices(rows, [*"aabb"] * 10, domains=["c"])


def test_many_domains_have_a_colour_each():
    axes = plot_local_indices(np.eye(12), range(12))
    assert len({tuple(drawn.get_facecolor()[0]) for drawn in axes.collections}) == 12


def test_history_has_a_line_a_term_and_marks_phases():
    axes = plot_history(HISTORY)
    assert legend(axes) == ["contrastive"]
    assert written(axes) == {"index", "encoding"}
    with pytest.raises(InputError, match="no 'strain'; its terms are 'contrastive'"):
        plot_history(HISTORY, terms=["strain"])


def test_scores_are_in_order_beside_the_baseline():
    axes = plot_scores_by_domain(
        {"a": 0.9, "b": 0.4}, baseline={"a": 0.5}, score_label="accuracy", source_domains=["a"]
    )
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]
    assert legend(axes) == ["baseline", "source", "target"]
    with pytest.raises(InputError, match="scores is empty"):
        plot_scores_by_domain({})


def test_a_domain_that_lies_on_a_source_is_at_no_distance():
    """What rounding leaves of it would be shown as 1.1e-7."""
    places = index().coordinates[:1] + 1e-9
    assert distances_to_sources(index(), ["a"], places).tolist() == [0.0]


def test_distance_is_counted_in_spacings_from_the_nearest_source():
    scores = dict(zip(DOMAINS, (1.0, 0.9, 0.8, 0.7)))
    axes = plot_scores_by_distance(index(), scores, source_domains=["a", "b"])
    targets = axes.collections[1].get_offsets()
    np.testing.assert_allclose(targets, [[1.0, 0.8], [2.0, 0.7]], atol=1e-9)
    with pytest.raises(InputError, match="none of the map's domains"):
        plot_scores_by_distance(index(), {"z": 1.0}, source_domains=["a"])
    with pytest.raises(InputError, match="is on the map"):
        plot_scores_by_distance(index(), scores, source_domains=["z"])


def test_a_montage_has_a_picture_of_every_domain_at_its_place():
    axes = plot_montage(index(), PICTURES, DOMAINS, source_domains=["a"])
    boxes = [artist for artist in axes.artists if hasattr(artist, "xy")]
    places = sorted(tuple(np.round(box.xy, 6)) for box in boxes)
    assert places == sorted(map(tuple, np.round(index().coordinates, 6)))
    assert set(DOMAINS) <= written(axes)
    assert legend(axes) == ["target", "source"]


def test_a_montage_refuses_what_has_no_pictures():
    with pytest.raises(InputError, match=r"rows of shape \(10,\), which are no pictures"):
        plot_montage(index(), PICTURES[:, 0], DOMAINS)
    with pytest.raises(InputError, match="no row of the domain 'd'"):
        plot_montage(index(), PICTURES[:3], DOMAINS[:3])


def test_a_map_that_closes_is_drawn_with_its_ring():
    closed = replace(index(), angles=np.array([0.0, 2.0, -2.0, 1.0]))
    axes = plot_domain_map(closed)
    (ring,) = axes.lines
    points = closed.coordinates[[2, 0, 3, 1, 2]]
    np.testing.assert_allclose(np.column_stack(ring.get_data()), points)
    assert "ring" in legend(axes)
    assert not plot_domain_map(index()).lines


def test_names_of_near_domains_do_not_cover_each_other():
    near = DomainIndex.from_distances(["Fürth", "Gmunden", "Horn"], 0.01 * LINE[:3, :3], 1)
    far = DomainIndex.from_distances(["Fürth", "Gmunden", "Horn", "Jena"], LINE**4, 1)
    for one in (near, far):
        axes = plot_domain_map(one)
        axes.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in axes.texts]
        assert not any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[:n])


def test_a_map_that_is_a_line_is_drawn_on_a_flat_figure():
    square = DomainIndex.from_distances(list("abc"), 1.0 - np.eye(3), 2)
    assert plot_domain_map(index()).figure.get_figheight() < 3.0
    assert plot_domain_map(square).figure.get_figheight() > 5.0


def test_long_names_leave_the_figure_its_room_and_stay_apart():
    names = [f"Municipality of Somewhere-upon-River {n:02}" for n in range(36)]
    places = np.array([(n % 6, n // 6) for n in range(36)], dtype=float)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)
    axes = plot_domain_map(DomainIndex.from_distances(names, gaps, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a layout that collapses is a warning of Matplotlib's
        axes.figure.draw_without_rendering()
    assert axes.get_position().width > 0.6
    shown = [text.get_text() for text in axes.texts]
    assert len(set(shown)) == len(shown) >= 12
    boxes = [text.get_window_extent() for text in axes.texts]
    figure = axes.figure.bbox
    for number, box in enumerate(boxes):
        for other in boxes[:number]:
            shared = Bbox.intersection(box, other)
            assert shared is None or shared.width * shared.height < 0.4 * box.width * box.height
        inside = Bbox.intersection(box, figure)
        assert inside.width * inside.height > 0.7 * box.width * box.height


def test_rows_of_long_names_leave_room_for_what_is_drawn():
    axes = plot_scores_by_domain({"x" * 300: 0.5, "short": 0.75})
    axes.figure.draw_without_rendering()
    assert axes.get_position().width > 0.5
