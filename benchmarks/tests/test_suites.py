"""The suites: that each can be measured, and what is special about some."""

import re

import numpy as np
import pytest

from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex_bench import Cell, find_suite, list_suites
from domindex_bench.figures import LABELS
from domindex_bench.running import measure
from domindex_bench.suites import generality
from domindex_bench.suites.ablation import VARIANTS
from domindex_bench.suites.regression import FAMILIES, family

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
        assert suite.methods[method].name == method


def test_a_name_that_is_no_suite_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"no suite 'ablations'; there are paper, .*'ablation'"):
        find_suite("ablations")


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


def test_uneven_domains_have_5_to_500_rows():
    sizes = generality.uneven(30)
    assert (min(sizes), max(sizes)) == (5, 500)


@pytest.mark.parametrize("name", list(VARIANTS))
def test_every_ablation_fits_and_predicts(name):
    model = find_suite("ablation").methods[name].build(SMALL, 0)
    model.set_params(pretraining_steps=2, steps=2)
    model.fit(
        SMALL.X,
        SMALL.y,
        sample_domain=SMALL.sample_domain,
        source_domains=SMALL.source_domains,
    )
    predicted = model.predict(SMALL.X, sample_domain=SMALL.sample_domain)
    assert set(predicted) <= {0, 1}
