"""Runs: each cell once, in a process of its own, here or on a cluster."""

import os

import pytest

from domindex.errors import DatasetError, InputError
from domindex.evaluation.benchmark import (
    Cell,
    CellResult,
    Journal,
    run_benchmark,
    spreading,
    worker,
)
from domindex.evaluation.benchmark.worker import run_cell


@pytest.fixture
def pretend(monkeypatch):
    """Cells that cost nothing; returns those that were run, and the methods that shall fail."""
    ran, failing = [], set()

    def run(cell, data_home=None):
        ran.append(cell.key)
        if cell.method in failing:
            return cell.failed("out of luck")
        return CellResult(*cell.key, "done", {"accuracy": 50.0 + cell.seed}, 0.1, 0.1, 99.0, 9.0)

    monkeypatch.setattr(spreading, "run_cell", run)
    return ran, failing


def test_a_cell_has_figures_time_memory_and_versions():
    result = run_cell(Cell("rotating-digits", "knn", 0))
    assert result.status == "done"
    assert 0.0 < result.figures["accuracy"] < 100.0
    assert 0.0 <= result.fit_seconds < 60.0
    assert 0.0 <= result.fit_mb < result.peak_mb < 5000.0
    assert {"python", "domindex", "numpy", "scikit-learn", "torch"} <= set(result.versions)


def test_the_same_seed_gives_the_same_cell():
    first, second, other = (run_cell(Cell("rotating-digits", "forest", seed)) for seed in (0, 0, 1))
    assert first.figures == second.figures != other.figures


def test_an_error_in_a_cell_is_its_result():
    result = run_cell(Cell("rotating-digits", "no-such-method", 0))
    assert result.status == "failed"
    assert "KeyError: 'no-such-method' (measuring.py" in result.note


def test_a_process_that_dies_is_a_failed_cell(monkeypatch):
    monkeypatch.setattr(worker, "MODULE", "no_such_module")
    result = run_cell(Cell("rotating-digits", "knn", 0))
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
    assert ran == [("rotating-digits", "forest", 0), ("rotating-digits", "forest", 1)]
    assert not second.failed


def test_more_seeds_add_to_what_there_is(tmp_path, pretend):
    ran, _ = pretend
    run_benchmark(["rotating-digits"], ["forest"], seeds=1, out=tmp_path)
    run_benchmark(["rotating-digits"], ["forest"], seeds=3, out=tmp_path)
    assert sorted(seed for _, _, seed in ran) == [0, 1, 2]
    assert "51.0 ± 0.8" in (tmp_path / "benchmark.md").read_text()


def test_what_does_not_apply_is_recorded_with_its_reason_and_not_run(tmp_path, pretend):
    ran, _ = pretend
    run = run_benchmark(["rotating-digits"], ["ridge"], out=tmp_path)
    (result,) = run.results
    assert result.status == "not applicable"
    assert result.note == "it predicts values, and this is classification"
    assert ran == []
    assert not run.failed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"methods": ["loggistic"]},
            r"no method 'loggistic'; there are vdi, .*mean 'logistic'",
        ),
        ({"datasets": ["dg15"]}, r"no dataset 'dg15'; there are circle.*Did you mean 'dg-15'"),
        ({"methods": []}, r"No method is named"),
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


@pytest.mark.timeout(120)
def test_a_cluster_of_two_workers_measures_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    methods = ["knn", "logistic"]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        far = run_benchmark(
            ["rotating-digits"], methods, out=tmp_path, dask=cluster.scheduler_address
        )
    assert [result.status for result in far.results] == ["done", "done"]
    assert far.results[0].figures == run_cell(Cell("rotating-digits", "knn", 0)).figures
    assert len(Journal(far.path).read()) == 2


@pytest.mark.timeout(60)
def test_a_cluster_that_does_not_answer_is_said(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(spreading, "PATIENCE", 0.5)
    with pytest.raises(InputError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        run_benchmark(["rotating-digits"], ["knn"], out=tmp_path / "o", dask="tcp://127.0.0.1:9")
    assert not os.path.exists(tmp_path / "o")


def test_without_distributed_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'domindex\[cluster\]'"):
        run_benchmark(["rotating-digits"], ["knn"], out=tmp_path, dask="tcp://127.0.0.1:9")
