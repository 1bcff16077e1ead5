"""What is out of all proportion among the values of y, and what only looks like it."""

import warnings

import numpy as np
import pytest

from domindex.errors import ExtremeValueWarning
from domindex.inputs import check_domain_data
from domindex.inputs.gate import tame_labels


def data_of(values):
    """Rows of a source in turn with those of a target, which has other values."""
    y = np.repeat(np.asarray(values, dtype=float), 2)
    names = np.where(np.arange(len(y)) % 2, "t", "s")
    y[names == "t"] = 1e30
    return check_domain_data(np.zeros((len(y), 1)), y, names, ["s"], task="regression")


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).standard_cauchy(2000),
        np.random.default_rng(0).pareto(0.7, 2000),
        np.random.default_rng(0).normal(size=50) * 1e12,
        np.r_[np.zeros(99), 1.0],
        np.r_[np.ones(99), 1e12],
        np.r_[np.zeros(50), np.full(50, 1e12)],
        np.r_[np.random.default_rng(0).normal(size=90), np.full(10, 1e12)],
    ],
    ids=["cauchy", "pareto", "large units", "rare", "constant but one", "two levels", "many"],
)
def test_values_without_a_lone_error_come_back_as_they_are(values):
    data = data_of(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExtremeValueWarning)
        assert tame_labels(data) is data


def test_a_lone_error_counts_as_the_nearest_of_the_others():
    values = np.random.default_rng(0).normal(size=50)
    spoiled = values.copy()
    spoiled[7] = -2e8
    data = data_of(spoiled)
    with pytest.warns(ExtremeValueWarning, match="Output 0 of y holds .* in row 14"):
        labels = tame_labels(data).labels[:, 0]
    tamed = labels[::2]
    assert tamed[7] == np.delete(values, 7).min()
    np.testing.assert_array_equal(np.delete(tamed, 7), np.delete(values, 7))
    assert np.isnan(labels[1::2]).all(), "labels of targets are hidden"


def test_classes_have_no_proportions():
    names, y = ["s", "s", "s", "s", "t"], [0, 1, 2, 10**12, 0]
    data = check_domain_data(np.zeros((5, 1)), y, names, ["s"], task="classification")
    assert tame_labels(data) is data
