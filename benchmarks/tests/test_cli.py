"""The command `domindex-bench`: what it prints, what it returns, and that a kill loses nothing."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from domindex import cluster
from domindex_bench import list_methods, list_suites, running
from domindex_bench.cli import app

COMMAND = [sys.executable, "-m", "domindex_bench"]
PATIENCE = 60.0


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def one_line(text):
    assert text.count("\n") == 1
    return text


def test_methods_and_suites_are_listed():
    assert [line.split()[0] for line in run("methods").stdout.splitlines()] == list_methods()
    assert [line.split()[0] for line in run("suites").stdout.splitlines()] == list_suites()
    assert "no-adversary" in run("methods", "--suite", "ablation").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "circel"], "Did you mean 'circle'?"),
        (["run", "rotating-digits", "--methods", "knn,rigde"], "Did you mean 'ridge'?"),
        (["run", "rotating-digits", "--jobs", "0"], "jobs is 0"),
        (["run", "--suite", "papr"], "Did you mean 'paper'?"),
        (["methods", "--suite", "papr"], "Did you mean 'paper'?"),
        (["render", "--out", "nowhere"], "no record to read at nowhere"),
        (["figures", "compcars-drawn"], "no dataset 'compcars-drawn'; there are compcars"),
        (["figures", "circle", "--suite", "papr"], "Did you mean 'paper'?"),
        (["figures", "circle", "--suite", "paper", "--methods", "vid"], "Did you mean 'vdi'?"),
    ],
)
def test_a_wrong_name_is_one_line_and_code_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in one_line(result.stderr)


def test_a_folder_that_cannot_be_written_to_is_one_line_and_code_2(tmp_path):
    (tmp_path / "taken").write_text("a file")
    result = run("run", "rotating-digits", "--methods", "knn", "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert "cannot be written to" in one_line(result.stderr)


@pytest.mark.timeout(60)
def test_an_unreachable_cluster_is_code_2_and_nothing_is_lost(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    kept = tmp_path / "record.jsonl"
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
    result = run("run", *asked)
    assert result.exit_code == 2
    assert "No Dask scheduler answers" in result.stderr
    assert kept.exists()


def test_a_failed_cell_is_code_1_and_listed_after_the_others(tmp_path, monkeypatch):
    def fail_knn(cell, data_home=None):
        status = "failed" if cell.method == "knn" else "not applicable"
        return cell.ended(status, note="out of luck")

    monkeypatch.setattr(running, "run_cell", fail_knn)
    result = run("run", "rotating-digits", "--methods", "knn, logistic", "--out", tmp_path)
    assert result.exit_code == 1
    assert "failed: paper: rotating-digits knn seed 0: out of luck" in result.stderr
    assert len((tmp_path / "record.jsonl").read_text().splitlines()) == 2


def test_tables_are_rendered_without_measuring_and_rows_of_another_tree_are_marked(
    tmp_path, monkeypatch
):
    def measured(cell, data_home=None):
        return cell.ended("done", figures={"accuracy": 50.0}, fit_seconds=0.1)

    monkeypatch.setattr(running, "run_cell", measured)
    run("run", "rotating-digits", "--methods", "knn", "--out", tmp_path)
    (tmp_path / "paper.md").unlink()
    rendered = run("render", "--suite", "paper", "--out", tmp_path)
    assert rendered.stdout.split() == [str(tmp_path / "paper.md")]
    assert "50.0 †" not in (tmp_path / "paper.md").read_text()
    kept = tmp_path / "record.jsonl"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "tree": "0123456789ab"}) + "\n")
    assert run("render", "--suite", "paper", "--out", tmp_path).exit_code == 0
    assert "50.0 †" in (tmp_path / "paper.md").read_text()


@pytest.mark.full
@pytest.mark.timeout(180)
def test_killed_half_way_it_goes_on_where_it_was(tmp_path):
    path = tmp_path / "record.jsonl"
    asked = ["run", "rotating-digits", "--methods", "knn,logistic", "--seeds", "2"]
    command = [*COMMAND, *asked, "--jobs", "1", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        start = time.monotonic()
        while not (path.exists() and path.read_bytes().count(b"\n")):
            assert time.monotonic() - start < PATIENCE
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    with path.open("ab") as file:
        file.write(b'{"suite": "paper", "dataset": "rotating-digits", "meth')
    before = path.read_bytes()[: path.read_bytes().rfind(b"\n") + 1]
    again = run(*command[len(COMMAND) :])
    assert again.exit_code == 0, again.stderr
    assert path.read_bytes().startswith(before), "what was finished is not touched"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    cells = [(record["method"], record["seed"]) for record in records]
    assert sorted(cells) == [("knn", 0), ("logistic", 0)]
    assert "| Logistic regression |" in again.stdout
    done = before.count(b"\n")
    assert f"{2 - done} cells to measure; {done} are known" in again.stderr
