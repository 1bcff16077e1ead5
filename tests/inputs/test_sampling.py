"""A sample of rows on disk is bounded, fair to domains, and the same for the same seed."""

import numpy as np
import pyarrow as pa
import pytest

from domindex.inputs import sampling
from domindex.inputs.sampling import (
    BottomRows,
    KeyedRows,
    Limits,
    SampleSize,
    choose_rows,
    row_keys,
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


TABLE = pa.table({"x": [1.0, 2.0, 1.0, None, float("nan"), 0.0, -0.0], "t": list("ababbcc")})


def test_equal_rows_have_equal_keys_and_others_do_not():
    keys = row_keys(TABLE, 0)
    assert keys[3] == keys[4]
    assert keys[5] == keys[6]
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 4


def test_neither_the_order_of_columns_nor_codes_for_texts_change_a_key():
    keys = row_keys(TABLE, 0)
    assert np.array_equal(keys, row_keys(TABLE.select(["t", "x"]), 0))
    coded = TABLE.set_column(1, "t", TABLE["t"].cast(pa.large_string()).dictionary_encode())
    assert np.array_equal(keys, row_keys(coded, 0))


def test_values_count_in_their_column_only():
    ab = pa.table({"a": [1.0], "b": [2.0]})
    ba = pa.table({"a": [2.0], "b": [1.0]})
    assert row_keys(ab, 0) != row_keys(ba, 0)
    assert row_keys(ab, 0) != row_keys(ab, 1)


def keyed(values, groups, seed=0):
    table = pa.table({"x": np.asarray(values, dtype=np.float64)})
    ones = np.ones(len(values), dtype=np.int64)
    return KeyedRows(table, np.asarray(groups, dtype=np.int64), row_keys(table, seed), ones)


def kept(parts, size):
    rows = BottomRows(size)
    for part in parts:
        rows.add(part)
    return rows.kept()


def same(first, second):
    return (
        first.table.equals(second.table)
        and np.array_equal(first.groups, second.groups)
        and np.array_equal(first.counts, second.counts)
    )


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=3000), rng.integers(0, 4, 3000)


def test_the_sample_is_the_same_in_every_order_and_division(rows, monkeypatch):
    monkeypatch.setattr(sampling, "LIMITS", Limits(waiting_rows=50))
    values, groups = rows
    size = SampleSize(a_domain=30, in_all=100)
    whole = kept([keyed(values, groups)], size)
    order = np.random.default_rng(1).permutation(len(values))
    parts = [keyed(values[part], groups[part]) for part in np.array_split(order, 37)]
    assert same(whole, kept(parts, size))
    assert same(whole, kept(parts[::-1], size))


def test_no_domain_and_not_all_of_them_have_more_rows_than_they_may(rows):
    values, groups = rows
    few = kept([keyed(values, groups)], SampleSize(a_domain=10, in_all=1000))
    assert np.bincount(few.groups).tolist() == [10] * 4
    fewer = kept([keyed(values, groups)], SampleSize(a_domain=1000, in_all=60))
    assert np.bincount(fewer.groups).tolist() == [15] * 4
    uneven = kept([keyed(values[:55], [0] * 50 + [1] * 5)], SampleSize(a_domain=40, in_all=25))
    assert np.bincount(uneven.groups).tolist() == [20, 5]


def test_every_domain_has_a_row_even_where_there_are_too_many_domains():
    crowd = kept([keyed(np.arange(50.0), np.arange(50))], SampleSize(a_domain=10, in_all=20))
    assert len(crowd.groups) == 50


def test_rows_that_repeat_are_counted_and_keep_their_share():
    values = np.repeat([1.0, 2.0, 3.0], [800, 150, 50])
    rows = kept([keyed(part, [0] * len(part)) for part in np.array_split(values, 9)], SampleSize())
    assert dict(zip(rows.table["x"].to_pylist(), rows.counts)) == {1.0: 800, 2.0: 150, 3.0: 50}
    picked = np.array(rows.table["x"])[rows.spread(100)]
    assert np.unique(picked, return_counts=True)[1].tolist() == [80, 15, 5]
    assert len(rows.spread(5000)) == 1000


def test_another_seed_gives_another_sample_and_samples_are_fair(rows):
    values, _ = rows
    groups, size = np.zeros(len(values), dtype=np.int64), SampleSize(a_domain=500, in_all=500)
    means = [
        np.mean(kept([keyed(values, groups, seed)], size).table["x"].to_numpy())
        for seed in range(40)
    ]
    assert len(set(means)) == 40
    error = values.std() / np.sqrt(500) * np.sqrt(1 - 500 / 3000)
    assert abs(np.mean(means) - values.mean()) < 4 * error / np.sqrt(40)
    assert 0.6 * error < np.std(means) < 1.5 * error
