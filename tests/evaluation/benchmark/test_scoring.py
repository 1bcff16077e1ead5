"""Figures of predictions and of maps, against numbers worked out by hand."""

from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from domindex.datasets import DomainDataset, make_circle
from domindex.evaluation.benchmark.scoring import score_map, score_predictions

FORECASTS = DomainDataset(
    name="forecasts",
    X=np.zeros((5, 1)),
    y=np.zeros((5, 2)),
    sample_domain=["s", "a", "a", "b", "c"],
    source_domains=["s"],
    domains=["s", "a", "b", "c"],
    task="regression",
    true_index=None,
    index_names=(),
    graph=None,
    description="",
    levels={"a": 1, "b": 2, "c": 2},
)


def test_errors_are_summed_over_outputs_and_averaged_by_domain_first():
    predicted = np.array([[1.0, 1.0], [1.0, 3.0], [2.0, 0.0], [0.0, 1.0]])
    figures = score_predictions(FORECASTS, predicted)
    assert figures["error"] == pytest.approx((6.0 + 4.0 + 1.0) / 3)
    assert figures["error_level_1"] == pytest.approx(6.0)
    assert figures["error_level_2"] == pytest.approx(2.5)
    assert (figures["worst_domain"], figures["worst"]) == ("a", 6.0)


def test_accuracy_counts_target_rows_only():
    family = make_circle(n_domains=4, n_sources=2, samples_per_domain=[5, 5, 10, 30])
    predicted = family.y[~family.is_source].copy()
    predicted[:10] = 1 - predicted[:10]
    figures = score_predictions(family, predicted)
    assert figures == {"accuracy": 75.0, "worst_domain": "2", "worst": 0.0}


def test_a_map_is_read_in_the_order_of_its_own_domains():
    family = replace(make_circle(n_domains=6, n_sources=2), graph=None)
    order = [3, 1, 5, 0, 2, 4]
    along = SimpleNamespace(domains_=order, domain_indices_=np.array(order, dtype=float)[:, None])
    assert score_map(family, along) == {"index_correlation": pytest.approx(1.0)}
    on_path = replace(family, graph=nx.path_graph(6))
    assert score_map(on_path, along) == {"index_auc": pytest.approx(1.0)}


def test_several_true_numbers_are_read_off_linearly():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(10, 2))
    family = make_circle(n_domains=10)
    spread = replace(family, true_index=places, index_names=("latitude", "longitude"))
    model = SimpleNamespace(
        domains_=family.domains, domain_indices_=places @ rng.normal(size=(2, 2))
    )
    figures = score_map(spread, model)
    assert figures == {
        "index_latitude": pytest.approx(1.0),
        "index_longitude": pytest.approx(1.0),
    }


def test_a_model_without_a_map_has_no_figure_of_one():
    assert score_map(make_circle(), SimpleNamespace()) == {}
