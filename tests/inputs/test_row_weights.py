"""How much rows count: what is taken, and what is refused."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.inputs import check_domain_data
from domindex.inputs.gate import with_row_weights

NAMES = ["s", "s", "s", "s", "t", "t"]


@pytest.fixture
def data():
    y = ["a", "a", "a", "b", None, None]
    return check_domain_data(np.arange(6.0)[:, None], y, NAMES, ["s"])


@pytest.fixture
def values():
    y = np.arange(6.0)
    return check_domain_data(y[:, None], y, NAMES, ["s"], task="regression")


def test_nothing_asked_for_is_nothing_done(data):
    assert with_row_weights(data, None, None) is data
    assert data.row_counts.tolist() == [True] * 4 + [False] * 2


def test_weights_have_mean_one_over_the_sources(data):
    found = with_row_weights(data, [1, 2, 3, 0, 9, 9], None)
    np.testing.assert_allclose(found.weights[:4], np.array([1, 2, 3, 0]) / 1.5)
    assert found.row_counts.tolist() == [True, True, True, False, False, False]


@pytest.mark.parametrize("strange", [np.nan, np.inf, -1.0, 1e300])
def test_what_stands_in_rows_of_targets_is_not_read(data, strange):
    plain = with_row_weights(data, [1, 2, 3, 4, 1, 1], None)
    found = with_row_weights(data, [1, 2, 3, 4, strange, strange], None)
    np.testing.assert_array_equal(found.weights, plain.weights)


def test_balanced_classes_have_the_same_sum(data):
    weights = with_row_weights(data, None, "balanced").weights
    assert weights[:3].sum() == pytest.approx(weights[3])


def test_a_mapping_weighs_classes_and_goes_with_weights_of_rows(data):
    weights = with_row_weights(data, [1, 1, 2, 1, 1, 1], {"b": 3.0}).weights
    np.testing.assert_allclose(weights[:4] / weights[0], [1, 1, 2, 3])


@pytest.mark.parametrize(
    ("weights", "word"),
    [
        ([1, 2, 3], r"shape \(3,\), but X has 6 rows"),
        (np.ones((6, 1)), r"shape \(6, 1\)"),
        (["a"] * 6, "one number a row"),
        ([1, -1, 1, 1, 1, 1], "below 0"),
        ([1, np.nan, 1, 1, 1, 1], "NaN"),
        ([1, np.inf, 1, 1, 1, 1], "infinity"),
        ([0, 0, 0, 0, 1, 1], "All source rows have weight zero"),
        ("heavy", "one number a row"),
        (3.0, r"shape \(\)"),
        (object(), "one number a row"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_weights_that_cannot_be_used_are_refused(data, weights, word):
    with pytest.raises(InputError, match=word):
        with_row_weights(data, weights, None)


@pytest.mark.parametrize(
    ("weights", "word"),
    [
        ("equal", "Choose None, 'balanced', or a mapping"),
        (3.0, "Choose None, 'balanced', or a mapping"),
        ({"c": 1.0}, "names .*'c'.*only"),
        ({"a": -1.0}, "none of them negative"),
        ({"a": np.nan}, "finite"),
        ({"a": "much"}, "finite"),
        ({"a": None}, "finite"),
        ({"a": 0.0, "b": 0.0}, "All source rows have weight zero"),
        (np.ones(2), "Choose None, 'balanced', or a mapping"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_weights_of_classes_that_cannot_be_used_are_refused(data, weights, word):
    with pytest.raises(InputError, match=word):
        with_row_weights(data, None, weights)


def test_values_have_no_classes_to_weigh(values):
    with pytest.raises(InputError, match="y holds values"):
        with_row_weights(values, None, "balanced")


def test_tiny_and_huge_weights_stay_finite(data):
    for scale in (1e-300, 1e300):
        weights = with_row_weights(data, np.full(6, scale), None).weights
        np.testing.assert_allclose(weights[:4], 1.0)
