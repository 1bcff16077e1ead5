"""Columns of pyarrow tables: numbers, texts, codes and nothing, each told for what it is."""

import datetime

import pandas as pd
import pyarrow as pa
import pytest

from domindex.errors import InputError
from domindex.inputs.streams import (
    frame_to_table,
    is_text,
    numbered_domains,
    plain_table,
    unified_type,
)


def plain(column, as_numbers):
    table = pa.table({"a": column})
    numbers = {"a"} if as_numbers else set()
    return plain_table(table, ["a"], numbers, "part 2").column("a").to_pylist()


def test_numbers_of_every_kind_are_floats():
    assert plain([1, None, 3], True) == [1.0, None, 3.0]
    assert plain([True, False, None], True) == [1.0, 0.0, None]
    assert plain(pa.array([7, 7, 9]).dictionary_encode(), True) == [7.0, 7.0, 9.0]
    assert plain(pa.nulls(2), True) == [None, None]


def test_what_is_to_be_text_is_spelled():
    assert plain([1.0, 2.5, 1.0, None], False) == ["1", "2.5", "1", None]
    assert plain(pa.array(["x", "y"]).dictionary_encode(), False) == ["x", "y"]
    assert plain(pa.nulls(2), False) == [None, None]
    assert plain([datetime.date(2020, 1, 2)], False) == ["2020-01-02"]


def test_texts_where_numbers_should_be_are_refused_by_name():
    with pytest.raises(InputError, match=r"Column 'a' holds string values in part 2, and numbers"):
        plain(["x"], True)
    with pytest.raises(InputError, match=r"neither numbers nor texts.*--exclude a"):
        plain([[1, 2]], False)


def test_texts_may_be_codes_and_nothing_counts_as_texts():
    assert is_text(pa.dictionary(pa.int8(), pa.string()))
    assert is_text(pa.null())
    assert not is_text(pa.dictionary(pa.int8(), pa.int64()))


def test_names_of_domains_are_numbered_whatever_they_are():
    codes = pa.chunked_array([pa.array([5, 3, 5]).dictionary_encode()])
    names, places = numbered_domains(codes, "site", "the table")
    assert [names[place] for place in places] == ["5", "3", "5"]
    names, places = numbered_domains(pa.chunked_array([[5, 3, 5]]), "site", "t", spell=False)
    assert [names[place] for place in places] == [5, 3, 5]


@pytest.mark.parametrize("values", [["a", None, "b", " "], ["a", "", "b", None]])
def test_rows_without_a_domain_are_counted_and_the_first_is_named(values):
    column = pa.chunked_array([values])
    with pytest.raises(InputError, match=r"'site' is blank in 2 of 4 rows of t, .* row 2 of them"):
        numbered_domains(column, "site", "t")


def test_a_column_of_several_kinds_is_refused():
    with pytest.raises(InputError, match="part 3 has a column that mixes kinds of values"):
        frame_to_table(pd.DataFrame({"a": [1, "x"]}), "part 3")


@pytest.mark.parametrize(
    ("kinds", "one"),
    [
        ([pa.int8(), pa.float32()], pa.float64()),
        ([pa.int8(), pa.null()], pa.int8()),
        ([pa.null()], pa.null()),
        ([pa.string(), pa.large_string()], pa.string()),
        ([pa.string(), pa.int8()], None),
    ],
)
def test_parts_that_store_a_column_differently_have_one_type_or_none(kinds, one):
    assert unified_type(kinds) == one
