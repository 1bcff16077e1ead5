"""Metrics at their extremes, where the answer is known."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex.evaluation import (
    circular_correlation,
    distance_rank_correlation,
    graph_auc,
    index_correlation,
    linear_r2,
    map_agreement,
    map_stability,
    neighbour_agreement,
    procrustes_agreement,
)
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
    with pytest.raises(InputError, match="NaN or infinity"):
        linear_r2(np.zeros((3, 2)), [0.0, 1.0, np.nan])


def turned(points, angle, scale=1.0, shift=0.0):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return scale * points @ turn + shift


def test_a_map_that_is_moved_turned_mirrored_and_scaled_has_the_same_shape():
    points = np.random.default_rng(0).normal(size=(20, 2))
    moved = turned(points, 1.0, scale=3.0, shift=[5.0, -2.0]) * [-1.0, 1.0]
    assert procrustes_agreement(moved, points) == pytest.approx(1.0)
    assert distance_rank_correlation(moved, points) == pytest.approx(1.0)


def test_a_flat_axis_more_or_less_changes_nothing():
    points = np.random.default_rng(0).normal(size=(20, 2))
    padded = np.column_stack([points, np.zeros(20)])
    assert procrustes_agreement(padded, points) == pytest.approx(1.0)
    assert procrustes_agreement(points[:, :1], points[:, 0]) == pytest.approx(1.0)


def test_a_map_without_one_of_two_equal_axes_agrees_by_half():
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert procrustes_agreement(corners[:, :1], corners) == pytest.approx(0.5)


def test_unrelated_maps_agree_little():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 200, 2))
    assert procrustes_agreement(first, second) < 0.05
    assert abs(distance_rank_correlation(first, second)) < 0.05


def test_ranks_of_distances_forgive_a_bend_that_keeps_near_and_far():
    line = np.arange(8.0)
    bow = np.column_stack([np.cos(line / 4), np.sin(line / 4)])
    assert distance_rank_correlation(bow, line) == pytest.approx(1.0)
    assert procrustes_agreement(bow, line) < 0.99


def test_seeds_that_draw_one_map_are_stable_whichever_way_it_is_turned():
    points = np.random.default_rng(0).normal(size=(10, 2))
    same = map_stability([points, turned(points, 2.0), turned(points, -1.0)])
    assert same.mean == pytest.approx(1.0)
    stray = np.random.default_rng(1).normal(size=(10, 2))
    mixed = map_stability([points, turned(points, 2.0), stray])
    assert mixed.worst < mixed.mean < 1.0


def test_maps_are_compared_by_name_not_by_row():
    shuffled = [3, 0, 5, 1, 4, 2]
    names = [list("abcdef")[n] for n in shuffled]
    other = DomainIndex.from_distances(names, LINE[np.ix_(shuffled, shuffled)])
    assert map_stability([line_index(), other]).worst == pytest.approx(1.0)


def test_maps_that_cannot_be_compared_are_refused():
    points = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(InputError, match="There are 1 maps"):
        map_stability([points])
    with pytest.raises(InputError, match="mixes DomainIndex"):
        map_stability([line_index(), points])
    with pytest.raises(InputError, match="different domains"):
        map_stability([line_index(), DomainIndex.from_distances(list("abcdeg"), LINE)])
    with pytest.raises(InputError, match="same domains in the same order"):
        procrustes_agreement(points, points[:5])
    with pytest.raises(InputError, match="one point"):
        procrustes_agreement(np.ones((6, 2)), points)
    with pytest.raises(InputError, match="NaN"):
        procrustes_agreement(np.full((6, 2), np.nan), points)
    with pytest.raises(InputError, match="3 or more"):
        distance_rank_correlation(points[:2], points[:2])
    triangle = [[0.0, 0.0], [2.0, 0.0], [1.0, 3**0.5]]
    with pytest.raises(InputError, match="no order"):
        distance_rank_correlation(np.eye(3), triangle)


def test_a_map_agrees_with_a_path_it_lies_along():
    family = make_circle(n_domains=6, n_sources=2)
    order = [3, 1, 5, 0, 2, 4]
    along = np.array(order, dtype=float)[:, None]
    on_path = replace(family, graph=nx.path_graph(6))
    assert map_agreement(on_path, order, along) == {"index_auc": pytest.approx(1.0)}
    unknown = replace(family, graph=None, true_index=None)
    assert map_agreement(unknown, order, along) == {}


def test_several_true_numbers_are_read_off_a_map_linearly():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(10, 2))
    family = replace(
        make_circle(n_domains=10), true_index=places, index_names=("latitude", "longitude")
    )
    some = [4, 1, 7, 2, 9]
    assert map_agreement(family, some, places[some] @ rng.normal(size=(2, 2))) == {
        "index_latitude": pytest.approx(1.0),
        "index_longitude": pytest.approx(1.0),
    }


def test_circular_correlation_knows_neither_beginning_nor_direction():
    truth = np.arange(10)
    angles = 2 * np.pi * truth / 10
    for other in (angles + 1.0, -angles, np.angle(np.exp(1j * angles))):
        assert circular_correlation(other, truth, period=10) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    assert circular_correlation(rng.uniform(0, 6, 200), rng.uniform(0, 6, 200)) < 0.1


def test_circular_correlation_needs_angles_and_a_period():
    with pytest.raises(InputError, match="period is 0"):
        circular_correlation([0.0, 1.0], [0.0, 1.0], period=0)
    with pytest.raises(InputError, match="one number per domain"):
        circular_correlation([0.0, 1.0], [0.0, 1.0, 2.0])
    with pytest.raises(InputError, match="no direction"):
        circular_correlation([0.0, 0.0, 0.0], [0.0, 1.0, 2.0])


def test_a_number_that_repeats_is_compared_with_angles_where_there_are_any():
    family = replace(make_circle(n_domains=6, n_sources=2), graph=None, period=6.0)
    points = np.arange(6.0)[:, None]
    assert set(map_agreement(family, range(6), points)) == {"index_correlation"}
    angles = -2 * np.pi * points[:, 0] / 6
    assert map_agreement(family, range(6), points, angles)["index_circular"] == pytest.approx(1.0)


def test_neighbours_agree_where_groups_lie_apart_and_not_where_they_alternate():
    apart = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])[:, None]
    assert neighbour_agreement(apart, list("aaabbb")) == 1.0
    assert neighbour_agreement(apart, list("ababab")) == 0.0


@pytest.mark.parametrize(
    ("points", "groups", "message"),
    [
        ([[0.0], [1.0]], ["a"], "one group per domain"),
        ([[0.0]], ["a"], "two domains or more"),
        ([[0.0], [np.nan]], ["a", "b"], "NaN or infinity"),
    ],
)
def test_groups_that_do_not_fit_the_map_are_refused(points, groups, message):
    with pytest.raises(InputError, match=message):
        neighbour_agreement(points, groups)
