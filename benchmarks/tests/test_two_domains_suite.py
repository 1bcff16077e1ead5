"""The suite of one source and one target: its data, and its table."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from domindex import Training
from domindex.errors import DatasetError
from domindex_bench import Cell, find_suite, render_suite
from domindex_bench.running import measure, run_benchmark
from domindex_bench.suites.two_domains import SHIFTS, SIZE, shifted

SUITE = find_suite("two-domains")
needs_skada = pytest.mark.skipif(
    find_spec("skada") is None, reason="skada is not installed: pip install 'domindex[skada]'"
)


@pytest.mark.filterwarnings("ignore:two-domains goes on without")
def test_without_skada_a_run_goes_on_unless_its_data_were_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skada", None)
    monkeypatch.setitem(sys.modules, "skada.datasets", None)
    with pytest.warns(UserWarning, match=r"without subspace. .*domindex\[skada\]"):
        run = run_benchmark(suite="two-domains", out=tmp_path)
    assert run.results == ()
    with pytest.raises(DatasetError, match=r"pip install 'domindex\[skada\]'"):
        run_benchmark(["subspace"], suite="two-domains", out=tmp_path)


def test_the_table_has_a_row_per_method_and_a_column_per_shift():
    rows = []
    for dataset in SUITE.datasets:
        for seed in range(2):
            cell = Cell("two-domains", dataset, "svm", seed)
            figures = {"accuracy": 90.0 + 2 * seed}
            rows.append(cell.ended("done", figures=figures))
    lines = render_suite(SUITE, rows).splitlines()
    titles = [source.title for source in SUITE.datasets.values()]
    assert f"|  | {' | '.join(titles)} |" in lines
    assert f"| RBF SVM | {' | '.join(['91.0 ± 1.0'] * len(titles))} |" in lines


@needs_skada
@pytest.mark.parametrize("title", SHIFTS)
def test_a_seed_draws_both_domains_anew(title):
    first, again, other = (shifted(title, None, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    size = SIZE * (4 if title == "subspace" else 8)
    assert first.is_source.sum() == (~first.is_source).sum() == size
    assert first.domains == ["source", "target"]
    assert set(first.y) == {0, 1}


@needs_skada
def test_a_method_without_chance_runs_with_every_seed(tmp_path, monkeypatch):
    ran = []

    def run(cell, data_home=None):
        ran.append(cell)
        return cell.ended("done", figures={"accuracy": 50.0}, fit_seconds=0.1)

    monkeypatch.setattr("domindex_bench.running.run_cell", run)
    run_benchmark(["subspace"], ["logistic"], suite="two-domains", out=tmp_path, jobs=1)
    assert [cell.seed for cell in ran] == list(range(SUITE.seeds))


@needs_skada
def test_a_plain_cell_has_an_accuracy():
    result = measure(Cell("two-domains", "covariate-shift", "svm", 0))
    assert 50.0 < result.figures["accuracy"] <= 100.0


@needs_skada
def test_the_default_model_fits_two_domains():
    data = shifted("conditional shift", None, 0)
    model = SUITE.methods["cross-domain"].build(data, 0)
    model.set_params(training=Training(index_steps=2, steps=2))
    model.fit(data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains)
    assert set(model.predict(data.X, sample_domain=data.sample_domain)) <= {0, 1}
