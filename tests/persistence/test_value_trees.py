"""Values taken apart and put together again: the same bits in the same order of memory."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from domindex.geometry.index import DomainIndex
from domindex.persistence.value_trees import NotKept, put_together, take_apart


def there_and_back(value):
    tree, arrays = take_apart(value)
    return put_together(json.loads(json.dumps(tree)), arrays)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        0.1,
        float("inf"),
        "ß",
        [1, (2.0, "a"), []],
        {("a", 1): [None], 2: {"b": 0.5}},
        2**200,
    ],
)
def test_plain_values_keep_their_types(value):
    again = there_and_back(value)
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "uint8", "bool"])
def test_arrays_keep_type_shape_and_order_of_memory(kind):
    array = np.arange(24).reshape(4, 6).astype(kind)
    for one in (array, array.T, array[:, :3], array[::2], array[1:, 1:].T, np.array(3, kind)):
        again = there_and_back(one)
        assert again.dtype == one.dtype
        np.testing.assert_array_equal(again, one)
        assert again.strides == one.strides


def test_nan_keeps_its_bits_and_scalars_stay_numpy():
    odd = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)
    assert there_and_back(odd).tobytes() == odd.tobytes()
    again = there_and_back(np.float32(0.1))
    assert type(again) is np.float32
    assert again == np.float32(0.1)


def test_texts_and_objects_in_arrays_come_back():
    for array in (np.array(["a", "bcd"]), np.array([("a", 1), None, 2.5, "x"], dtype=object)):
        again = there_and_back(array)
        assert again.dtype == array.dtype
        assert again.tolist() == array.tolist()


def test_a_value_of_the_library_comes_back_by_its_fields():
    index = DomainIndex(("a", 2), np.eye(2), np.ones((2, 2)), np.arange(2.0))
    again = there_and_back({"map": index})["map"]
    assert type(again) is DomainIndex
    assert again.domains == ("a", 2)
    np.testing.assert_array_equal(again.coordinates, index.coordinates)


@dataclass
class Stranger:
    x: int = 1


@pytest.mark.parametrize("value", [Stranger(), object(), {1, 2}, np.array([1j]), lambda: None])
def test_what_has_no_way_to_be_written_is_refused(value):
    with pytest.raises(NotKept):
        take_apart([value])


@pytest.mark.parametrize(
    "tree",
    [
        {"value": {"kind": "os:system", "fields": []}},
        {"value": {"kind": "domindex.errors:InputError", "fields": []}},
        {"value": {"kind": "domindex.nowhere:Thing", "fields": []}},
        {"value": {"kind": "domindex.geometry.index:DomainIndex", "fields": [["x", 1]]}},
        {"code": "1 + 1"},
    ],
)
def test_nothing_but_values_of_the_library_is_made(tree):
    with pytest.raises((ValueError, KeyError, AttributeError)):
        put_together(tree, {})
