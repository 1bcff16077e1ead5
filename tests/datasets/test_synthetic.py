import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domindex.datasets import (
    load_dataset,
    make_circle,
    make_domain_graph,
    make_drift,
    make_seasonal,
)
from domindex.errors import InputError

GENERATORS = [make_circle, make_domain_graph, make_drift, make_seasonal]
each_generator = pytest.mark.parametrize("make", GENERATORS)

sizes_and_sources = st.lists(st.integers(1, 12), min_size=2, max_size=12).flatmap(
    lambda sizes: st.tuples(st.just(sizes), st.integers(1, len(sizes)))
)


@each_generator
@settings(max_examples=25, deadline=None)
@given(drawn=sizes_and_sources, seed=st.integers(0, 2**32))
def test_every_domain_has_the_size_asked_for(make, drawn, seed):
    sizes, n_sources = drawn
    dataset = make(
        n_domains=len(sizes), n_sources=n_sources, samples_per_domain=sizes, random_state=seed
    )
    np.testing.assert_array_equal(np.bincount(dataset.sample_domain), sizes)
    assert len(set(dataset.source_domains)) == n_sources
    assert dataset.domains == list(range(len(sizes))) == list(dataset.graph)
    assert dataset.true_index.shape == (len(sizes), len(dataset.index_names))
    assert nx.number_of_selfloops(dataset.graph) == 0
    assert np.isfinite(dataset.X).all()


@each_generator
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_seed_fixes_the_data_and_another_changes_it(make, seed):
    once, again, other = (
        make(random_state=seed),
        make(random_state=seed),
        make(random_state=seed + 1),
    )
    np.testing.assert_array_equal(once.X, again.X)
    np.testing.assert_array_equal(once.y, again.y)
    assert nx.utils.graphs_equal(once.graph, again.graph)
    assert not np.array_equal(once.X, other.X)


@each_generator
def test_no_seed_gives_a_new_draw_and_a_generator_moves_on(make):
    rng = np.random.default_rng(0)
    assert not np.array_equal(make(random_state=None).X, make(random_state=None).X)
    assert not np.array_equal(make(random_state=rng).X, make(random_state=rng).X)


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 20), min_size=2, max_size=6),
    n_classes=st.integers(2, 6),
)
def test_classes_of_a_domain_differ_by_one_row_at_most(sizes, n_classes):
    dataset = make_domain_graph(
        n_domains=len(sizes), n_sources=1, samples_per_domain=sizes, n_classes=n_classes
    )
    for domain in dataset.domains:
        labels = dataset.y[dataset.sample_domain == domain]
        assert np.ptp(np.bincount(labels, minlength=n_classes)) <= 1


@each_generator
def test_generated_arrays_are_read_only(make):
    with pytest.raises(ValueError, match="read-only"):
        make().X[0, 0] = 1.0


def test_the_generated_circle_resembles_the_papers(paper_data):
    paper, ours = load_dataset("circle", paper_data), make_circle()
    for domain in paper.domains:
        theirs = paper.X[paper.sample_domain == domain]
        mine = ours.X[ours.sample_domain == domain]
        np.testing.assert_allclose(mine.mean(axis=0), theirs.mean(axis=0), atol=0.25)
        np.testing.assert_allclose(np.cov(mine.T), np.cov(theirs.T), atol=0.13)
    assert ours.y.mean() == pytest.approx(paper.y.mean(), abs=0.05)
    np.testing.assert_array_equal(ours.true_index, paper.true_index)
    assert ours.source_domains == paper.source_domains


def test_the_generated_clouds_have_the_papers_spread(paper_data):
    paper, ours = load_dataset("circle", paper_data), make_circle()
    centres = 5 * np.exp(1j * np.pi * np.arange(30) / 29)
    lengths = [np.abs(d.X @ [1, 1j] - centres[d.sample_domain]) for d in (paper, ours)]
    cuts = [0.1, 0.25, 0.5, 0.75, 0.9]
    np.testing.assert_allclose(*(np.quantile(part, cuts) for part in lengths), atol=0.03)
    assert max(part.max() for part in lengths) < 1.0


def test_circles_graph_is_the_arc():
    assert nx.utils.graphs_equal(make_circle(n_domains=7, n_sources=2).graph, nx.path_graph(7))


def test_generated_graphs_clouds_lie_where_the_papers_do():
    dataset = make_domain_graph(n_domains=40, random_state=3)
    angle = dataset.true_index[dataset.sample_domain, 0]
    centre = (1 + 1.8 * angle / np.pi) * np.exp(1j * angle) * (1 - 2 * dataset.y)
    assert np.abs(dataset.X @ [1, 1j] - centre).max() < 1.0


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_domains_classes_never_overlap(n_classes):
    dataset = make_domain_graph(n_classes=n_classes, random_state=1)
    turn = np.angle(dataset.X @ [1, 1j]) - dataset.true_index[dataset.sample_domain, 0]
    nearest = np.rint(turn * n_classes / (2 * np.pi)).astype(int) % n_classes
    np.testing.assert_array_equal(nearest, dataset.y)


@settings(max_examples=25, deadline=None)
@given(n_domains=st.integers(2, 40), seed=st.integers(0, 1000))
def test_the_domain_graph_and_its_sources_are_connected(n_domains, seed):
    n_sources = max(1, n_domains // 3)
    dataset = make_domain_graph(
        n_domains=n_domains, n_sources=n_sources, samples_per_domain=2, random_state=seed
    )
    assert nx.is_connected(dataset.graph)
    assert nx.is_connected(dataset.graph.subgraph(dataset.source_domains))


def test_edges_appear_as_often_as_the_cosine_says():
    dataset = make_domain_graph(n_domains=300, samples_per_domain=2)
    angles = dataset.true_index[:, 0]
    i, j = np.triu_indices(300, k=1)
    cosine = np.cos(angles[i] - angles[j])
    joined = nx.to_numpy_array(dataset.graph, nodelist=dataset.domains)[i, j]
    for low in np.arange(0.0, 1.0, 0.25):
        inside = (cosine >= low) & (cosine < low + 0.25)
        assert joined[inside].mean() == pytest.approx(cosine[inside].mean(), abs=0.03)
    assert joined[cosine < 0].sum() == 0


def test_drift_carries_the_class_axis_half_a_turn_round():
    dataset = make_drift(n_domains=3, n_sources=1, samples_per_domain=2, noise=0.0)
    axes = dataset.X[1::2] - dataset.X[::2]
    np.testing.assert_allclose(axes[0], [2, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(axes[1], [0, 2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(axes[2], [-2, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("index_dim", [1, 2, 3])
def test_drift_moves_the_means_in_proportion_to_the_index(index_dim):
    dataset = make_drift(
        n_domains=50, samples_per_domain=2, n_features=6, index_dim=index_dim, noise=0.0
    )
    means = (dataset.X[1::2] + dataset.X[::2]) / 2
    gaps = np.linalg.norm(means[:, None] - means, axis=-1)
    index_gaps = np.linalg.norm(dataset.true_index[:, None] - dataset.true_index, axis=-1)
    np.testing.assert_allclose(gaps, 4 * index_gaps, atol=1e-9)


@pytest.mark.parametrize("index_dim", [1, 2, 3])
def test_drifts_neighbours_are_near_and_hang_together(index_dim):
    dataset = make_drift(n_domains=200, samples_per_domain=1, index_dim=index_dim)
    assert min(degree for _, degree in dataset.graph.degree) >= 2 * index_dim
    assert dataset.graph.number_of_edges() <= 200 * 2 * index_dim
    assert nx.is_connected(dataset.graph)
    corner = np.linalg.norm(dataset.true_index, axis=1)
    assert (np.diff(corner) >= 0).all()


def test_ten_thousand_drifting_domains_take_seconds():
    start = time.perf_counter()
    dataset = make_drift(n_domains=10_000, n_features=5, index_dim=2)
    assert time.perf_counter() - start < 10.0
    assert dataset.X.shape == (500_000, 5)
    assert len(dataset.source_domains) == 2_000
    assert dataset.graph.number_of_edges() <= 40_000


@each_generator
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_domains": 1}, r"n_domains is 1; give a whole number, at least 2\."),
        ({"n_domains": 4.0}, r"n_domains is 4\.0; give a whole number"),
        ({"n_domains": True}, "n_domains is True"),
        ({"n_sources": 0}, "n_sources is 0; give a whole number, from 1 to"),
        ({"n_domains": 3, "n_sources": 4}, "n_sources is 4; give a whole number, from 1 to 3"),
        ({"samples_per_domain": 0}, "samples_per_domain is 0"),
        ({"samples_per_domain": "ten"}, "samples_per_domain is 'ten'"),
        (
            {"n_domains": 3, "n_sources": 1, "samples_per_domain": [5, 5]},
            "samples_per_domain has 2 entries, but n_domains is 3",
        ),
        (
            {"n_domains": 3, "n_sources": 1, "samples_per_domain": [5, 0, 5]},
            r"samples_per_domain\[1\] is 0",
        ),
        ({"noise": -0.1}, r"noise is -0\.1; give a finite number"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"noise": "loud"}, "noise is 'loud'"),
        ({"random_state": -1}, "random_state is -1"),
        ({"random_state": "seed"}, "random_state is 'seed'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make, arguments, message):
    with pytest.raises(InputError, match=message):
        make(**arguments)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_circle, {"noise": 0}, "noise is 0; give a finite number, more than zero"),
        (make_domain_graph, {"n_classes": 1}, "n_classes is 1; give a whole number, at least 2"),
        (make_drift, {"n_features": 1}, "n_features is 1"),
        (make_drift, {"index_dim": 4}, "index_dim is 4; give a whole number, from 1 to 3"),
    ],
)
def test_what_only_one_generator_refuses(make, arguments, message):
    with pytest.raises(InputError, match=message):
        make(**arguments)


def test_a_year_later_inputs_are_where_they_were():
    dataset = make_seasonal(noise=0.0, samples_per_domain=2)
    by_month = dataset.X.reshape(24, 2, -1)
    np.testing.assert_allclose(by_month[:12], by_month[12:], atol=1e-12)
    assert np.linalg.norm(by_month[0] - by_month[6], axis=1).min() > 4.0
    assert dataset.graph.has_edge(11, 0)
    assert dataset.graph.has_edge(11, 12)
    assert not dataset.graph.has_edge(0, 6)


def test_the_class_is_which_side_of_the_years_circle_a_row_is_on():
    dataset = make_seasonal(noise=0.0)
    np.testing.assert_array_equal(np.linalg.norm(dataset.X, axis=1) > 3.0, dataset.y == 1)
