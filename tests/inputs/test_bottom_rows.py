"""Samples of rows: random, bounded, and the same in every order and division."""

import numpy as np
import pyarrow as pa
import pytest

from domindex.inputs import sampling
from domindex.inputs.sampling import BottomRows, KeyedRows, Limits, SampleSize, row_keys


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
