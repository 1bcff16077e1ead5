"""Windows along an order: where they begin, what cannot be ordered, and places between them."""

import numpy as np
import pandas as pd
import pytest

from domindex.errors import InputError
from domindex.inputs.windows import OrderWindows, order_texts, order_values


@pytest.fixture(scope="module")
def drifting():
    """Rows whose mean goes from 0 to 10, and jumps to 30 at row 400 of 600."""
    rng = np.random.default_rng(0)
    level = np.where(np.arange(600) < 400, np.linspace(0, 10, 600), 30.0)
    return rng.normal(size=(600, 2)) + level[:, None]


def test_a_window_begins_where_something_jumps(drifting):
    windows = OrderWindows.fit(drifting, np.arange(600))
    place = np.flatnonzero(windows.starts == 400)
    assert len(place) == 1
    assert windows.is_abrupt[place[0]]
    assert windows.is_abrupt[1:].mean() < 0.3
    assert windows.boundaries.tolist() == windows.starts[1:].tolist()


def test_windows_of_drift_are_short_and_those_of_none_are_long(drifting):
    windows = OrderWindows.fit(drifting, np.arange(600))
    drift, still = windows.starts < 400, windows.starts >= 400
    assert drift.sum() >= 5
    assert still.sum() < drift.sum()
    sizes = np.diff(np.append(windows.starts, 600))
    assert sizes.min() >= 20


def test_the_order_of_rows_does_not_matter(drifting):
    shuffled = np.random.default_rng(1).permutation(600)
    one = OrderWindows.fit(drifting, np.arange(600))
    other = OrderWindows.fit(drifting[shuffled], shuffled)
    np.testing.assert_allclose(other.starts, one.starts)


def test_rows_of_one_value_stay_together(drifting):
    values = np.arange(600) // 50
    windows = OrderWindows.fit(drifting, values)
    names = np.array(windows.names_of(values))
    assert all(len(set(names[values == one])) == 1 for one in range(12))


def test_windows_end_where_labels_do(drifting):
    y = np.where(np.arange(600) < 333, 1.0, np.nan)
    windows = OrderWindows.fit(drifting, np.arange(600), y)
    assert 333 in windows.starts


def test_rows_beyond_are_windows_of_their_own(drifting):
    windows = OrderWindows.fit(drifting, np.arange(600))
    assert windows.names_of([-1, 700, 650]) == ["before 0", "after 599", "after 599"]
    assert windows.names_of(np.arange(600))[0] == windows.names[0]


def test_places_run_between_the_middles_and_go_on_beyond_the_last():
    centres = np.array([0.0, 10.0, 20.0])
    windows = OrderWindows(centres - 5, centres + 4, centres, np.zeros(3), False)
    along = np.array([[0.0], [1.0], [2.0]])
    found = windows.places([0.0, 5.0, 20.0, 30.0, -10.0], along)
    np.testing.assert_allclose(found[:, 0], [0.0, 0.5, 2.0, 3.0, -1.0], atol=1e-9)


def test_places_jump_where_something_jumps():
    centres = np.array([0.0, 10.0, 20.0, 30.0])
    abrupt = np.array([0.0, 0.0, 1.0, 0.0])
    windows = OrderWindows(centres - 5, centres + 4.9, centres, abrupt, False)
    found = windows.places([14.9, 15.0], np.array([[0.0], [1.0], [8.0], [9.0]]))
    np.testing.assert_allclose(found[:, 0], [1.49, 7.5], atol=1e-9)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Tokyo"])
def test_dates_are_compared_in_one_time_zone(zone):
    times = pd.date_range("2024-03-30", periods=5, freq="h", tz="UTC")
    values, are_dates = order_values(pd.Series(times.tz_convert(zone)))
    np.testing.assert_array_equal(values, order_values(times)[0])
    assert are_dates


def test_dates_may_be_texts_and_name_windows(drifting):
    days = pd.date_range("2020-01-01", periods=600).strftime("%Y-%m-%d").to_numpy(dtype=object)
    windows = OrderWindows.fit(drifting, days)
    assert windows.names[0].startswith("2020-01-01 to 2020-")
    assert windows.table()["first"].iloc[0] == pd.Timestamp("2020-01-01", tz="UTC")
    with pytest.raises(InputError, match="held dates in fit and holds numbers now"):
        windows.names_of([1.0])


@pytest.mark.parametrize(
    ("rows", "order", "message"),
    [
        (100, np.ones(100), r"order is constant \(1 in all 100 rows\)"),
        (30, np.arange(30), "30 rows of 30 different values of order make one window"),
        (100, np.repeat([0, 1], [95, 5]), "make one window"),
        (100, np.append(np.arange(99.0), np.nan), "missing or infinite in 1 of 100 rows.* row 99"),
        (100, ["early"] * 100, "neither numbers nor dates"),
        (100, np.arange(50), "order has 50 values, and X has shape"),
        (100, np.zeros((100, 2)), "Pass one value per row"),
    ],
)
def test_what_orders_nothing_is_refused(rows, order, message):
    with pytest.raises(InputError, match=message):
        OrderWindows.fit(np.random.default_rng(0).normal(size=(rows, 2)), order)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2024-03-01", "2024-03-01"),
        ("2024-03-01 07:30", "2024-03-01 07:30"),
        ("2024-03-01 07:30:05", "2024-03-01 07:30:05.000000"),
    ],
)
def test_times_are_written_no_finer_than_they_are(text, said):
    assert order_texts(*order_values([text])) == [said]


def test_windows_come_back_from_their_state(drifting):
    windows = OrderWindows.fit(drifting, np.arange(600))
    again = OrderWindows.from_state(windows.state())
    assert again.names == windows.names
    with pytest.raises(ValueError, match="not in order"):
        OrderWindows.from_state(windows.state() | {"starts": windows.starts[::-1].copy()})


def test_a_hundred_thousand_rows_make_few_windows():
    rng, along = np.random.default_rng(0), np.linspace(0, 6, 100_000)
    rows = rng.normal(size=(100_000, 12))
    rows[:, 3] += 3 * np.sin(along)
    assert 5 <= len(OrderWindows.fit(rows, along).names) <= 200
