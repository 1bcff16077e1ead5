"""Figures of predictions and of maps, against numbers worked out by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from domindex.datasets import DomainDataset, make_circle
from domindex_bench.figures import (
    Outcome,
    chosen_figures,
    coverage_figures,
    explained_figures,
    map_figures,
    prediction_figures,
)

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


def outcome(dataset, predicted, model=None):
    return Outcome(dataset, model or SimpleNamespace(), ~dataset.is_source, predicted)


def test_errors_are_summed_over_outputs_and_averaged_by_domain_first():
    predicted = np.array([[1.0, 1.0], [1.0, 3.0], [2.0, 0.0], [0.0, 1.0]])
    figures = prediction_figures(outcome(FORECASTS, predicted))
    assert figures["error"] == pytest.approx((6.0 + 4.0 + 1.0) / 3)
    assert figures["error_level_1"] == pytest.approx(6.0)
    assert figures["error_level_2"] == pytest.approx(2.5)
    assert (figures["worst_domain"], figures["worst"]) == ("a", 6.0)


def test_accuracy_counts_target_rows_only():
    family = make_circle(n_domains=4, n_sources=2, samples_per_domain=[5, 5, 10, 30])
    predicted = family.y[~family.is_source].copy()
    predicted[:10] = 1 - predicted[:10]
    figures = prediction_figures(outcome(family, predicted))
    assert figures == {"accuracy": 75.0, "worst_domain": "2", "worst": 0.0}


def test_r2_of_the_mean_is_zero_and_of_the_truth_is_one():
    ramp = replace(FORECASTS, y=np.arange(10.0).reshape(5, 2))
    truth = ramp.y[~ramp.is_source]
    assert explained_figures(outcome(ramp, truth))["r2"] == 1.0
    flat = np.tile(truth.mean(axis=0), (4, 1))
    assert explained_figures(outcome(ramp, flat))["r2"] == pytest.approx(0.0)


def test_coverage_asks_the_model_for_deviations_and_passes_over_one_without():
    class Sure:
        def predict(self, X, *, sample_domain, return_std=False):
            deviation = np.array([[1.0, 1.0], [1.0, 1.0], [0.1, 0.1], [0.1, 0.1]])
            return np.ones((4, 2)), deviation

    class Plain:
        def predict(self, X, *, sample_domain):
            return np.ones((4, 2))

    assert coverage_figures(outcome(FORECASTS, np.ones((4, 2)), Sure())) == {"coverage": 0.5}
    assert coverage_figures(outcome(FORECASTS, np.ones((4, 2)), Plain())) == {}


def test_a_map_is_read_in_the_order_of_its_own_domains():
    family = replace(make_circle(n_domains=6, n_sources=2), graph=None)
    order = [3, 1, 5, 0, 2, 4]
    model = SimpleNamespace(domains_=order, domain_indices_=np.array(order, dtype=float)[:, None])
    figures = map_figures(outcome(family, np.zeros(400), model))
    assert figures == {"index_correlation": pytest.approx(1.0)}


def test_what_a_model_does_not_have_has_no_figure():
    bare = outcome(FORECASTS, np.zeros((4, 2)))
    assert map_figures(bare) == chosen_figures(bare) == {}
    rich = SimpleNamespace(representation_="rows")
    assert chosen_figures(outcome(FORECASTS, None, rich)) == {"chosen": "rows"}
