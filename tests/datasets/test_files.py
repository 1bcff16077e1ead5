import functools
import hashlib
import http.server
import threading
from pathlib import Path

import pooch
import pytest
import requests

from domindex.datasets import files, load_dataset
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
