"""None"""

import networkx as nx
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from domindex.datasets import list_datasets, load_dataset
from domindex.datasets.files import read_pickle
from domindex.errors import DatasetError, DomindexError


def test_circles_classes_are_the_two_sides_of_a_circle(paper_data):
    circle = load_dataset("circle", paper_data)
    assert circle.X.shape == (3000, 2)
    assert circle.y.dtype.kind == "i"
    np.testing.assert_array_equal(circle.y, np.linalg.norm(circle.X, axis=1) > 5.0)


def test_circles_domains_are_numbered_along_the_arc(paper_data):
    circle = load_dataset("circle", paper_data)
    assert circle.source_domains == [0, 1, 2, 3, 4, 5]
    assert circle.target_domains == list(range(6, 30))
    centres = 5 * np.exp(1j * np.pi * np.arange(30) / 29)[circle.sample_domain]
    assert np.abs(circle.X @ [1, 1j] - centres).max() < 1.0


@pytest.mark.parametrize(("name", "growth"), [("dg-15", 1.8), ("dg-60", 3.0)])
def test_domain_graphs_clouds_lie_opposite_each_other_on_a_spiral(paper_data, name, growth):
    dataset = load_dataset(name, paper_data)
    angle = dataset.true_index[dataset.sample_domain, 0]
    centre = (1 + growth * angle / np.pi) * np.exp(1j * angle) * (1 - 2 * dataset.y)
    assert np.abs(dataset.X @ [1, 1j] - centre).max() < 1.0


@pytest.mark.parametrize(("name", "n_domains", "n_edges"), [("dg-15", 15, 56), ("dg-60", 60, 846)])
def test_domain_graphs_join_near_angles(paper_data, name, n_domains, n_edges):
    dataset = load_dataset(name, paper_data)
    assert list(dataset.graph) == dataset.domains == list(range(n_domains))
    assert dataset.graph.number_of_edges() == n_edges
    assert nx.number_of_selfloops(dataset.graph) == 0
    angles = dataset.true_index[:, 0]
    assert all(abs(angles[i] - angles[j]) < np.pi / 2 for i, j in dataset.graph.edges)


@pytest.mark.parametrize("name", ["dg-15", "dg-60"])
def test_domain_graphs_sources_have_the_smallest_angles(paper_data, name):
    dataset = load_dataset(name, paper_data)
    assert len(dataset.source_domains) == 6
    assert set(dataset.source_domains) == set(np.argsort(dataset.true_index[:, 0])[:6].tolist())


@pytest.fixture(params=["tpt-48-w-e", "tpt-48-n-s"])
def temperatures(request, paper_data):
    return load_dataset(request.param, paper_data)


def test_source_states_give_every_window_and_targets_the_calendar_years(temperatures):
    for state in temperatures.domains:
        rows = (temperatures.sample_domain == state).sum()
        assert rows == (133 if state in temperatures.source_domains else 12)
    assert temperatures.X.shape == temperatures.y.shape == (len(temperatures.sample_domain), 6)


def test_original_units_give_back_the_months_of_the_file(temperatures, paper_data):
    months = read_pickle(paper_data / "month_temp_data.pkl")
    windows = np.hstack([temperatures.X, temperatures.y])
    degrees = windows * temperatures.scale + temperatures.offset
    target, source = temperatures.target_domains[0], temperatures.source_domains[0]
    np.testing.assert_allclose(
        degrees[temperatures.sample_domain == target].ravel(), months[target], atol=1e-9
    )
    np.testing.assert_allclose(
        degrees[temperatures.sample_domain == source][[5, 132]],
        [months[source][5:17], months[source][132:]],
        atol=1e-9,
    )


def test_one_deviation_of_the_input_months_scales_everything(temperatures):
    assert temperatures.scale == pytest.approx(17.28, abs=0.005)
    target_inputs = temperatures.X[~temperatures.is_source]
    sources = [temperatures.X[temperatures.sample_domain == s] for s in temperatures.source_domains]
    source_inputs = np.array([np.append(X[:, 0], X[-1, 1:]) for X in sources])
    months = np.append(target_inputs, source_inputs)
    assert source_inputs.shape[1] == 138
    assert months.mean() == pytest.approx(0.0, abs=1e-12)
    assert months.std() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "counts"), [("tpt-48-w-e", [4, 6, 32]), ("tpt-48-n-s", [10, 6, 8])]
)
def test_levels_count_borders_from_the_nearest_source(paper_data, name, counts):
    dataset = load_dataset(name, paper_data)
    assert sorted(dataset.levels) == sorted(dataset.target_domains)
    assert [list(dataset.levels.values()).count(level) for level in (1, 2, 3)] == counts


def test_states_border_on_their_neighbours(temperatures):
    assert sorted(temperatures.graph) == temperatures.domains
    assert set(temperatures.graph["ME"]) == {"NH"}
    assert nx.is_connected(temperatures.graph)


def test_the_true_index_of_a_state_is_where_it_lies(temperatures):
    place = dict(zip(temperatures.domains, temperatures.true_index, strict=True))
    assert temperatures.index_names == ("latitude", "longitude")
    assert place["ND"][0] > place["TX"][0]
    assert place["CA"][1] < place["ME"][1]


@pytest.mark.parametrize(
    ("name", "alpha", "expected"),
    [
        ("tpt-48-w-e", 1e-6, 1.070),
        ("tpt-48-n-s", 1e-6, 3.662),
        ("tpt-48-w-e", 1.0, 1.071),
        ("tpt-48-n-s", 1.0, 3.679),
    ],
)
def test_ridge_makes_the_known_error_on_the_targets(paper_data, name, alpha, expected):
    """Windows, scale and scoring all enter this figure: it holds only if each is right."""
    dataset = load_dataset(name, paper_data)
    source = dataset.is_source
    ridge = Ridge(alpha=alpha).fit(dataset.X[source], dataset.y[source])
    errors = ((ridge.predict(dataset.X) - dataset.y) ** 2).sum(axis=1)
    by_state = [errors[dataset.sample_domain == s].mean() for s in dataset.target_domains]
    assert np.mean(by_state) == pytest.approx(expected, abs=5.1e-4)


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
