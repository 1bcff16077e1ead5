import os
import pickle
import pickletools
from collections import OrderedDict

import numpy as np
import pytest

from domindex.datasets.files import read_pickle
from domindex.errors import DatasetError


class Calls:
    """Pickles as a call of `function` with `arguments`."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def written(tmp_path, content, protocol=4):
    path = tmp_path / "content.pkl"
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", [3, 4])
def test_arrays_of_numbers_come_back_as_they_were(tmp_path, protocol):
    content = {
        "data": np.arange(6.0).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(4).reshape(2, 2)),
        "flags": np.array([True, False]),
        "big-endian": np.arange(3, dtype=">i4"),
    }
    back = read_pickle(written(tmp_path, content, protocol))
    for name, array in content.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype


@pytest.mark.parametrize("module", ["numpy.core", "numpy._core"])
@pytest.mark.parametrize("part", ["multiarray", "_multiarray_umath"])
def test_old_and_new_names_of_numpys_own_function_are_understood(tmp_path, module, part):
    array = np.arange(3.0)
    found = pickle.dumps({"a": array}, protocol=3)
    name = next(arg for op, arg, _ in pickletools.genops(found) if op.name == "GLOBAL")
    renamed = found.replace(
        name.replace(" ", "\n").encode(), f"{module}.{part}\n_reconstruct".encode()
    )
    np.testing.assert_array_equal(read_pickle(written(tmp_path, renamed))["a"], array)


def test_a_pickle_that_would_run_a_command_runs_nothing(tmp_path):
    marker = tmp_path / "ran"
    path = written(tmp_path, {"data": Calls(os.system, f"touch {marker}")})
    with pytest.raises(DatasetError, match=r"asks for (posix|nt)\.system"):
        read_pickle(path)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("numpy.testing._private.utils", "runstring"),
        ("numpy", "load"),
        ("numpy", "ndarray.tofile"),
        ("numpy.core.multiarray", "scalar"),
        ("domindex.datasets.files", "read_pickle"),
    ],
)
def test_names_that_arrays_do_not_need_are_refused(tmp_path, module, name):
    code = b"\x80\x04" + b"".join(
        b"\x8c" + bytes([len(word)]) + word.encode() for word in (module, name)
    )
    path = written(tmp_path, code + b"\x93.")
    with pytest.raises(DatasetError, match=f"asks for {module}.{name}") as caught:
        read_pickle(path)
    assert str(path) in str(caught.value)
    assert "do not trust" in str(caught.value)


def test_arrays_of_wild_pointers_are_never_made(tmp_path):
    """NumPy itself would make this one, and crash on reading it."""
    wild = Calls(np.ndarray, (4,), "O", b"x" * 32)
    with pytest.raises(DatasetError, match="was not read"):
        read_pickle(written(tmp_path, {"data": wild}))


def test_bytes_passed_off_as_objects_are_refused(tmp_path):
    honest = pickle.dumps({"data": np.arange(3.0)}, protocol=4)
    with pytest.raises(DatasetError, match="its type is 'O8'"):
        read_pickle(written(tmp_path, honest.replace(b"\x8c\x02f8", b"\x8c\x02O8")))


def test_bytes_that_do_not_fill_the_shape_are_refused(tmp_path):
    honest = pickle.dumps({"data": np.arange(3.0)}, protocol=4)
    assert honest.count(b"K\x03\x85") == 1
    with pytest.raises(DatasetError, match="'data' is not an array of numbers"):
        read_pickle(written(tmp_path, honest.replace(b"K\x03\x85", b"K\x07\x85")))


@pytest.mark.parametrize(
    "content",
    [
        {"data": np.array([{"a": 1}, None], dtype=object)},
        {"data": np.array(["a", "b"])},
        {"data": [1, 2, 3]},
        np.arange(3.0),
        OrderedDict(a=np.arange(3.0)),
    ],
    ids=["objects", "text", "a list", "a bare array", "another mapping"],
)
def test_only_a_dict_of_numeric_arrays_is_accepted(tmp_path, content):
    with pytest.raises(DatasetError, match="Only a pickled dict of numeric NumPy arrays"):
        read_pickle(written(tmp_path, content))


@pytest.mark.parametrize("keep", [0, 1, 20, -1])
def test_a_pickle_cut_short_is_refused(tmp_path, keep):
    whole = pickle.dumps({"data": np.arange(10.0)}, protocol=4)
    with pytest.raises(DatasetError, match="was not read"):
        read_pickle(written(tmp_path, whole[:keep]))
