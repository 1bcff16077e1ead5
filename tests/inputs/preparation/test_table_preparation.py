"""From a table to numbers: what becomes of every kind of column, and the same again later."""

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domindex.errors import InputError
from domindex.inputs.preparation import InputRequest, TablePreparation, input_names

IS_SOURCE = np.array([True, True, True, False] * 2)


def table(**columns):
    """Four rows of three sites, and the same again in three others: a category of one site alone
    is none."""
    base = {"site": ["a", "a", "b", "c"], "y": [1.0, 2.0, 3.0, np.nan]}
    once = pd.DataFrame(base | {name: list(values) for name, values in columns.items()})
    again = once.assign(site=["d", "d", "e", "f"])
    return pd.concat([once, again], ignore_index=True)


def fit(data, **how):
    """What is not of the table itself is asked of its inputs."""
    own = {name: how.pop(name) for name in ("is_source", "facts") if name in how}
    request = InputRequest(**how)
    rows = data[input_names(list(data.columns), ["site", "y"], request)]
    asked = {"domains": data["site"].tolist(), "is_source": IS_SOURCE} | own
    return TablePreparation.fit(rows, **asked, request=request)


def test_numbers_stay_and_texts_become_a_feature_each():
    data = table(
        x=[1, 2, 3, 4], color=["red", "blue", "red", "green"], yes=[True, False, True, True]
    )
    preparation, notes = fit(data)
    assert preparation.features == ["x", "color=blue", "color=green", "color=red", "yes"]
    np.testing.assert_array_equal(
        preparation.apply(data).values[:4],
        [[1, 0, 0, 1, 1], [2, 1, 0, 0, 0], [3, 0, 0, 1, 1], [4, 0, 1, 0, 1]],
    )
    assert notes == ("One-hot encoded 1 column: 'color'.",)


def test_missing_inputs_take_the_median_of_the_sources():
    data = table(x=[1.0, np.nan, 3.0, 100.0], color=["red", None, "red", "blue"])
    preparation, _ = fit(data)
    prepared = preparation.apply(data)
    np.testing.assert_array_equal(prepared.values[1], [2.0, 0.0, 1.0])
    assert "Filled in missing inputs" in prepared.notes[0]
    assert "x (2)" in prepared.notes[0]


def test_missing_inputs_can_be_refused():
    data = table(x=[1.0, np.nan, 3.0, 4.0])
    preparation, _ = fit(data, missing="error")
    with pytest.raises(InputError, match=r"2 inputs are missing in 1 column.*--missing impute"):
        preparation.apply(data)


@pytest.mark.parametrize(
    "constant", [[5, 5, 5, 5], [None] * 4, ["q", None, "q", "q"], [5.0, None, 5.0, 5.0]]
)
def test_columns_that_never_change_are_dropped_with_a_note(constant):
    preparation, notes = fit(table(x=[1, 2, 3, 4], same=constant))
    assert preparation.features == ["x"]
    assert notes == ("Dropped 1 column with one value, or nearly: 'same'.",)


def test_nothing_left_is_an_error():
    with pytest.raises(InputError, match="No input is left"):
        fit(table(same=[1, 1, 1, 1]))


def test_words_for_nothing_are_missing_among_numbers_and_texts_among_texts():
    data = table(x=["1", "NA", "3.5", "n/a"], color=["red", "NA", "red", "NA"])
    preparation, _ = fit(data)
    assert preparation.features == ["x", "color=NA", "color=red"]
    np.testing.assert_array_equal(preparation.apply(data).values[:4, 0], [1, 2.25, 3.5, 2.25])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "2", "abc", "4"], r"mixes numbers and texts: '1', '2', '4', but also 'abc' .*row 3"),
        ([1, "two", 3, 4], "holds int and str values"),
        ([[1], [2], [3], [4]], "holds list values"),
        ([1.0, np.inf, 2.0, 3.0], "infinite in 2 rows, the first is row 2"),
    ],
)
def test_columns_that_are_no_numbers_and_no_categories_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        fit(table(x=values))


@pytest.mark.parametrize(
    "dates",
    [
        ["2020-01-01", "2020-02-01", "2021-01-01", "2022-01-01"],
        ["1/2/2020", "3/4/2020", "5/6/2020", None],
        pd.date_range("2020-01-01", periods=4),
        [datetime.date(2020, 1, n) for n in (1, 2, 3, 4)],
        ["18.00.00", "19.30.00", "20.00.00", "21.00.00"],
    ],
)
def test_dates_are_left_out_unless_their_parts_are_asked_for(dates):
    data = table(x=[1, 2, 3, 4], day=dates)
    preparation, notes = fit(data)
    assert preparation.features == ["x"]
    assert notes == (
        "Left out 1 column of dates or times: 'day'. Pass --dates to use the year, month, weekday "
        "and hour.",
    )
    assert any(name.startswith("day: ") for name in fit(data, dates=True)[0].features)


def test_the_parts_of_a_date_are_those_of_the_calendar():
    data = table(when=["10/03/2004 18:00", "28/02/2005 00:30", None, "1/1/2004 3:15"])
    preparation, _ = fit(data, dates=True)
    assert preparation.features == [
        f"when: {part}" for part in ("year", "month", "weekday", "hour")
    ]
    found = preparation.apply(data).values
    np.testing.assert_array_equal(found[:2], [[2004, 3, 2, 18], [2005, 2, 0, 0]])
    month_first = table(when=["03/28/2004", "2/27/2005", None, "1/1/2004"])
    found = fit(month_first, dates=True)[0].apply(month_first).values
    np.testing.assert_array_equal(found[:2, :2], [[2004, 3], [2005, 2]])
    with pytest.raises(InputError, match=r"should hold dates, but holds 'soon'"):
        preparation.apply(data.assign(when="soon"))


def test_all_columns_that_cannot_be_used_are_reported_at_once():
    data = table(a=["1", "2", "abc", "4"], b=[1, "two", 3, 4], c=[1, 2, 3, 4])
    with pytest.raises(InputError, match=r"2 columns cannot.*\(1\) Column 'a'.*\(2\) Column 'b'"):
        fit(data)


def test_numbers_can_be_declared_categories():
    preparation, _ = fit(
        table(x=[1, 2, 3, 1], zip_=["1", "x2", "1", "x2"]), categorical=["zip_", "x"]
    )
    assert preparation.features == ["x=1", "x=2", "x=3", "zip_=1", "zip_=x2"]


def test_decimals_are_numbers():
    data = table(x=[decimal.Decimal(n) / 2 for n in range(4)])
    assert fit(data)[0].apply(data).values[:4, 0].tolist() == [0, 0.5, 1, 1.5]


def test_inputs_can_be_named_but_not_the_target():
    data = table(x=[1, 2, 3, 4], z=[4, 3, 2, 1])
    assert fit(data, features=["z"])[0].features == ["z"]
    with pytest.raises(InputError, match="'y' cannot be an input"):
        fit(data, features=["z", "y"])
    with pytest.raises(InputError, match=r"no column 'w'"):
        fit(data, features=["w"])


def test_a_later_table_is_read_the_same_way_whatever_the_order_of_its_columns():
    data = table(x=[1.0, 2.0, 3.0, np.nan], color=["red", "blue", "red", "green"])
    preparation, _ = fit(data)
    later = pd.DataFrame({"color": ["violet", "red"], "more": [0, 0], "x": [np.nan, "7"]})
    prepared = preparation.apply(later)
    np.testing.assert_array_equal(prepared.values, [[2, 0.25, 0.25, 0.5], [7, 0, 0, 1]])
    assert "'violet', which fit never saw or saw rarely" in prepared.notes[1]


def test_a_later_table_must_hold_the_inputs_as_numbers():
    preparation, _ = fit(table(x=[1, 2, 3, 4]))
    with pytest.raises(InputError, match=r"no column 'x' for the inputs.*Did you mean 'X'"):
        preparation.apply(pd.DataFrame({"X": [1]}))
    with pytest.raises(InputError, match=r"should hold numbers.*'many' in row 2"):
        preparation.apply(pd.DataFrame({"x": ["1", "many"]}))


def test_the_callers_table_is_not_changed():
    data = table(x=[1.0, np.nan, 3.0, 4.0], color=["red", None, "blue", "red"])
    before = data.copy(deep=True)
    fit(data)[0].apply(data)
    pd.testing.assert_frame_equal(data, before)


numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Nd", "No", "Nl", "Cs"]), min_size=1).filter(
    str.strip
)


@settings(deadline=None)  # the first of them waits for what it imports
@given(
    st.lists(numbers, min_size=4, max_size=4), st.lists(texts, min_size=4, max_size=4, unique=True)
)
def test_what_was_learned_survives_json(values, words):
    data = table(x=values, z=[1, 2, 3, 4], word=words)
    preparation, _ = fit(data, categorical=["word"])
    revived = TablePreparation.from_dict(json.loads(json.dumps(preparation.to_dict())))
    assert revived == preparation
    np.testing.assert_array_equal(revived.apply(data).values, preparation.apply(data).values)


@pytest.mark.parametrize(
    "change",
    [{"columns": []}, {"missing": "guess"}, {"columns": [{"name": 1, "fill": 0}]}],
)
def test_a_damaged_preparation_is_not_taken(change):
    content = fit(table(x=[1, 2, 3, 4]))[0].to_dict()
    with pytest.raises((ValueError, KeyError, TypeError)):
        TablePreparation.from_dict(content | change)


def test_gaps_are_said_to_be_filled_by_what_they_are_filled_by():
    data = table(x=[1.0, np.nan, 3.0, 4.0], color=["red", "red", None, "blue"])
    preparation, _ = fit(data)
    first, second = preparation.apply(data).changes.notes()
    assert first.startswith("Filled in missing inputs by the sources' median: 'x (")
    assert second.startswith(
        "Filled in missing inputs by the sources' commonest category: 'color ("
    )
    together = preparation.apply(data).changes + preparation.apply(data).changes
    assert [note.split(":")[0] for note in together.notes()] == [
        note.split(":")[0] for note in (first, second)
    ]


def test_no_median_is_the_value_of_one_row():
    values = np.random.default_rng(0).normal(50.0, 10.0, 101)
    rows = pd.DataFrame({"x": values})
    asked = {"domains": ["s"] * 101, "is_source": np.ones(101, dtype=bool)}
    preparation, _ = TablePreparation.fit(rows, **asked)
    fill = preparation.columns[0].fill
    assert fill not in set(values)
    assert abs(fill - np.median(values)) <= 0.1
    whole = rows.assign(x=np.round(values))  # a value that many rows have tells of none
    preparation, _ = TablePreparation.fit(whole, **asked)
    assert preparation.columns[0].fill == np.median(np.round(values))


@pytest.mark.parametrize("unit", [" mg", "%", " %"])
def test_numbers_with_a_unit_are_no_categories(unit):
    values = [f"{number / 10:.1f}{unit}" for number in range(40)]
    rows = pd.DataFrame({"dose": values, "z": range(40)})
    asked = {"domains": ["s"] * 40, "is_source": np.ones(40, dtype=bool)}
    with pytest.raises(InputError, match=r"'dose' holds numbers with a unit: '0.0 ?(mg|%)'"):
        TablePreparation.fit(rows, **asked)
    few = rows.assign(dose=[f"{5 * (1 + n % 3)}{unit}" for n in range(40)])
    assert f"dose=5{unit}" in TablePreparation.fit(few, **asked)[0].features
    wards = rows.assign(dose=[f"{n % 30} {'AB'[n % 2]}" for n in range(40)])
    preparation, _ = TablePreparation.fit(
        wards, **asked, request=InputRequest(categorical=["dose"])
    )
    assert any(name.startswith("dose=") for name in preparation.features)
