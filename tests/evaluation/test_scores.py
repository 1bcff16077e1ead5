"""Scores where they can be added up by hand."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.evaluation import (
    accuracy,
    scores_by_domain,
    squared_error,
)

STATES = ["WA", "WA", "WA", "NY"]


def test_accuracy_is_the_share_of_right_classes():
    assert accuracy(["a", "b", "b", "a"], ["a", "b", "a", "a"]) == 0.75


def test_a_row_with_two_outputs_errs_by_the_sum_of_both_squares():
    assert squared_error([[0.0, 0.0], [1.0, 1.0]], [[1.0, 2.0], [1.0, 1.0]]) == 2.5


def test_texts_are_compared_whether_they_are_objects_or_not():
    assert accuracy(["no", "yes"], np.array(["no", "no"], dtype=object)) == 0.5


def test_each_domain_is_scored_by_its_own_rows():
    scores = scores_by_domain([1, 1, 0, 0], [1, 0, 1, 0], STATES)
    assert scores == {"NY": 1.0, "WA": pytest.approx(1 / 3)}
    errors = scores_by_domain([1, 1, 0, 0], [1, 0, 1, 0], STATES, squared_error)
    assert errors == {"NY": 0.0, "WA": pytest.approx(2 / 3)}


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
