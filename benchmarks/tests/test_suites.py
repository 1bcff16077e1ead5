"""The suites: that each can be measured, and what is special about some."""

import re
from dataclasses import replace

import numpy as np
import pytest

from domindex import Training
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex_bench import Cell, find_suite, list_suites
from domindex_bench.figures import LABELS
from domindex_bench.measuring import measure
from domindex_bench.suite import SuiteDataset
from domindex_bench.suites import disturbed, generality, settings_now
from domindex_bench.suites.ablation import VARIANTS
from domindex_bench.suites.datasets import keep_rows
from domindex_bench.suites.regression_families import FAMILIES, family
from domindex_bench.suites.time import TransportTimer

SMALL = make_circle(n_domains=6, n_sources=3, samples_per_domain=20)


@pytest.mark.parametrize("name", list_suites())
def test_a_suite_says_all_that_a_run_and_its_document_need(name):
    suite = find_suite(name)
    assert suite.name == name
    assert suite.datasets
    assert suite.methods
    for name in (*suite.datasets, *suite.methods):
        assert re.fullmatch("[a-z0-9-]+", name), "names go through a command line, by commas"
    for dataset in suite.datasets.values():
        assert suite.headline[dataset.task] in LABELS
    for method in suite.methods:
        hashes = {suite.settings_now(dataset, method) for dataset in suite.datasets}
        assert all(re.fullmatch("[0-9a-f]{12}", found) for found in hashes)
        assert suite.methods[method].name == method


@pytest.mark.parametrize("name", list_suites())
def test_methods_of_a_suite_are_told_apart_by_their_settings(name):
    suite = find_suite(name)
    dataset = next(iter(suite.datasets))
    hashes = [suite.settings_now(dataset, method) for method in suite.methods]
    assert len(set(hashes)) == len(hashes)


def test_a_name_that_is_no_suite_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"no suite 'ablations'; there are paper, .*'ablation'"):
        find_suite("ablations")


def test_a_cell_that_no_suite_has_has_no_settings():
    assert settings_now(Cell("paper", "circle", "no-such-method", 0)) == ""
    assert settings_now(Cell("paper", "no-such-dataset", "knn", 0)) == ""


def test_a_family_is_drawn_anew_with_every_seed_and_the_same_with_one():
    for name in FAMILIES:
        first, again, other = (family(name, None, seed) for seed in (0, 0, 1))
        np.testing.assert_array_equal(first.X, again.X)
        assert not np.array_equal(first.X, other.X)
        assert len(first.source_domains) == len(first.domains) // 3
        assert first.task == "regression"


def test_a_cell_of_the_regression_suite_has_r2_and_no_coverage_without_deviations():
    result = measure(Cell("regression", "alike", "ridge", 0))
    assert result.figures.keys() == {"r2"}
    assert result.figures["r2"] > 0.98
    assert result.settings == settings_now(result.cell)


def test_a_source_left_out_is_not_fitted_and_is_what_is_scored():
    source = SuiteDataset("", "classification", lambda home, seed: SMALL, held_out=1)
    fitted, scored = source.rows(SMALL)
    assert set(SMALL.sample_domain[fitted].tolist()) == {0, 2, 3, 4, 5}
    assert set(SMALL.sample_domain[scored].tolist()) == {1}
    fitted, scored = replace(source, held_out=None).rows(SMALL)
    assert fitted.all()
    np.testing.assert_array_equal(scored, ~SMALL.is_source)


def test_the_model_never_meets_a_source_left_out(monkeypatch):
    met = {}

    class Spy:
        def get_params(self, deep=False):
            return {}

        def fit(self, X, y, *, sample_domain, source_domains):
            met.update(domains=set(sample_domain.tolist()), sources=source_domains)

        def predict(self, X, *, sample_domain):
            met["asked"] = set(sample_domain.tolist())
            return np.zeros(len(X), dtype=int)

    suite = find_suite("paper")
    source = SuiteDataset("", "classification", lambda home, seed: SMALL, held_out=1)
    method = replace(suite.methods["knn"], build=lambda dataset, seed: Spy())
    tiny = replace(suite, datasets={"small": source}, methods={"spy": method})
    monkeypatch.setattr("domindex_bench.measuring.find_suite", lambda name: tiny)
    measure(Cell("paper", "small", "spy", 0))
    assert met == {"domains": {0, 2, 3, 4, 5}, "sources": [0, 2], "asked": {1}}


def test_kept_rows_keep_what_is_known_of_their_domains():
    known = replace(SMALL, levels={3: 1, 4: 2, 5: 3})
    kept = keep_rows(known, ~np.isin(SMALL.sample_domain, [2, 4]))
    assert kept.domains == [0, 1, 3, 5]
    assert kept.source_domains == [0, 1]
    assert set(kept.graph) == {0, 1, 3, 5}
    assert kept.levels == {3: 1, 5: 3}
    np.testing.assert_array_equal(kept.true_index, SMALL.true_index[[0, 1, 3, 5]])


def test_other_years_share_no_row_between_halves():
    long = make_circle(n_domains=4, n_sources=2, samples_per_domain=40)
    numbered = replace(long, X=np.column_stack([np.tile(np.arange(40.0), 4), long.X]))
    early_sources = disturbed.of_other_years(numbered, 0)
    year, source = early_sources.X[:, 0], early_sources.is_source
    assert year[source].max() < 20 - disturbed.WINDOW
    assert year[~source].min() >= 20
    late_sources = disturbed.of_other_years(numbered, 1)
    assert late_sources.X[late_sources.is_source, 0].min() > 20 + disturbed.WINDOW - 1


def test_fewer_targets_drop_targets_only():
    many = make_circle(n_domains=13, n_sources=3, samples_per_domain=5)
    fewer = disturbed.with_fewer_targets(many, 0)
    assert len(fewer.domains) == 11
    assert fewer.source_domains == many.source_domains


def test_uneven_domains_have_5_to_500_rows():
    sizes = generality.uneven(30)
    assert (min(sizes), max(sizes)) == (5, 500)


def test_our_distances_are_those_of_a_plain_loop():
    arguments = {"sample_domain": SMALL.sample_domain, "source_domains": []}
    loop, ours = (
        TransportTimer(n_jobs, repeats=2).fit(SMALL.X, None, **arguments) for n_jobs in (None, 1)
    )
    np.testing.assert_allclose(ours.distances_, loop.distances_, atol=1e-9)
    assert len(ours.seconds_) == 2


@pytest.mark.parametrize("name", [name for name, _, _ in VARIANTS])
def test_every_ablation_fits_and_predicts(name):
    model = find_suite("ablation").methods[name].build(SMALL, 0)
    model.set_params(training=Training(index_steps=2, steps=2))
    model.fit(
        SMALL.X,
        SMALL.y,
        sample_domain=SMALL.sample_domain,
        source_domains=SMALL.source_domains,
    )
    predicted = model.predict(SMALL.X, sample_domain=SMALL.sample_domain)
    assert set(predicted) <= {0, 1}
