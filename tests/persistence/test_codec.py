"""Values written and read again keep types and bits; what this library did not write is refused."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.geometry.scaling import DomainIndex
from domindex.persistence.codec import (
    NotEncodable,
    arrange_arrays,
    decode,
    describe_arrays,
    encode,
    from_bytes,
    parse_json,
    read_json,
    to_bytes,
    to_plain,
    write_json,
)
from domindex.persistence.model_folder import load_model, save_model


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        0.1,
        float("inf"),
        "ß",
        "1",
        (1, "a", (2.5, None)),
        [1, (2.0, "a"), [True]],
        {("a", 1): [None], 2: {"b": 0.5}},
        {"a": {"b": 1}},
        2**200,
    ],
)
def test_plain_values_keep_their_types(value):
    again = from_bytes(to_bytes(value))
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "uint8", "bool"])
def test_arrays_keep_type_shape_and_order_of_memory(kind):
    array = np.arange(24).reshape(4, 6).astype(kind)
    for one in (array, array.T, array[:, :3], array[::-2], array[1:, 1:].T, np.array(3, kind)):
        again = from_bytes(to_bytes({"x": one}))["x"]
        assert again.dtype == one.dtype
        np.testing.assert_array_equal(again, one)
        is_fortran = one.flags.f_contiguous and not one.flags.c_contiguous
        assert again.flags.f_contiguous if is_fortran else again.flags.c_contiguous


def test_steps_in_memory_that_a_file_names_are_not_followed():
    """A checkpoint with one negative and one larger positive step wrote outside its buffer."""
    array = np.ones((3, 4))
    described = describe_arrays({"x": array})
    described["x"] |= {"order": "strided", "strides": [-(2**20), 2**21]}
    again = arrange_arrays({"x": array}, described)["x"]
    assert again.flags.c_contiguous
    np.testing.assert_array_equal(again, array)


def test_nan_keeps_its_bits_and_numbers_of_numpy_become_pythons():
    odd = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)
    assert from_bytes(to_bytes(odd)).tobytes() == odd.tobytes()
    assert type(encode(np.int64(3))[0]) is int
    assert encode(np.float32(0.5))[0] == 0.5


def test_texts_and_objects_in_arrays_come_back():
    for array in (np.array(["a", "bcd"]), np.array([("a", 1), None, 2.5, "x"], dtype=object)):
        again = from_bytes(to_bytes(array))
        assert again.dtype == array.dtype
        assert again.tolist() == array.tolist()


def test_two_arrays_whose_paths_read_alike_stay_two():
    value = {"a.b": np.zeros(2), "a": {"b": np.ones(3)}}
    again = from_bytes(to_bytes(value))
    np.testing.assert_array_equal(again["a.b"], np.zeros(2))
    np.testing.assert_array_equal(again["a"]["b"], np.ones(3))


def test_a_value_of_the_library_comes_back_by_its_fields_where_that_is_allowed():
    index = DomainIndex(("a", 2), np.eye(2), np.ones((2, 2)), np.arange(2.0))
    packed = to_bytes({"map": index})
    again = from_bytes(packed, values=True)["map"]
    assert type(again) is DomainIndex
    assert again.domains == ("a", 2)
    np.testing.assert_array_equal(again.coordinates, index.coordinates)
    with pytest.raises(ValueError, match="is not a saved value"):
        from_bytes(packed)


def test_a_random_state_goes_on_where_it_was():
    state = np.random.RandomState(3)
    state.normal(size=5)
    revived = from_bytes(to_bytes(state))
    np.testing.assert_array_equal(revived.normal(size=4), state.normal(size=4))


@pytest.mark.parametrize("position", [-1, 625, 2**31 - 1])
def test_a_random_state_beyond_its_end_is_refused(position):
    """numpy takes any position, and the next draw reads there: the process would end."""
    tree = encode(np.random.RandomState(0))[0]
    tree["random_state"][-2] = position
    with pytest.raises(ValueError, match="beyond its end"):
        decode(tree)


@dataclass
class Stranger:
    x: int = 1


@pytest.mark.parametrize("value", [Stranger(), object(), {1, 2}, np.array([1j]), lambda: None])
def test_what_has_no_way_to_be_written_is_refused(value):
    with pytest.raises(NotEncodable):
        encode([value])


def test_what_a_saved_model_cannot_keep_is_named():
    with pytest.raises(InputError, match=r"classes_ is .* which a saved model cannot keep"):
        to_plain(object(), "classes_")


@pytest.mark.parametrize(
    "tree",
    [
        {"value": {"kind": "os:system", "fields": {}}},
        {"value": {"kind": "domindex.errors:InputError", "fields": {}}},
        {"value": {"kind": "domindex.nowhere:Thing", "fields": {}}},
        {"value": {"kind": "domindex.geometry.scaling:DomainIndex", "fields": {"x": 1}}},
        {"objects": {"type": "<f8", "shape": [1], "parts": [1]}},
        {"objects": {"type": "<U99999999", "shape": [1], "parts": ["a"]}},
        {"code": "1 + 1"},
        {"tuple": [], "list": []},
        [1],
    ],
)
def test_nothing_but_values_is_made(tree):
    with pytest.raises((ValueError, KeyError, AttributeError)):
        decode(tree, values=True)


def test_arrays_that_the_tree_does_not_name_once_are_refused():
    array = np.zeros(2)
    with pytest.raises(ValueError, match="not those that are described"):
        decode({"dict": {}}, {"x": array})
    with pytest.raises(KeyError):
        decode({"list": [{"array": "x"}, {"array": "x"}]}, {"x": array})


def test_parts_are_counted_before_they_are_made():
    """240 MB of [] took 43 s and 6 GB."""
    assert parse_json(b"[" + b"[]," * 999 + b"[]]", max_nodes=2001) == [[]] * 1000
    with pytest.raises(ValueError, match="more than 10000000 parts"):
        parse_json(b"[" + b"[]," * 5_100_000 + b"[]]")


class Model:
    def __init__(self, state):
        self._state = state

    def state(self):
        return self._state


def test_a_folder_keeps_bytes_and_turns_numbers_to_floats(tmp_path):
    state = {"packed": np.arange(256, dtype=np.uint8), "inner": {"numbers": np.arange(3)}}
    save_model(Model(state), tmp_path / "model")
    back = load_model(tmp_path / "model", {"Model": dict})
    assert back["packed"].tobytes() == state["packed"].tobytes()
    assert back["packed"].dtype == np.uint8
    assert back["inner"]["numbers"].dtype == np.float64


@pytest.mark.parametrize("kind", ["float64", "int8", "object"])
def test_a_type_that_is_not_the_arrays_is_refused(tmp_path, kind):
    save_model(Model({"packed": np.zeros(4, dtype=np.uint8)}), tmp_path / "model")
    description = tmp_path / "model" / "model.json"
    description.write_text(description.read_text().replace('"uint8"', f'"{kind}"'))
    with pytest.raises(InputError, match="damaged"):
        load_model(tmp_path / "model", {"Model": dict})


STAMP = {"format": "a thing", "format_version": 1}


def read(path):
    return read_json(path, form="a thing", newest=1)


def test_json_that_is_written_is_read(tmp_path):
    write_json(tmp_path / "a.json", STAMP | {"x": [1, 2.5, None, "ü"]})
    assert read(tmp_path / "a.json")["x"] == [1, 2.5, None, "ü"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "damaged: it is not JSON"),
        ("[" * 100_000, "damaged: it is not JSON"),
        ("[]", "is not a thing"),
        (json.dumps(STAMP | {"format": "another"}), "is not a thing"),
        (json.dumps(STAMP | {"format_version": True}), "its format_version is True"),
        (json.dumps(STAMP | {"format_version": 2}), "Install a newer domindex"),
        (json.dumps(STAMP | {"x": float("nan")}), "damaged: it is not JSON .NaN is no number"),
        (json.dumps(STAMP | {"x": [-float("inf")]}), "-Infinity is no number"),
        (json.dumps(STAMP).replace("}", ', "x": 1e400}'), "1e400 is no number"),
    ],
)
def test_other_json_is_refused(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.json")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"There is no .*a\.json"):
        read(tmp_path / "a.json")


def test_a_link_to_a_regular_file_is_refused(tmp_path):
    write_json(tmp_path / "a.json", STAMP)
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
    with pytest.raises(InputError, match="is a link, not a regular file"):
        read(tmp_path / "b.json")
