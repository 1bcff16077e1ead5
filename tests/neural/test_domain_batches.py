"""Batches take the same number of rows from every domain, and use them all alike."""

import numpy as np
import pytest

from domindex.inputs import DomainData
from domindex.neural.batches import DomainBatches


def data_of(sizes) -> DomainData:
    of_row = np.random.default_rng(9).permutation(np.repeat(np.arange(len(sizes)), sizes))
    return DomainData(
        inputs=np.zeros((len(of_row), 2)),
        labels=np.zeros(len(of_row), dtype=np.int64),
        row_domains=of_row,
        domains=tuple(range(len(sizes))),
        is_source=np.ones(len(sizes), dtype=bool),
        task="classification",
        classes=np.array([0, 1]),
    )


def batches_of(sizes, batch_size, seed=0) -> DomainBatches:
    return DomainBatches(data_of(sizes), batch_size, np.random.default_rng(seed))


def test_a_batch_has_as_many_rows_of_every_domain_and_only_its_own():
    data = data_of([3, 40, 11])
    rows = DomainBatches(data, 8, np.random.default_rng(0)).draw()
    assert rows.shape == (3, 8)
    np.testing.assert_array_equal(data.row_domains[rows], np.arange(3)[:, None].repeat(8, axis=1))


@pytest.mark.parametrize("size", [12, 8, 5])
def test_every_row_of_a_domain_is_drawn_before_one_repeats(size):
    batches = batches_of([size], batch_size=4)
    drawn = np.concatenate([batches.draw()[0] for _ in range(size)])
    for start in range(0, len(drawn) - size + 1, size):
        assert len(set(drawn[start : start + size])) == size


@pytest.mark.parametrize(("size", "batch_size"), [(1, 5), (3, 8), (4, 8)])
def test_a_domain_smaller_than_a_batch_repeats_its_rows_evenly(size, batch_size):
    drawn = batches_of([size], batch_size).draw()[0]
    counts = np.bincount(drawn, minlength=size)
    assert counts.max() - counts.min() <= 1


def test_rows_come_in_another_order_the_second_time():
    batches = batches_of([30], batch_size=30)
    assert not np.array_equal(batches.draw(), batches.draw())


def test_only_the_chosen_domains_are_drawn_in_the_order_given():
    data = data_of([5, 6, 7, 8])
    rows = DomainBatches(data, 4, np.random.default_rng(0)).draw(np.array([3, 1]))
    np.testing.assert_array_equal(data.row_domains[rows][:, 0], [3, 1])


def test_a_domain_that_was_left_out_goes_on_where_it_stopped():
    batches = batches_of([8, 8], batch_size=4)
    first = batches.draw(np.array([0]))
    batches.draw(np.array([1]))
    second = batches.draw(np.array([0]))
    assert len(np.union1d(first, second)) == 8


def test_a_seed_fixes_the_batches():
    first, second, other = (batches_of([9, 30], 6, seed) for seed in (1, 1, 2))
    for _ in range(3):
        np.testing.assert_array_equal(first.draw(), second.draw())
    assert not np.array_equal(first.draw(), other.draw())


def test_weighted_rows_are_drawn_as_often_as_their_weight_says():
    data = data_of([4, 2])
    first, second = data.rows_by_domain()
    weights = np.full(6, 0.1)
    weights[first[0]] = 0.7
    drawn = DomainBatches(data, 1000, np.random.default_rng(0), weights).draw()
    assert np.mean(drawn[0] == first[0]) == pytest.approx(0.7, abs=0.05)
    assert np.mean(drawn[1] == second[0]) == pytest.approx(0.5, abs=0.05)
    assert set(drawn[1]) == set(second)


def test_a_domain_whose_weights_sum_to_nothing_counts_all_its_rows_alike():
    data = data_of([2, 2])
    weights = np.ones(4)
    weights[data.rows_by_domain()[0]] = 0.0
    drawn = DomainBatches(data, 400, np.random.default_rng(0), weights).draw()
    assert np.mean(drawn[0] == drawn[0][0]) == pytest.approx(0.5, abs=0.1)
