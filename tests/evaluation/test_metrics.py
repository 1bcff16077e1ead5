"""Metrics at their extremes, where the answer is known."""

import networkx as nx
import numpy as np
import pytest

from domindex.errors import InputError
from domindex.evaluation import (
    circular_correlation,
    graph_auc,
    index_correlation,
    linear_r2,
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


def test_maps_that_cannot_be_compared_are_refused():
    points = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(InputError, match="same domains in the same order"):
        procrustes_agreement(points, points[:5])
    with pytest.raises(InputError, match="one point"):
        procrustes_agreement(np.ones((6, 2)), points)
    with pytest.raises(InputError, match="NaN"):
        procrustes_agreement(np.full((6, 2), np.nan), points)


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
