"""A sample of rows on disk is bounded, fair to domains, and the same for the same seed."""

import numpy as np
import pytest

from domindex.inputs.sampling import Limits, choose_rows


def counts(names, rows):
    return np.bincount(np.asarray(names)[rows])


def test_sources_and_targets_have_half_each_and_domains_alike():
    names = np.repeat(np.arange(10), 500)
    rows = choose_rows(names.tolist(), [0, 1], most=1000, seed=0)
    assert len(np.unique(rows)) == len(rows)
    np.testing.assert_array_equal(counts(names, rows)[:2], [250, 250])
    np.testing.assert_array_equal(counts(names, rows)[2:], [62] * 8)


def test_what_small_domains_leave_goes_to_large_ones():
    names = np.repeat([0, 1, 2], [10_000, 100, 10_000])
    rows = choose_rows(names.tolist(), [0], most=1000, seed=0)
    np.testing.assert_array_equal(counts(names, rows), [500, 100, 400])
    few = choose_rows(np.repeat([0, 1], [50, 5000]).tolist(), [0], most=1000, seed=0)
    np.testing.assert_array_equal(counts(np.repeat([0, 1], [50, 5000]), few), [50, 950])


def test_every_domain_keeps_some_rows_however_many_there_are():
    names = np.repeat(np.arange(200), 20)
    rows = choose_rows(names.tolist(), [0], most=300, seed=0)
    assert counts(names, rows).min() == Limits.domain_rows


def test_all_rows_are_taken_where_they_are_few():
    np.testing.assert_array_equal(choose_rows(["a", "b", "a"], ["a"], 3, 0), [0, 1, 2])


def test_a_seed_decides_which_rows():
    names = ["a", "b"] * 2000
    first, again, other = (choose_rows(names, ["a"], 100, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("n_values", "expected"), [(1, Limits.array_rows), (409, Limits.array_rows), (512, 16_000)]
)
def test_rows_are_bounded_and_rows_with_many_values_more_so(n_values, expected):
    assert Limits().rows_to_learn_from(n_values) == expected
    assert Limits().rows_to_learn_from(3 * 224 * 224) < 100
    assert Limits().rows_of_part(3 * 224 * 224) < 20
    assert Limits().rows_of_part(10**9) == 1
