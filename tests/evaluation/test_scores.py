"""Scores where they can be added up by hand."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.datasets import make_domain_graph
from domindex.errors import InputError
from domindex.evaluation import (
    accuracy,
    interval_coverage,
    paper_error,
    r2,
    scores_by_domain,
    scores_by_level,
    squared_error,
    target_accuracy,
)

STATES = ["WA", "WA", "WA", "NY"]


def test_accuracy_is_the_share_of_right_classes():
    assert accuracy(["a", "b", "b", "a"], ["a", "b", "a", "a"]) == 0.75


def test_a_row_with_two_outputs_errs_by_the_sum_of_both_squares():
    assert squared_error([[0.0, 0.0], [1.0, 1.0]], [[1.0, 2.0], [1.0, 1.0]]) == 2.5


def test_the_papers_error_gives_a_small_domain_the_weight_of_a_large_one():
    y, predicted = np.zeros((4, 2)), np.array([[1.0, 1.0]] * 3 + [[0.0, 4.0]])
    assert squared_error(y, predicted) == 5.5
    assert paper_error(y, predicted, STATES) == (2.0 + 16.0) / 2


def test_each_domain_is_scored_by_its_own_rows():
    scores = scores_by_domain([1, 1, 0, 0], [1, 0, 1, 0], STATES)
    assert scores == {"NY": 1.0, "WA": pytest.approx(1 / 3)}
    errors = scores_by_domain([1, 1, 0, 0], [1, 0, 1, 0], STATES, squared_error)
    assert errors == {"NY": 0.0, "WA": pytest.approx(2 / 3)}


def test_a_level_scores_the_mean_of_its_domains_and_sources_stay_out():
    scores = {"source": 9.0, "near": 1.0, "far": 2.0, "farther": 4.0}
    assert scores_by_level(scores, {"far": 3, "near": 1, "farther": 3}) == {1: 1.0, 3: 3.0}


def test_target_accuracy_does_not_count_sources():
    dataset = make_domain_graph(n_domains=6, samples_per_domain=10, n_sources=2, random_state=0)
    right_in_targets = np.where(dataset.is_source, 1 - dataset.y, dataset.y)
    assert target_accuracy(dataset, right_in_targets) == 1.0
    assert target_accuracy(dataset, 1 - right_in_targets) == 0.0
    with pytest.raises(InputError, match="no rows in target domains"):
        target_accuracy(replace(dataset, source_domains=dataset.domains), right_in_targets)


def test_predictions_that_do_not_fit_the_truth_are_refused():
    with pytest.raises(InputError, match=r"y has shape \(2,\) and predicted \(3,\)"):
        accuracy([0, 1], [0, 1, 1])
    with pytest.raises(InputError, match="one class per row"):
        accuracy([[0, 1]], [[0, 1]])
    with pytest.raises(InputError, match="can never be equal"):
        accuracy(["0", "1"], [0, 1])
    with pytest.raises(InputError, match="NaN"):
        squared_error([0.0, np.nan], [0.0, 0.0])
    with pytest.raises(InputError, match="needs numbers"):
        squared_error(["a"], ["b"])
    with pytest.raises(InputError, match="2 entries, but X has 1 rows"):
        scores_by_domain([1], [1], ["a", "b"])


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


def test_r2_is_one_for_the_truth_and_needs_a_spread():
    assert r2([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
    assert r2([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]) == 0.0
    with pytest.raises(InputError, match="there is one row"):
        r2([1.0], [1.0])
