import pytest

from domindex.datasets import list_datasets, load_dataset
from domindex.errors import DatasetError, DomindexError


def test_the_papers_datasets_the_digits_and_the_cars_are_listed():
    assert list_datasets() == [
        "circle",
        "dg-15",
        "dg-60",
        "tpt-48-w-e",
        "tpt-48-n-s",
        "rotating-digits",
        "seasonal",
        "compcars-features",
    ]


@pytest.mark.parametrize("name", list_datasets()[:6])
def test_what_is_listed_loads_and_fits_together(paper_data, name):
    dataset = load_dataset(name, paper_data)
    n_rows, n_domains = len(dataset.sample_domain), len(dataset.domains)
    assert dataset.name == name
    assert len(dataset.X) == len(dataset.y) == n_rows
    assert set(dataset.sample_domain.tolist()) == set(dataset.domains)
    assert set(dataset.source_domains) < set(dataset.domains)
    assert dataset.true_index.shape == (n_domains, len(dataset.index_names))


def test_files_are_found_through_the_variable(paper_data, monkeypatch):
    monkeypatch.setenv("DOMINDEX_DATA", str(paper_data))
    assert load_dataset("circle").name == "circle"


@pytest.mark.parametrize(
    ("name", "near"), [("Circel", "circle"), ("dg15", "dg-15"), ("tpt-48-we", "tpt-48-w-e")]
)
def test_a_slip_of_the_pen_is_answered_with_the_nearest_name(name, near):
    with pytest.raises(DatasetError, match=f"Did you mean '{near}'") as caught:
        load_dataset(name)
    assert all(known in str(caught.value) for known in list_datasets())


@pytest.mark.parametrize("name", ["zzzzzz", "", 3, None])
def test_an_unknown_name_is_answered_with_the_list(name):
    with pytest.raises(DomindexError, match=r"there are circle, .* Choose one of these"):
        load_dataset(name)
