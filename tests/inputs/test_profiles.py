"""Profiles count rows in bins that domains share, and tell of no single row."""

import numpy as np
import pytest

from domindex.inputs.profiles import MIN_COUNT, ColumnProfile


def test_numbers_are_counted_in_bins_that_hold_about_as_many_rows_each():
    values = np.random.default_rng(0).normal(size=800)
    profile = ColumnProfile.of_numbers("x", values, np.repeat([0, 1], 400), 2)
    assert profile.counts.sum() == 800
    assert np.ptp(profile.counts.sum(axis=0)) < 40
    assert len(profile.bin_names) == 8


def test_a_domain_that_is_moved_is_far_and_one_that_is_alike_near():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=400), rng.normal(size=400), 9 + rng.normal(size=400)])
    profile = ColumnProfile.of_numbers("x", values, np.repeat([0, 1, 2], 400), 3)
    shares = profile.shares
    assert profile.distance(shares[0], shares[1]) < 0.05
    assert profile.distance(shares[0], shares[2]) > 0.5


def test_texts_that_are_rare_are_never_named():
    values = ["often"] * 20 + ["sometimes"] * MIN_COUNT + ["once", "twice", "twice", None]
    profile = ColumnProfile.of_texts("kind", values, np.zeros(len(values), dtype=int), 1)
    assert profile.bin_names == ("often", "sometimes", "others")
    assert profile.counts.tolist() == [[20, MIN_COUNT, 3]]
    assert profile.missing.tolist() == [1]


def test_a_domain_of_few_rows_has_no_counts():
    values = np.arange(10.0)
    profile = ColumnProfile.of_numbers("x", values, np.array([0] * 7 + [1] * 3), 2)
    assert profile.counts.sum(axis=1).tolist() == [7, 0]


@pytest.mark.parametrize("values", [[1.0] * 9, [np.nan] * 9, [-1e308, 1e308] * 5, [0.0, 1.0] * 5])
def test_odd_columns_have_a_profile(values):
    profile = ColumnProfile.of_numbers("x", np.array(values), np.zeros(len(values), dtype=int), 1)
    assert profile.counts.sum() == np.isfinite(values).sum()
    assert len(profile.bin_names) == profile.counts.shape[1]
    assert np.isfinite(profile.shares).all()


def test_edges_are_rounded_so_that_none_is_the_value_of_a_row():
    values = np.random.default_rng(0).normal(size=1001) * 1000
    profile = ColumnProfile.of_numbers("x", values, np.zeros(1001, dtype=int), 1)
    assert not set(profile.edges) & set(values)


def test_profiles_come_back_from_their_state():
    rng, half = np.random.default_rng(0), np.repeat([0, 1], 25)
    numbers = ColumnProfile.of_numbers("a", rng.normal(size=50), half, 2)
    texts = ColumnProfile.of_texts("b", rng.choice(["x", "y"], 50).tolist(), half, 2)
    for one in (texts, numbers):
        again = ColumnProfile.from_state(one.state())
        assert again.bin_names == one.bin_names
        np.testing.assert_array_equal(again.counts, one.counts)
    state = one.state() | {"missing": np.zeros(3)}
    with pytest.raises(ValueError, match="do not fit"):
        ColumnProfile.from_state(state)
