"""The command line: what it prints, what it returns, and that a kill loses nothing."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from domindex.cli import app
from domindex.datasets import list_datasets
from domindex.evaluation.benchmark import list_methods, spreading

COMMAND = [sys.executable, "-m", "domindex.cli"]
PATIENCE = 60.0


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def one_line(text):
    assert text.count("\n") == 1
    return text


def test_help_imports_nothing_heavy():
    check = (
        "import sys, domindex.cli; sys.exit(bool({'numpy', 'sklearn', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
    assert "bench" in run("--help").stdout


def test_datasets_and_methods_are_listed():
    assert run("datasets").stdout.split() == list_datasets()
    assert [line.split()[0] for line in run("methods").stdout.splitlines()] == list_methods()
    described = run("datasets", "rotating-digits").stdout
    assert "18 domains, 5 of them sources" in described
    assert "turned anticlockwise" in described


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["datasets", "circel"], "Did you mean 'circle'?"),
        (["bench", "circel"], "Did you mean 'circle'?"),
        (["bench", "rotating-digits", "--methods", "knn,rigde"], "Did you mean 'ridge'?"),
        (["bench", "rotating-digits", "--jobs", "0"], "jobs is 0"),
    ],
)
def test_a_wrong_name_is_one_line_and_code_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in one_line(result.stderr)


def test_a_folder_that_cannot_be_written_to_is_one_line_and_code_2(tmp_path):
    (tmp_path / "taken").write_text("a file")
    result = run("bench", "rotating-digits", "--methods", "knn", "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert "cannot be written to" in one_line(result.stderr)


@pytest.mark.timeout(60)
def test_an_unreachable_cluster_is_code_2_and_nothing_is_lost(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(spreading, "PATIENCE", 0.5)
    kept = tmp_path / "benchmark.jsonl"
    kept.write_text("")
    asked = [
        "rotating-digits",
        "--methods",
        "knn",
        "--out",
        tmp_path,
        "--dask",
        "tcp://127.0.0.1:9",
    ]
    result = run("bench", *asked)
    assert result.exit_code == 2
    assert "No Dask scheduler answers" in result.stderr
    assert kept.exists()


def test_a_failed_cell_is_code_1_and_listed_after_the_others(tmp_path, monkeypatch):
    def fail_knn(cell, data_home=None):
        return cell.failed("out of luck") if cell.method == "knn" else cell.not_applicable("no")

    monkeypatch.setattr(spreading, "run_cell", fail_knn)
    result = run("bench", "rotating-digits", "--methods", "knn, logistic", "--out", tmp_path)
    assert result.exit_code == 1
    assert "failed: rotating-digits knn seed 0: out of luck" in result.stderr
    assert len((tmp_path / "benchmark.jsonl").read_text().splitlines()) == 2


@pytest.mark.timeout(180)
def test_killed_half_way_it_goes_on_where_it_was(tmp_path):
    path = tmp_path / "benchmark.jsonl"
    asked = ["bench", "rotating-digits", "--methods", "knn,logistic,forest", "--seeds", "2"]
    command = [*COMMAND, *asked, "--jobs", "1", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        start = time.monotonic()
        while not (path.exists() and path.read_bytes().count(b"\n")):
            assert time.monotonic() - start < PATIENCE
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    with path.open("ab") as file:
        file.write(b'{"dataset": "rotating-digits", "meth')
    before = path.read_bytes()[: path.read_bytes().rfind(b"\n") + 1]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert path.read_bytes().startswith(before), "what was finished is not touched"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    cells = [(record["method"], record["seed"]) for record in records]
    assert sorted(cells) == [("forest", 0), ("forest", 1), ("knn", 0), ("logistic", 0)]
    assert "| Random forest |" in again.stdout
    done = before.count(b"\n")
    assert f"{4 - done} cells to measure; {done} are known" in again.stderr
