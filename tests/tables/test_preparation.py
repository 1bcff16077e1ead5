"""From a table to numbers: what becomes of every kind of column, and the same again later."""

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domindex.errors import InputError
from domindex.tables.preparation import TablePreparation

IS_SOURCE = np.array([True, True, True, False])


def table(**columns):
    base = {"site": ["a", "a", "b", "c"], "y": [1.0, 2.0, 3.0, np.nan]}
    return pd.DataFrame(base | {name: list(values) for name, values in columns.items()})


def fit(data, **how):
    how = {"domain": "site", "targets": ["y"], "is_source": IS_SOURCE} | how
    return TablePreparation.fit(data, **how)


def test_numbers_stay_and_texts_become_a_feature_each():
    data = table(
        x=[1, 2, 3, 4], color=["red", "blue", "red", "green"], yes=[True, False, True, True]
    )
    preparation, notes = fit(data)
    assert preparation.features == ["x", "color=blue", "color=green", "color=red", "yes"]
    np.testing.assert_array_equal(
        preparation.apply(data).values,
        [[1, 0, 0, 1, 1], [2, 1, 0, 0, 0], [3, 0, 0, 1, 1], [4, 0, 1, 0, 1]],
    )
    assert notes == ("One-hot encoded 1 column: 'color'.",)


def test_missing_inputs_take_the_median_of_the_sources():
    data = table(x=[1.0, np.nan, 3.0, 100.0], color=["red", None, "red", "blue"])
    preparation, _ = fit(data)
    prepared = preparation.apply(data)
    np.testing.assert_array_equal(prepared.values[1], [2.0, 0.0, 1.0])
    assert "Filled in missing inputs" in prepared.notes[0]
    assert "x (1)" in prepared.notes[0]


def test_missing_inputs_can_be_refused():
    data = table(x=[1.0, np.nan, 3.0, 4.0])
    preparation, _ = fit(data, missing="error")
    with pytest.raises(InputError, match=r"1 inputs are missing in 1 column.*--missing impute"):
        preparation.apply(data)


@pytest.mark.parametrize(
    "constant", [[5, 5, 5, 5], [None] * 4, ["q", None, "q", "q"], [5.0, None, 5.0, 5.0]]
)
def test_columns_that_never_change_are_dropped_with_a_note(constant):
    preparation, notes = fit(table(x=[1, 2, 3, 4], same=constant))
    assert preparation.features == ["x"]
    assert notes == ("Dropped 1 column that never change: 'same'.",)


def test_nothing_left_is_an_error():
    with pytest.raises(InputError, match="No input is left"):
        fit(table(same=[1, 1, 1, 1]))


def test_words_for_nothing_are_missing_among_numbers_and_texts_among_texts():
    data = table(x=["1", "NA", "3.5", "n/a"], color=["red", "NA", "red", "NA"])
    preparation, _ = fit(data)
    assert preparation.features == ["x", "color=NA", "color=red"]
    np.testing.assert_array_equal(preparation.apply(data).values[:, 0], [1, 2.25, 3.5, 2.25])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "2", "abc", "4"], r"mixes numbers and texts: '1', '2', '4', but also 'abc' .*row 3"),
        ([1, "two", 3, 4], "holds int and str values"),
        (["2020-01-01", "2020-02-01", "2021-01-01", "2022-01-01"], r"dates.*--exclude x"),
        (["1/2/2020", "3/4/2020", "5/6/2020", None], "dates"),
        (pd.date_range("2020-01-01", periods=4), "dates"),
        ([datetime.date(2020, 1, n) for n in (1, 2, 3, 4)], "dates"),
        ([[1], [2], [3], [4]], "holds list values"),
        ([1.0, np.inf, 2.0, 3.0], "infinite in 1 rows, the first is row 2"),
    ],
)
def test_columns_that_are_no_numbers_and_no_categories_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        fit(table(x=values))


def test_a_column_that_names_rows_is_refused():
    data = pd.DataFrame(
        {"site": ["a", "b"] * 75, "y": 1.0, "x": range(150), "id": [f"r{n}" for n in range(150)]}
    )
    with pytest.raises(InputError, match=r"150 different texts.*--exclude id"):
        fit(data, is_source=np.ones(150, dtype=bool))
    assert fit(data, is_source=np.ones(150, dtype=bool), exclude=["id"])[0].features == ["x"]


def test_numbers_can_be_declared_categories():
    preparation, _ = fit(
        table(x=[1, 2, 3, 1], zip_=["1", "x2", "1", "x2"]), categorical=["zip_", "x"]
    )
    assert preparation.features == ["x=1", "x=2", "x=3", "zip_=1", "zip_=x2"]


def test_decimals_are_numbers():
    data = table(x=[decimal.Decimal(n) / 2 for n in range(4)])
    assert fit(data)[0].apply(data).values[:, 0].tolist() == [0, 0.5, 1, 1.5]


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
    np.testing.assert_array_equal(prepared.values, [[2, 0, 0, 0], [7, 0, 0, 1]])
    assert "'violet', which fit never saw" in prepared.notes[1]


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
    [{"columns": []}, {"missing": "guess"}, {"domain": 3}, {"columns": [{"name": 1, "fill": 0}]}],
)
def test_a_damaged_preparation_is_not_taken(change):
    content = fit(table(x=[1, 2, 3, 4]))[0].to_dict()
    with pytest.raises((ValueError, KeyError, TypeError)):
        TablePreparation.from_dict(content | change)
