"""None"""

import functools
import hashlib
import http.server
import os
import pickle
import pickletools
import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pooch
import pytest
import requests

from domindex.datasets import files, load_dataset
from domindex.datasets.files import read_pickle
from domindex.errors import DatasetError

NAME = "usa_map.txt"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def remote(tmp_path, monkeypatch):
    """A folder served like the authors' repository; the file it holds is `good`."""
    root = tmp_path / "remote"
    root.mkdir()
    (root / NAME).write_text("good")
    good = files.RemoteFile(NAME, ".", hashlib.sha256(b"good").hexdigest())
    handler = functools.partial(QuietHandler, directory=str(root))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(files, "AUTHORS_REPOSITORY", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setitem(files.FILES, NAME, good)
    yield root
    server.shutdown()
    server.server_close()


def test_an_absent_file_is_downloaded_once(remote, tmp_path):
    home = tmp_path / "new" / "home"
    assert files.find_file(NAME, home).read_text() == "good"
    (remote / NAME).unlink()
    assert files.find_file(NAME, home).read_text() == "good"


def test_a_download_that_is_not_the_published_file_leaves_nothing_behind(remote, tmp_path):
    (remote / NAME).write_text("evil")
    home = tmp_path / "home"
    with pytest.raises(DatasetError, match=r"SHA-256 differs .* Nothing was kept"):
        files.find_file(NAME, home)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("content", ["good", "evil"])
def test_a_download_is_known_by_its_git_blob_id_as_well(remote, tmp_path, monkeypatch, content):
    digest = hashlib.sha1(b"blob 4\0good").hexdigest()
    monkeypatch.setitem(files.FILES, NAME, files.RemoteFile(NAME, ".", digest, "git blob id"))
    (remote / NAME).write_text(content)
    if content == "good":
        assert files.find_file(NAME, tmp_path / "home").read_text() == "good"
        return
    with pytest.raises(DatasetError, match=r"git blob id differs .* Nothing was kept"):
        files.find_file(NAME, tmp_path / "home")
    assert list((tmp_path / "home").iterdir()) == []


def test_a_file_gone_from_the_repository_leaves_nothing_behind(remote, tmp_path):
    (remote / NAME).unlink()
    home = tmp_path / "home"
    with pytest.raises(DatasetError, match="404"):
        files.find_file(NAME, home)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("error", [requests.ConnectionError("no route"), OSError("disk full")])
def test_offline_the_error_names_the_file_its_address_and_the_folder(monkeypatch, tmp_path, error):
    def offline(*args, **kwargs):
        raise error

    monkeypatch.setattr(pooch, "retrieve", offline)
    with pytest.raises(DatasetError) as caught:
        load_dataset("circle", tmp_path)
    message = str(caught.value)
    name = "toy_d15_quarter_circle.pkl"
    address = f"https://raw.githubusercontent.com/Wang-ML-Lab/VDI/main/Toy/data/{name}"
    for part in (name, address, str(tmp_path), "DOMINDEX_DATA", str(error)):
        assert part in message


def test_a_damaged_file_is_reported_and_left_alone(tmp_path):
    damaged = tmp_path / NAME
    damaged.write_text("AL FL")
    with pytest.raises(DatasetError, match="not the published file") as caught:
        files.find_file(NAME, tmp_path)
    assert "Delete it" in str(caught.value)
    assert damaged.read_text() == "AL FL"


def test_something_that_is_no_file_is_reported(tmp_path):
    (tmp_path / NAME).mkdir()
    with pytest.raises(DatasetError, match="could not be read"):
        files.find_file(NAME, tmp_path)


def test_the_argument_beats_the_variable_and_the_variable_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv(files.DATA_HOME_VARIABLE, str(tmp_path / "variable"))
    assert files.data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert files.data_folder() == tmp_path / "variable"
    monkeypatch.delenv(files.DATA_HOME_VARIABLE)
    assert files.data_folder() == Path(pooch.os_cache("domindex"))


@pytest.mark.parametrize("name", list(files.FILES))
def test_the_published_files_have_the_recorded_checksums(paper_data, name):
    if not (paper_data / name).exists():
        pytest.skip(f"{name} is not in the folder of the paper's files")
    assert files.find_file(name, paper_data) == paper_data / name


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
