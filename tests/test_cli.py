"""The command line: what it prints, what it returns, and that a kill loses nothing."""

import json
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from domindex.cli import app
from domindex.datasets import list_datasets
from domindex.errors import TrainingDiverged

COMMAND = [sys.executable, "-m", "domindex.cli"]
PATIENCE = 60.0


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def one_line(text):
    assert text.count("\n") == 1
    return text


def test_help_imports_nothing_heavy():
    check = (
        "import sys, domindex.cli\n"
        "sys.exit(bool({'numpy', 'pandas', 'sklearn', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
    assert "fit" in run("--help").stdout


def test_datasets_are_listed():
    assert run("datasets").stdout.split() == list_datasets()
    described = run("datasets", "rotating-digits").stdout
    assert "18 domains, 5 of them sources" in described
    assert "turned anticlockwise" in described


@pytest.mark.parametrize(
    ("arguments", "message"), [(["datasets", "circel"], "Did you mean 'circle'?")]
)
def test_a_wrong_name_is_one_line_and_code_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in one_line(result.stderr)


@pytest.fixture(scope="module")
def table():
    """Sites along which clouds drift; labels in the first three."""
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(6), 20)
    rows = rng.normal(size=(len(place), 2))
    frame = pd.DataFrame(rows + place[:, None], columns=["x", "z"])
    frame.insert(0, "site", [f"s{number}" for number in place])
    frame["outcome"] = np.where(rows[:, 0] > 0, "well", "ill")
    frame["dose"] = rows.sum(axis=1)
    frame.loc[place >= 3, ["outcome", "dose"]] = None
    return frame


@pytest.fixture(scope="module")
def place(table, tmp_path_factory):
    """A folder with the table, quick settings and a run of it."""
    folder = tmp_path_factory.mktemp("cli")
    table.to_csv(folder / "data.csv", index=False)
    (folder / "quick.toml").write_text(
        'predictor = "network"\n'
        '[training]\nindex_steps = 5\nsteps = 10\n[network]\nadversary = ["domain"]\n'
    )
    result = fit(folder, "--exclude", "dose", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["task"] == "classification"
    return folder


def fit(folder, *more, data="data.csv", out="run"):
    asked = ["--target", "outcome", "--domain", "site", "--out", folder / out, "--no-report"]
    return run("fit", folder / data, *asked, "--config", folder / "quick.toml", *more)


@pytest.mark.parametrize(
    "command",
    get_command(app).commands,
)
def test_every_command_shows_an_example_and_answers_a_script(command):
    shown = run(command, "--help").stdout
    assert f"Example:\n    domindex {command}" in shown
    assert ("--json" in shown) == (command != "serve"), "which prints an address and no result"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("domindex sc", "score"),
        ("domindex score --un", "--untrusted"),
        ("domindex map --ord", "--order"),
    ],
)
def test_a_shell_completes_commands_and_options(typed, offered):
    asked = {"_DOMINDEX_COMPLETE": "complete_bash", "COMP_WORDS": typed}
    asked["COMP_CWORD"] = str(len(typed.split()) - 1)
    result = CliRunner().invoke(app, [], prog_name="domindex", env=asked)
    assert result.stdout.split() == [offered]


def test_a_table_is_fitted_predicted_and_mapped(place, table, tmp_path):
    out, graph = tmp_path / "predictions.csv", tmp_path / "map.graphml"
    result = run("predict", place / "run", place / "data.csv", "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == {
        "out": str(out),
        "rows": 120,
        "new_domains": [],
        "off_map": [],
        "notes": [],
    }
    predicted = pd.read_csv(out)
    assert list(predicted.columns) == [
        "site",
        "outcome",
        "p(ill)",
        "p(well)",
        "distance",
        "off_map",
    ]
    assert predicted["site"].tolist() == table["site"].tolist()
    result = run("index", place / "run", "--json", "--graph", graph)
    assert result.exit_code == 0, result.stderr
    assert [row["role"] for row in json.loads(result.stdout)["domains"]] == ["source"] * 3 + [
        "target"
    ] * 3
    assert set(nx.read_graphml(graph).nodes) == set(table["site"])


def test_new_domains_are_added_to_a_run(place, table, tmp_path):
    later = table[table["site"] == "s4"].assign(site="later")
    later.to_csv(tmp_path / "later.csv", index=False)
    result = run("add", place / "run", tmp_path / "later.csv")
    assert result.exit_code == 2
    assert "--out" in one_line(result.stderr)
    result = run("add", place / "run", tmp_path / "later.csv", "--out", tmp_path / "grown")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"Run: {tmp_path / 'grown'} (1 domain added)\n"
    later.assign(site="last").to_csv(tmp_path / "last.csv", index=False)
    result = run("add", tmp_path / "grown", tmp_path / "last.csv", "--force", "--json")
    assert result.exit_code == 0, result.stderr
    assert [row["domain"] for row in json.loads(result.stdout)["domains"]] == ["last"]
    result = run("index", tmp_path / "grown", "--json")
    assert [row["role"] for row in json.loads(result.stdout)["domains"]][-2:] == ["added"] * 2


def test_predictions_can_go_to_standard_output_or_parquet(place, tmp_path):
    pytest.importorskip("pyarrow")
    result = run("predict", place / "run", place / "data.csv", "--out", "-")
    assert result.stdout.startswith("site,outcome,p(ill),p(well),distance,off_map\ns0,")
    out = tmp_path / "p.parquet"
    assert run("predict", place / "run", place / "data.csv", "--out", out).exit_code == 0
    assert len(pd.read_parquet(out)) == result.stdout.count("\n") - 1
    result = run("predict", place / "run", place / "data.csv", "--out", "-", "--json")
    found = json.loads(result.stdout)["predictions"]
    assert pd.DataFrame(found)["outcome"].tolist() == pd.read_parquet(out)["outcome"].tolist()


def test_nothing_is_written_over_without_force(place, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    for command in (["predict", place / "run", place / "data.csv"], ["index", place / "run"]):
        result = run(*command, "--out", out)
        assert result.exit_code == 2
        assert "--force" in one_line(result.stderr)
        assert out.read_text() == "precious"
    before = (place / "run" / "run.json").read_bytes()
    result = fit(place)
    assert result.exit_code == 2
    assert "--force" in one_line(result.stderr)
    assert (place / "run" / "run.json").read_bytes() == before
    assert run("index", place / "run", "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("domain,role")


BAD_TABLES = {
    "missing file": (None, "There is no file"),
    "empty file": (b"", "is empty"),
    "header alone": (b"site,x,outcome\n", "no rows"),
    "unknown column": (b"sites,x,outcome\na,1,b\nb,2,\n", "Did you mean 'sites'?"),
    "domain with blanks": (b"site,x,outcome\na,1,b\n,2,\n", "blank in 1 of 2 rows"),
    "mixed types": (b"site,x,outcome\na,1,b\nb,two,\n", "mixes numbers and texts"),
    "dates": (b"site,x,outcome\na,2020-01-02,b\nb,2020-01-03,\n", "Pass --dates"),
    "mixed target": (b"site,x,outcome\na,1,2.5\na,1,high\nb,2,\n", "mixes numbers and texts"),
    "one domain": (b"site,x,outcome\na,1,b\na,2,c\n", "there is none to predict in"),
    "not text": (bytes(range(256)), "not a text file"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_one_line_and_code_2(place, tmp_path, case):
    content, message = BAD_TABLES[case]
    if content is not None:
        (tmp_path / "bad.csv").write_bytes(content)
    before = sorted(tmp_path.iterdir())
    asked = ["--target", "outcome", "--domain", "site", "--out", tmp_path / "run"]
    result = run("fit", tmp_path / "bad.csv", *asked)
    assert result.exit_code == 2
    assert message in one_line(result.stderr)
    assert result.stdout == ""
    assert sorted(tmp_path.iterdir()) == before


def test_a_truncated_parquet_is_one_line_and_code_2(place, table, tmp_path):
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "data.parquet")
    content = (tmp_path / "data.parquet").read_bytes()
    (tmp_path / "data.parquet").write_bytes(content[: len(content) // 2])
    result = run("predict", place / "run", tmp_path / "data.parquet", "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "not a whole Parquet file" in one_line(result.stderr)
    assert not (tmp_path / "p.csv").exists()


def test_text_where_numbers_are_expected_is_one_line_and_code_2(place, tmp_path):
    result = fit(place, "--task", "regression", out=tmp_path / "run")
    assert result.exit_code == 2
    assert "regression needs numbers" in one_line(result.stderr)


def test_no_right_to_write_is_one_line_and_code_2(place, tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("domindex.persistence.atomic.tempfile.mkdtemp", refuse)
    for command in (
        ["index", place / "run", "--out", tmp_path / "map.csv"],
        ["predict", place / "run", place / "data.csv", "--out", tmp_path / "p.csv"],
        ["fit", place / "data.csv", "--target", "x", "--domain", "site", "--out", tmp_path / "r"],
    ):
        result = run(*command)
        assert result.exit_code == 2
        assert "cannot be written to (Permission denied)" in one_line(result.stderr)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[training]\nstep = 3", "Did you mean 'steps'?"),
        ("steps = ", "not TOML"),
        ("[training]\nsteps = 0", "steps is 0"),
    ],
)
def test_wrong_settings_are_one_line_and_code_2(place, tmp_path, text, message):
    (tmp_path / "wrong.toml").write_text(text)
    result = fit(place, "--config", tmp_path / "wrong.toml", out=tmp_path / "run")
    assert result.exit_code == 2
    assert message in result.stderr.splitlines()[-1]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", [["fit"], ["predict", "run"], ["fit", "a.csv", "--seed", "x"]])
def test_a_wrong_call_is_code_2(command):
    assert run(*command).exit_code == 2


def test_a_run_that_is_not_there_is_one_line_and_code_2(place, tmp_path):
    for command in (
        ["predict", tmp_path, place / "data.csv"],
        ["index", tmp_path],
        ["report", tmp_path],
    ):
        result = run(*command)
        assert result.exit_code == 2
        assert "run.json" in one_line(result.stderr)


def test_a_training_that_fails_is_code_1(place, tmp_path, monkeypatch):
    def diverge(*arguments, **options):
        raise TrainingDiverged("The term 'adversary' became nan. Lower learning_rate.")

    monkeypatch.setattr("domindex.committee.network.train_encoding", diverge)
    result = fit(place, out=tmp_path / "run")
    assert result.exit_code == 1
    assert "Lower learning_rate" in result.stderr.splitlines()[-1]
    assert not (tmp_path / "run").exists()


@pytest.mark.full
@pytest.mark.timeout(120)
def test_stopped_by_ctrl_c_it_leaves_the_run_before_as_it_was(place, tmp_path):
    (tmp_path / "long.toml").write_text(
        'predictor = "network"\n[training]\nindex_steps = 5\nsteps = 1000000\n'
    )
    before = (place / "run" / "run.json").read_bytes()
    asked = ["fit", place / "data.csv", "--target", "outcome", "--domain", "site", "--force"]
    asked += ["--exclude", "dose", "--out", place / "run", "--config", tmp_path / "long.toml"]
    command = [*COMMAND, *map(str, asked)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            if b"Mapping the domains" in line:
                break
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    # Python ends by the signal itself where it came during an import: 130 to a shell as well.
    assert process.returncode in (130, -signal.SIGINT), errors
    assert b"stopped" in errors
    assert f"domindex fit --resume {place / 'run'}".encode() in errors
    assert b"Traceback" not in errors
    assert (place / "run" / "run.json").read_bytes() == before
    shutil.rmtree(place / "run.checkpoint")
    assert sorted(path.name for path in place.iterdir()) == ["data.csv", "quick.toml", "run"]


def test_a_fit_needs_data_or_a_run_to_resume(place, tmp_path):
    assert "--resume RUN" in one_line(run("fit").stderr)
    assert "nothing to resume" in one_line(run("fit", "--resume", tmp_path / "run").stderr)
    both = run("fit", place / "data.csv", "--resume", tmp_path / "run")
    assert both.exit_code == 2
    assert "Leave out the rest" in one_line(both.stderr)


@pytest.mark.full
def test_the_demo_goes_the_whole_way(place, tmp_path):
    asked = ["--out", tmp_path / "demo", "--config", place / "quick.toml", "--json", "--no-report"]
    result = run("demo", *asked)
    assert result.exit_code == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures["index_correlation"] > 0.9
    written = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"family.csv", "run", "predictions.csv", "index.csv"} <= written
    assert run("demo", *asked).exit_code == 2


def test_datasets_can_be_read_by_a_script():
    assert json.loads(run("datasets", "--json").stdout) == {"datasets": list_datasets()}
    described = json.loads(run("datasets", "rotating-digits", "--json").stdout)
    assert described["domains"] == 18


def test_a_report_that_was_not_gathered_is_one_line(place):
    result = run("report", place / "run")
    assert result.exit_code in (1, 2)
    assert "report" in one_line(result.stderr)


def test_a_fit_ends_with_a_report_that_can_be_drawn_again(place, tmp_path):
    pytest.importorskip("plotly")
    asked = ["--target", "outcome", "--domain", "site", "--exclude", "dose", "--json"]
    result = run(
        *("fit", place / "data.csv", *asked, "--out", tmp_path / "run"),
        *("--config", place / "quick.toml"),
    )
    assert result.exit_code == 0, result.stderr
    drawn = tmp_path / "run" / "report.html"
    content = json.loads(result.stdout)
    assert content["report"] == str(drawn)
    assert content["summary"][0].startswith("Predictions: ")
    assert set(content["summary"]) <= set(result.stderr.splitlines())
    before = drawn.read_bytes()
    drawn.unlink()
    assert run("report", tmp_path / "run").exit_code == 0
    assert drawn.read_bytes() == before


def test_the_package_runs_as_the_command_does(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["domindex", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("domindex", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("domindex ")


def test_scores_as_json_can_be_read_by_anyone(place, table, tmp_path):
    """A domain with one class has no AUC: NaN, which JSON does not know."""
    table.assign(outcome="well").to_csv(tmp_path / "late.csv", index=False)
    result = run("score", place / "run", tmp_path / "late.csv", "--json")
    assert result.exit_code == 0, result.stderr

    def refuse(text):
        raise AssertionError(f"{text} is no JSON")

    scores = json.loads(result.stdout, parse_constant=refuse)
    assert scores["overall"]["auc"] is None
    assert all(row["auc"] is None for row in scores["domains"])


def test_the_papers_model_is_fitted_by_its_name(place, table, tmp_path):
    (tmp_path / "short.toml").write_text("pretraining_steps = 4\nsteps = 6\n")
    asked = ["--target", "dose", "--domain", "site", "--exclude", "outcome", "--method", "vdi"]
    how = ["--config", tmp_path / "short.toml", "--out", tmp_path / "run", "--json"]
    result = run("fit", place / "data.csv", *asked, *how)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["estimator"] == "VDIRegressor"
    assert (tmp_path / "run" / "report.html").is_file()
    late = table.assign(dose=table["x"])
    late.to_csv(tmp_path / "late.csv", index=False)
    result = run("score", tmp_path / "run", tmp_path / "late.csv")
    assert result.exit_code == 0, result.stderr
    assert "VDIRegressor makes no forecasts" in result.stderr
    for command in (["fit", place / "data.csv", *asked[:-1], "vid"], ["figures", "circle"]):
        result = run(*command, *(["--method", "vid"] if command[0] == "figures" else []))
        assert result.exit_code == 2
        message = one_line(result.stderr)
        assert re.search(r"method (is|names) 'vid'\. Choose .* cross-domain, vdi", message)
