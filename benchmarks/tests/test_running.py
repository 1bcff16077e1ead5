"""Runs: each cell once, in a process of its own, here or on a cluster."""

import json
import os
import time

import joblib
import numpy as np
import pytest

from domindex import cluster
from domindex.errors import DatasetError, InputError
from domindex_bench import Cell, Record, running, source_tree
from domindex_bench.running import MemoryMeter, measure, run_benchmark, run_cell


def digits(method, seed=0):
    return Cell("paper", "rotating-digits", method, seed)


@pytest.fixture
def pretend(monkeypatch):
    """Cells that cost nothing; returns those that were run, and the methods that shall fail."""
    ran, failing = [], set()

    def run(cell, data_home=None):
        ran.append(cell)
        if cell.method in failing:
            return cell.ended("failed", note="out of luck")
        figures = {"accuracy": 50.0 + cell.seed, "r2": 0.5}
        return cell.ended("done", figures=figures, fit_seconds=0.1)

    monkeypatch.setattr(running, "run_cell", run)
    return ran, failing


def of_other_tree(path, method):
    """Rewrite the rows of a method as if they had been measured with other code."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if row["method"] == method:
            row["tree"] = "0123456789ab"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def measured():
    """A cell that was really run, in its process."""
    return run_cell(digits("knn"))


@pytest.mark.slow
def test_a_cell_has_figures_time_memory_and_versions(measured):
    result = measured
    assert result.status == "done"
    assert 0.0 < result.figures["accuracy"] < 100.0
    assert 0.0 <= result.fit_seconds < 60.0
    assert 0.0 <= result.fit_mb < result.peak_mb < 5000.0
    assert {"python", "domindex", "numpy", "scikit-learn", "torch"} <= set(result.versions)
    assert result.tree == source_tree()
    assert result.commit
    assert result.cores >= 1


@pytest.mark.full
def test_the_same_seed_gives_the_same_cell_in_any_process():
    first = run_cell(digits("forest"))
    second, other = (measure(digits("forest", seed)) for seed in (0, 1))
    assert first.figures == second.figures != other.figures


@pytest.mark.full
def test_an_error_in_a_cell_is_its_result():
    result = run_cell(digits("no-such-method"))
    assert result.status == "failed"
    assert "KeyError: 'no-such-method' (running.py" in result.note


def test_a_process_that_dies_is_a_failed_cell(monkeypatch):
    monkeypatch.setattr(running, "MODULE", "no_such_module")
    result = run_cell(digits("knn"))
    assert result.status == "failed"
    assert "ended with code 1" in result.note
    assert "no_such_module" in result.note


def test_finished_cells_are_not_run_again_and_failed_ones_are(tmp_path, pretend):
    ran, failing = pretend
    failing.add("forest")
    methods = ["knn", "forest"]
    first = run_benchmark(["rotating-digits"], methods, seeds=2, out=tmp_path, jobs=1)
    assert [result.cell.method for result in first.failed] == ["forest", "forest"]
    assert len(ran) == 3, "k-NN knows no chance: one seed"
    failing.clear()
    ran.clear()
    second = run_benchmark(["rotating-digits"], methods, seeds=2, out=tmp_path, jobs=1)
    assert ran == [digits("forest", 0), digits("forest", 1)]
    assert not second.failed


def test_more_seeds_add_to_what_there_is(tmp_path, pretend):
    ran, _ = pretend
    run_benchmark(["rotating-digits"], ["forest"], seeds=1, out=tmp_path)
    run_benchmark(["rotating-digits"], ["forest"], seeds=3, out=tmp_path)
    assert sorted(cell.seed for cell in ran) == [0, 1, 2]
    assert "51.0 ± 0.8" in (tmp_path / "paper.md").read_text()


def test_what_does_not_apply_is_recorded_with_its_reason_and_not_run(tmp_path, pretend):
    ran, _ = pretend
    run = run_benchmark(["rotating-digits"], ["ridge"], out=tmp_path)
    (result,) = run.results
    assert result.status == "not applicable"
    assert result.note == "it predicts values, and this is classification"
    assert ran == []
    assert not run.failed


def test_a_row_of_another_tree_is_measured_again_unless_it_shall_be_kept(tmp_path, pretend):
    ran, _ = pretend
    methods = ["knn", "logistic"]
    run = run_benchmark(["rotating-digits"], methods, out=tmp_path)
    of_other_tree(run.path, "knn")
    ran.clear()
    kept = run_benchmark(["rotating-digits"], methods, out=tmp_path, keep=True)
    assert ran == []
    assert "1 of 2 rows were measured with another tree" in kept.tables()
    fresh = run_benchmark(["rotating-digits"], methods, out=tmp_path)
    assert ran == [digits("knn")]
    assert "0 of 2 rows were measured with another tree" in fresh.tables()


def test_several_suites_share_one_record(tmp_path, pretend):
    ran, _ = pretend
    run = run_benchmark(
        ["rotating-digits", "alike"], ["knn"], suite=["paper", "regression"], out=tmp_path
    )
    assert ran == [digits("knn"), *(Cell("regression", "alike", "knn", n) for n in range(3))], (
        "rows drawn anew with every seed are worth measuring even where a method knows no chance"
    )
    assert len(Record(run.path).read()) == 4
    assert (tmp_path / "paper.md").exists()
    assert "| alike |" in (tmp_path / "regression.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"methods": ["loggistic"]},
            r"no method 'loggistic'; there are cross-domain, .*mean 'logistic'",
        ),
        ({"datasets": ["dg15"]}, r"no dataset 'dg15'; there are circle.*Did you mean 'dg-15'"),
        ({"methods": []}, r"No method is named"),
        ({"suite": "papers"}, r"no suite 'papers'; there are paper, .*Did you mean 'paper'"),
        ({"suite": []}, r"No suite is named"),
        ({"seeds": 0}, r"seeds is 0"),
        ({"jobs": 0}, r"jobs is 0"),
    ],
)
def test_what_cannot_be_asked_for_is_said_before_anything_is_written(tmp_path, arguments, message):
    with pytest.raises(InputError, match=message):
        run_benchmark(**{"datasets": ["rotating-digits"], **arguments}, out=tmp_path / "out")
    assert not os.path.exists(tmp_path / "out")


def test_a_dataset_without_its_files_is_said_before_anything_is_written(tmp_path, monkeypatch):
    import pooch

    def offline(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(pooch, "retrieve", offline)
    with pytest.raises(DatasetError, match="could not be downloaded"):
        run_benchmark(["circle"], ["knn"], out=tmp_path / "out", data_home=tmp_path / "none")
    assert not os.path.exists(tmp_path / "out")


@pytest.mark.full
@pytest.mark.timeout(120)
def test_a_cluster_of_two_workers_measures_the_same(measured, tmp_path):
    distributed = pytest.importorskip("distributed")
    methods = ["knn", "logistic"]
    # Workers in threads: a cell has a process of its own wherever it is measured.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        far = run_benchmark(
            ["rotating-digits"], methods, out=tmp_path, dask=cluster.scheduler_address
        )
    assert [result.status for result in far.results] == ["done", "done"]
    assert far.results[0].figures == measured.figures
    assert len(Record(far.path).read()) == 2


@pytest.mark.timeout(60)
def test_a_cluster_that_does_not_answer_is_said(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    with pytest.raises(InputError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        run_benchmark(["rotating-digits"], ["knn"], out=tmp_path / "o", dask="tcp://127.0.0.1:9")
    assert not os.path.exists(tmp_path / "o")


def test_without_distributed_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'domindex\[cluster\]'"):
        run_benchmark(["rotating-digits"], ["knn"], out=tmp_path, dask="tcp://127.0.0.1:9")


@pytest.mark.full
def test_cells_of_a_benchmark_go_where_joblib_sends_them(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(running, "run_cell", lambda cell, data_home=None: os.getpid())
    cells = range(4)
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with local, cluster.connected(local.scheduler_address, as_default=True) as client:
        client.wait_for_workers(2, timeout=60)
        workers = set(client.run(os.getpid).values())
        with joblib.parallel_config(backend="dask"):
            ran = set(running.run_on_cores(cells, jobs=2, data_home=None))
    assert ran <= workers
    assert set(running.run_on_cores(cells, jobs=2, data_home=None)) == {os.getpid()}


def test_memory_that_was_given_back_is_part_of_the_peak():
    with MemoryMeter() as meter:
        before = meter.now_mb()
        held = np.ones(100 * 2**20 // 8)
        time.sleep(0.1)
        del held
    assert 90 < meter.peak_mb - before < 200
