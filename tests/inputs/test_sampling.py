"""A sample of rows on disk is bounded, fair to domains, and the same for the same seed."""

import numpy as np
import pytest

from domindex.inputs.sampling import (
    LEAST_OF_DOMAIN,
    MOST_SAMPLED,
    choose_rows,
    most_rows,
    parts_in_order,
    random_parts,
    rows_of_part,
)


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
    assert counts(names, rows).min() == LEAST_OF_DOMAIN


def test_all_rows_are_taken_where_they_are_few():
    np.testing.assert_array_equal(choose_rows(["a", "b", "a"], ["a"], 3, 0), [0, 1, 2])


def test_a_seed_decides_which_rows():
    names = ["a", "b"] * 2000
    first, again, other = (choose_rows(names, ["a"], 100, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("n_values", "expected"), [(1, MOST_SAMPLED), (409, MOST_SAMPLED), (512, 16_000)]
)
def test_rows_are_bounded_and_rows_with_many_values_more_so(n_values, expected):
    assert most_rows(n_values) == expected
    assert most_rows(3 * 224 * 224) < 100
    assert rows_of_part(3 * 224 * 224) < 20
    assert rows_of_part(10**9) == 1


def test_parts_of_new_domains_are_random_draws_that_cover_them():
    names = ["a"] * 50 + ["b"] * 7
    rows = np.arange(3, 57)
    parts = random_parts(names, rows, most=20, seed=0)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), rows)
    assert all(len({names[row] for row in part}) == 1 for part in parts)
    assert max(map(len, parts)) <= 20
    assert all(np.ptp(part) > 20 for part in parts if names[part[0]] == "a")


def test_parts_in_order_cover_all_rows():
    np.testing.assert_array_equal(np.concatenate(list(parts_in_order(11, 4))), np.arange(11))
