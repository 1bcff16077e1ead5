"""What is out of all proportion, and what only looks like it."""

import warnings

import numpy as np
import pytest

from domindex.data import check_domain_data
from domindex.data.outliers import OUT_OF_PROPORTION, tame_outliers
from domindex.errors import ExtremeValueWarning


def data_of(column, y=None):
    column = np.asarray(column, dtype=float)
    names = np.where(np.arange(len(column)) % 2, "s", "t")
    labels = (np.arange(len(column)) // 2 % 2).astype(int) if y is None else y
    task = None if y is None else "regression"
    return check_domain_data(column[:, None], labels, names, ["s"], task=task)


@pytest.mark.parametrize(
    "column",
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
def test_data_without_a_lone_error_come_back_as_they_are(column):
    data = data_of(column)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExtremeValueWarning)
        assert tame_outliers(data) is data


def test_a_lone_error_counts_as_the_nearest_of_the_others():
    column = np.random.default_rng(0).normal(size=50)
    spoiled = column.copy()
    spoiled[7] = -2.0 * OUT_OF_PROPORTION
    with pytest.warns(ExtremeValueWarning, match="column 0 of X holds .* in row 7"):
        tamed = tame_outliers(data_of(spoiled))
    assert tamed.inputs[7, 0] == np.delete(column, 7).min()
    np.testing.assert_array_equal(np.delete(tamed.inputs[:, 0], 7), np.delete(column, 7))


def test_labels_of_targets_are_not_looked_at():
    y = np.random.default_rng(0).normal(size=50)
    y[0] = 1e30  # a target
    data = data_of(np.random.default_rng(1).normal(size=50), y)
    assert tame_outliers(data) is data
