"""The suite of real data: its figures, and a run where files are missing."""

from types import SimpleNamespace

import numpy as np
import pytest

from domindex.datasets import make_circle
from domindex.errors import DatasetError
from domindex_bench import Cell, find_suite, render_suite
from domindex_bench.figures import Outcome, domain_figures, probability_figures
from domindex_bench.running import run_benchmark


def outcome_of(dataset, predicted, model=None):
    rows = ~dataset.is_source
    return Outcome(dataset, model, rows, predicted[rows])


@pytest.fixture(scope="module")
def family():
    sizes = [10, 10, 90, 10]
    return make_circle(n_domains=4, n_sources=2, samples_per_domain=sizes, random_state=0)


def test_a_large_domain_counts_no_more_than_a_small_one(family):
    right_in_the_small_one = np.where(family.sample_domain == 3, family.y, 1 - family.y)
    figures = domain_figures(outcome_of(family, right_in_the_small_one))
    assert figures == {"domain_accuracy": 50.0}


def test_predicting_the_mean_of_values_is_an_error_of_about_one():
    rng = np.random.default_rng(0)
    names = np.repeat(np.arange(5), 200)
    values = rng.normal(size=(1000, 1))
    dataset = SimpleNamespace(
        task="regression", y=values, sample_domain=names, X=values, is_source=names < 0
    )
    figures = domain_figures(outcome_of(dataset, np.zeros((1000, 1))))
    assert figures["relative_error"] == pytest.approx(1.0, abs=0.02)


def test_probabilities_are_scored_where_there_are_some(family):
    sure = np.column_stack([1.0 - family.y, family.y]) * 0.98 + 0.01
    rows = ~family.is_source
    model = SimpleNamespace(
        classes_=np.array([0, 1]), predict_proba=lambda X, sample_domain: sure[rows]
    )
    figures = probability_figures(outcome_of(family, family.y, model))
    assert figures["auc"] == 1.0
    assert figures["log_loss"] == pytest.approx(-np.log(0.99))
    assert probability_figures(outcome_of(family, family.y, SimpleNamespace())) == {}


def test_every_task_has_its_plain_models_raw_and_on_standardised_domains():
    methods = find_suite("real").methods
    for name in ("ridge", "logistic", "svm", "forest", "knn", "boosting"):
        assert name in methods
        assert f"{name}-ds" in methods


@pytest.mark.filterwarnings("ignore:real goes on without")
def test_a_run_goes_on_without_files_that_are_missing_unless_they_were_asked_for(tmp_path):
    with pytest.warns(UserWarning, match="real goes on without gas"):
        run = run_benchmark(suite="real", out=tmp_path / "out", data_home=tmp_path)
    assert run.results == ()
    with pytest.raises(DatasetError, match=r"gas\.npz"):
        run_benchmark(["gas"], suite="real", out=tmp_path / "out", data_home=tmp_path)


def test_mean_ranks_are_of_datasets_where_the_default_ran():
    def row(dataset, method, accuracy):
        figures = {"domain_accuracy": accuracy}
        return Cell("real2", dataset, method, 0).ended("done", figures=figures)

    suite = find_suite("real2")
    plain = [row("heart", "logistic", 60.0), row("heart", "knn", 70.0), row("eeg", "knn", 50.0)]
    plain.append(row("heart", "catboost", 64.0))
    assert "mean rank" not in render_suite(suite, plain)
    found = render_suite(suite, [*plain, row("heart", "cross-domain", 65.0)])
    assert "| mean rank | 2.00 | 4.00 | 1.00 | 3.00 |" in found
    assert "all 1 datasets" in found
