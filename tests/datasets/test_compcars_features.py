"""The authors' features: a file in their form, known by what git calls its content."""

import hashlib
import pickle
import subprocess
from shutil import which

import numpy as np
import pytest

from domindex.datasets import files, load_dataset
from domindex.datasets.paper import CAR_DOMAINS, CAR_FILE
from domindex.errors import DatasetError

RNG = np.random.default_rng(0)
CONTENT = {
    "data": RNG.normal(size=(90, 512)),
    "label": RNG.integers(0, 4, size=90),
    "domain": np.tile(np.arange(30), 3),
}


def blob_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a file that passes for the published one."""

    def write(**changes):
        kept = {k: v for k, v in {**CONTENT, **changes}.items() if v is not None}
        content = pickle.dumps(kept, protocol=4)
        (tmp_path / CAR_FILE).write_bytes(content)
        known = files.RemoteFile(CAR_FILE, "CompCars/data", blob_id(content), "git blob id")
        monkeypatch.setitem(files.FILES, CAR_FILE, known)
        return tmp_path

    return write


def test_domains_are_numbered_by_year_and_then_round_the_car(written):
    dataset = load_dataset("compcars-features", written())
    assert dataset.X.shape == (90, 512)
    assert dataset.X.dtype == np.float32
    assert dataset.domains == list(CAR_DOMAINS)
    assert dataset.source_domains == ["front 2009"]
    assert dataset.sample_domain[:6].tolist() == [
        *["front 2009", "front-side 2009", "side 2009", "rear-side 2009", "rear 2009"],
        "front 2010",
    ]
    np.testing.assert_array_equal(dataset.y, CONTENT["label"])


def test_the_published_file_is_known_by_its_git_blob_id():
    known = files.FILES[CAR_FILE]
    assert (known.digest, known.kind) == ("06db4a7c42beb4bbd810afb017ea7d285dd2c94b", "git blob id")
    assert known.url.endswith("Wang-ML-Lab/VDI/main/CompCars/data/feature_resnet18_new_data.pkl")


def test_another_file_of_that_name_is_refused_and_left_alone(tmp_path):
    content = pickle.dumps(CONTENT)
    (tmp_path / CAR_FILE).write_bytes(content)
    with pytest.raises(
        DatasetError, match="is not the published file: its git blob id is"
    ) as caught:
        load_dataset("compcars-features", tmp_path)
    assert blob_id(content) in str(caught.value)
    assert "06db4a7c42beb4bbd810afb017ea7d285dd2c94b" in str(caught.value)
    assert (tmp_path / CAR_FILE).read_bytes() == content


@pytest.mark.skipif(which("git") is None, reason="git is not installed")
def test_the_blob_id_is_what_git_says(tmp_path):
    path = tmp_path / "content"
    path.write_bytes(RNG.bytes(3_000_000))
    said = subprocess.run(["git", "hash-object", path], capture_output=True, text=True, check=True)
    assert files.git_blob_id(path) == said.stdout.strip()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": None}, "holds data, domain, and no label"),
        ({"label": np.zeros(5, int)}, r"label \(5,\)"),
        ({"domain": np.arange(90)}, "from 0 to 89; expected 0, which is 'front 2009', to 29"),
        ({"domain": np.ones(90, int)}, "from 1 to 1; expected 0"),
    ],
)
def test_content_that_does_not_fit_together_is_refused(written, changes, message):
    with pytest.raises(DatasetError, match=message):
        load_dataset("compcars-features", written(**changes))
