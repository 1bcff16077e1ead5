"""Scores that only the benchmark needs, where the answer is known."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex_bench.metrics import (
    interval_coverage,
    map_agreement,
    neighbour_agreement,
    scores_by_level,
)


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


def test_a_level_scores_the_mean_of_its_domains_and_sources_stay_out():
    scores = {"source": 9.0, "near": 1.0, "far": 2.0, "farther": 4.0}
    assert scores_by_level(scores, {"far": 3, "near": 1, "farther": 3}) == {1: 1.0, 3: 3.0}


def test_levels_must_be_known_and_scored():
    with pytest.raises(InputError, match="empty or None"):
        scores_by_level({"a": 1.0}, None)
    with pytest.raises(InputError, match="lacks 'b'"):
        scores_by_level({"a": 1.0}, {"a": 1, "b": 2})


def test_an_interval_of_90_percent_reaches_1_645_deviations():
    mean, deviation = np.zeros(4), np.ones(4)
    assert interval_coverage([0.0, 1.6, -1.6, 1.7], mean, deviation) == 0.75
    assert interval_coverage([0.0, 0.6, -0.7, 0.7], mean, deviation, level=0.5) == 0.5
    with pytest.raises(InputError, match="level is 90"):
        interval_coverage([0.0], [0.0], [1.0], level=90)
