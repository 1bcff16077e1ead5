"""The real datasets: what is known of them, and what is refused."""

import numpy as np
import pytest

from domindex.errors import DatasetError
from domindex_bench.data.real import MORE, REAL, load_real_dataset

KNOWN = {**REAL, **MORE}


@pytest.fixture(scope="module")
def real_data(paper_data):
    if not (paper_data / "real").is_dir():
        pytest.skip("the real datasets are not here; set DOMINDEX_DATA to their folder")
    return paper_data


@pytest.mark.parametrize("name", [*REAL, *MORE])
def test_every_dataset_is_what_its_entry_says(real_data, name):
    dataset = load_real_dataset(name, real_data)
    assert dataset.task == KNOWN[name].task
    assert set(dataset.source_domains) < set(dataset.domains)
    assert set(np.unique(dataset.sample_domain)) == set(dataset.domains)
    assert len(dataset.X) == len(dataset.y) == len(dataset.sample_domain)
    assert dataset.y.ndim == (1 if dataset.task == "classification" else 2)
    assert np.isfinite(dataset.X).all()
    assert KNOWN[name].origin in dataset.description


def test_twelve_and_sixteen_files_with_a_checksum_each():
    assert (len(REAL), len(MORE)) == (12, 16)
    assert len({known.sha256 for known in KNOWN.values()}) == 28


def test_a_file_that_is_missing_names_where_its_rows_come_from(tmp_path):
    with pytest.raises(DatasetError, match=r"There is no .*gas\.npz.*UCI 224.*DOMINDEX_DATA"):
        load_real_dataset("gas", tmp_path)


def test_a_file_that_was_changed_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    np.savez(tmp_path / "real" / "vowel.npz", X=np.zeros((2, 2)))
    with pytest.raises(DatasetError, match=r"not the file that was measured: its SHA-256 is"):
        load_real_dataset("vowel", tmp_path)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(DatasetError, match="no real dataset 'iris'; there are vowel, gas"):
        load_real_dataset("iris")
