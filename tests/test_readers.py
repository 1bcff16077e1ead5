"""What README and docs tell a reader to type: every block of it runs, on small tables.

Fits are short here: what is tested is that a line does what the page says, not how well the default
predicts.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import RandomForestClassifier
from torch import nn
from typer.main import get_command
from typer.testing import CliRunner

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.cli import app
from domindex.estimators import cross_domain
from domindex.representations.base import REPRESENTATIONS
from domindex.serving import served_run
from domindex.tables.request import check_settings, read_settings
from domindex_bench.cli import app as bench_app
from domindex_bench.data.messy import messy_files

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\S*)( title=[^\n]*)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
COMMANDS = {"domindex": get_command(app), "domindex-bench": get_command(bench_app)}
TARGETS = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

NOT_RUN = {
    "python3 -m venv": "sets up a machine: tests/test_release.py installs into an empty one",
    "source": "of the same",
    "pip install": "needs a network: tests/test_release.py installs a wheel without one",
    "domindex-bench": "measures for hours: benchmarks/tests run its parts",
    "domindex fit sales/ --target returned --domain store --dask": "needs a cluster of that "
    "address: tests/test_cluster.py has one of its own",
}
"""Commands that are only looked at, and why. Those of ours must be understood all the same."""

PYTHON_NOT_RUN = {
    "figures.md": "fits DG-15 by two methods: tests/reporting/test_paper_figures.py draws another",
}

NEEDS = {
    "coming_from.md": ["matplotlib"],
    "gallery.md": ["matplotlib"],
    "labels.md": ["plotly"],
    "report.md": ["plotly"],
    "scaling.md": ["pyarrow", "distributed"],
    "tables.md": ["plotly"],
    "serving.md": ["uvicorn", "python_multipart"],
    "README.md": ["uvicorn"],
}
"""Packages of the extras that a page uses."""

COMPLETE = ("coming_from.md", "gallery.md", "trust.md")
"""Pages whose Python takes nothing as given."""

BEGIN = ("domindex ", "domindex-bench ", "make ", "python ", "--")

SLOW = (
    "coming_from.md",
    "gallery.md",
    "messy.md",
    "pictures.md",
    "saving.md",
    "scaling.md",
    "serving.md",
    "settings.md",
)
"""Pages that take longest; the others are a reader's first."""

PLACES = ("WA", "OR", "north", "south", "a", "b", "Nord", "2025")
"""Every name of a domain on any page: one table serves them all. The first four have labels."""


def blocks(page, *kinds):
    """Code of these languages; what has a title is other people's."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [code for kind, title, code in found if kind in kinds and not title]


def commands(page):
    """The words of every command in the blocks of a page."""
    known, found = (*COMMANDS, "pip", "python3", "source", "curl"), []
    for code in blocks(page, ""):
        for line in code.replace("\\\n", " ").splitlines():
            for part in line.removeprefix("$ ").split(" && "):
                if part.startswith(known):
                    found.append(shlex.split(part, comments=True))
    return found


def why_not_run(words):
    """The reason, or None."""
    text = shlex.join(words)
    return next((why for start, why in NOT_RUN.items() if text.startswith(start)), None)


def python_of(page):
    return blocks(page, "python")


def quoted(page):
    """Commands and options that stand within a sentence."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    found = [shlex.split(one) for one in QUOTED.findall(text) if one.startswith(BEGIN)]
    return [words for words in found if len(words) > 1 or words[0].startswith("--")]


def options_in(words):
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def options_of(command):
    return {"--help"}.union(*(one.opts + one.secondary_opts for one in command.params))


def having(test: Callable[[Path], list]) -> list:
    """The pages on which there is something to test; long ones with the mark."""
    return [
        pytest.param(page, id=page.name, marks=[pytest.mark.full] * (page.name in SLOW))
        for page in PAGES
        if test(page)
    ]


@pytest.fixture(autouse=True)
def _short_fits(monkeypatch):
    """Two candidates instead of all, and a step or two, where nothing else is asked for."""
    listed, settings = cross_domain.list_candidates, Training.settings

    def few(requested, representation, predictor, *given, **more):
        if requested is None and (representation, predictor) == ("auto", "auto"):
            requested = [("raw", "linear"), ("with_index", "linear")]
        return listed(requested, representation, predictor, *given, **more)

    monkeypatch.setattr(cross_domain, "list_candidates", few)

    monkeypatch.setattr(
        Training, "settings", lambda self, **given: settings(self, index_steps=1, steps=2)
    )


@pytest.fixture
def rows():
    """Rows of eight places along which they drift: a table, and how many labels there are."""
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(len(PLACES)), 24)
    inputs = rng.normal(size=(len(place), 3))
    table = pd.DataFrame(inputs + 0.5 * place[:, None], columns=["age", "pulse", "rainfall"])
    table["region"] = np.where(place % 2 == 0, "coast", "hills")
    table["hospital"] = np.array(PLACES)[place]
    table["outcome"] = np.where(inputs[:, 0] > 0, "good", "bad")
    return table


@pytest.fixture
def desk(rows, tmp_path, monkeypatch):
    """A folder with every file that a page speaks of; commands are typed here."""
    monkeypatch.chdir(tmp_path)
    rng, hidden = np.random.default_rng(1), ~rows["hospital"].isin(PLACES[:4])
    given = rows.assign(outcome=rows["outcome"].mask(hidden))
    given.to_csv("patients.csv", index=False)
    rows.to_csv("followup.csv", index=False)
    rows.assign(ward="3b").to_csv("today.csv", index=False)
    rows.assign(ward="3b").to_csv("heute.csv", index=False, sep=";", decimal=",")
    later = rows[rows["hospital"] == "b"].assign(hospital="later", ward="3b")
    later.to_csv("more.csv", index=False)
    numbers = rng.normal(size=(len(rows), 5)).cumsum(axis=1) + 60.0
    months = pd.DataFrame(numbers, columns=[f"month{n}" for n in (1, 2, 3, 7, 8)])
    months.insert(0, "state", rows["hospital"])
    months.to_csv("labels.csv", index=False)
    months.loc[hidden, ["month7", "month8"]] = None
    months.to_csv("temperatures.csv", index=False)
    station = rows.rename(columns={"hospital": "station", "outcome": "alarm"})
    station.to_csv("readings.csv", index=False)
    dates = pd.date_range("2004-03-01", periods=180, freq="D").strftime("%Y-%m-%d")
    air = pd.DataFrame({"Date": dates, "CO(GT)": rng.gamma(2.0, size=180).round(1)})
    air["NOx"] = (air["CO(GT)"] * 50 + rng.normal(size=180)).round(1)
    air.loc[::20, "NOx"] = -200
    air.to_csv("air_quality.csv", index=False)
    if find_spec("pyarrow"):
        Path("sales").mkdir()
        sold = rows[["age", "pulse", "rainfall"]]
        sold = sold.assign(store=list("abcdefgh") * 24, returned=rows["outcome"])
        sold.to_parquet("sales/part-0.parquet")
    np.save("rows.npy", rows[["age", "pulse", "rainfall"]].to_numpy())
    for file in messy_files().values():
        (tmp_path / file.name).write_bytes(file.content)
    return tmp_path


def typed(words):
    """What a command of ours gives, run here."""
    result = CliRunner().invoke(app, words[1:])
    said = f"{shlex.join(words)}\n{result.stderr}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(said) from result.exception
    assert result.exit_code == 0, said


@pytest.mark.parametrize("page", having(commands))
def test_commands_of_a_page_run(page, desk, monkeypatch):
    for package in NEEDS.get(page.name, []):
        pytest.importorskip(package)
    listens = []
    monkeypatch.setattr(served_run, "_run", lambda *given: listens.append(given))
    if page.name in ("trust.md", "serving.md"):  # which go on where others ended
        fit = "domindex fit patients.csv --target outcome --domain hospital --no-report --out"
        typed(shlex.split(f"{fit} {'run' if page.name == 'trust.md' else 'RUN'}"))
    if page.name == "labels.md":
        readings = pd.read_csv("readings.csv")
        readings.assign(station="later").to_csv("today.csv", index=False)
    for words in commands(page):
        if words[0] == "curl" or why_not_run(words) is not None:
            continue
        for made in ("run", words[words.index("--out") + 1] if "--out" in words else "run"):
            if words[1] == "fit" and Path(made).is_dir():
                shutil.rmtree(made)  # of the page's example before this one
        typed(words)
    assert bool(listens) == any(words[:2] == ["domindex", "serve"] for words in commands(page))


@pytest.mark.parametrize("page", having(commands))
def test_commands_that_are_not_run_can_be_run(page):
    for words in commands(page):
        if words[0] in COMMANDS:
            command = COMMANDS[words[0]].get_command(None, words[1])
            assert command is not None, shlex.join(words)
            command.make_context(words[1], list(words[2:]))
        else:
            assert words[0] == "curl" or why_not_run(words), shlex.join(words)


@pytest.mark.full
def test_a_program_can_ask_the_page_as_is_said(desk):
    pytest.importorskip("uvicorn")
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    asked = [words for words in commands(ROOT / "docs" / "serving.md") if words[0] == "curl"]
    assert len(asked) == 2
    fit = "domindex fit patients.csv --target outcome --domain hospital --no-report"
    typed(shlex.split(fit))
    serve = [sys.executable, "-m", "domindex", "serve", "run", "--port", "0"]
    process = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        port = process.stderr.readline().split(" at ")[1].split("/")[2].split(":")[1]
        for words in asked:
            words = [word.replace("8700", port) for word in words]
            said = subprocess.run([*words, "-sS"], capture_output=True, text=True, check=True)
            assert not said.stdout.startswith('{"error'), said.stdout
            assert said.stdout.startswith(("{", "ward,"))
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def names_of(page, rows):
    """What the Python of a page takes as given."""
    X = rows[["age", "pulse", "rainfall"]].to_numpy()
    y = (rows["outcome"] == "good").to_numpy().astype(int)
    place, sources = rows["hospital"].to_numpy(), list(PLACES[:4])
    later = rows[rows["hospital"] == "b"].assign(hospital="later")
    new = np.array(["2026" if page == "labels.md" else "new"] * len(later))
    few = {"candidates": [("raw", "linear"), ("with_index", "linear")]}
    model = CrossDomainClassifier(**few, training=Training(index_steps=1), random_state=0)
    model.fit(X, y, sample_domain=place, source_domains=sources)
    hidden = ~np.isin(place, sources)
    alike = ("states", "hospitals", "domains", "domain", "names", "sample_domain", "stations")
    return dict.fromkeys(alike, place) | {
        "domindex": domindex,
        "np": np,
        "joblib": joblib,
        "CrossDomainClassifier": CrossDomainClassifier,
        "CrossDomainRegressor": CrossDomainRegressor,
        "RandomForestClassifier": partial(RandomForestClassifier, n_estimators=5),
        "my_module": nn.Flatten(),
        "X": X,
        "y": y,
        "sources": sources,
        "is_source": ~hidden,
        "model": model,
        "X_new": X[place == "b"],
        "X_one": X[:1],
        "new": new,
        "new_states": new,
        "times": np.arange(len(X)),
        "new_times": np.arange(len(X), len(X) + len(later)),
        "now": len(X) + 5,
        "table": rows.assign(outcome=rows["outcome"].mask(hidden)),
        "more": later.drop(columns="outcome"),
        "followup": rows,
    }


@pytest.mark.parametrize("page", having(python_of))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_python_of_a_page_runs_in_order(page, desk, rows):
    code = [compile(one, page.name, "exec") for one in python_of(page)]
    if page.name in PYTHON_NOT_RUN:
        return
    for package in NEEDS.get(page.name, []):
        pytest.importorskip(package)
    names = {} if page.name in COMPLETE else names_of(page.name, rows)
    known = dict(REPRESENTATIONS)
    with ExitStack() as after:
        after.callback(lambda: (REPRESENTATIONS.clear(), REPRESENTATIONS.update(known)))
        after.enter_context(sklearn.config_context())
        if page.name == "scaling.md":
            from distributed import Client

            after.enter_context(Client(processes=False, dashboard_address=None))
        for one in code:
            exec(one, names)


def test_what_is_not_run_is_on_a_page():
    texts = [shlex.join(words) for page in PAGES for words in commands(page)]
    assert all(any(text.startswith(start) for text in texts) for start in NOT_RUN)
    assert all(python_of(ROOT / "docs" / name) for name in PYTHON_NOT_RUN)


@pytest.mark.parametrize("page", having(quoted))
def test_commands_and_options_within_a_sentence_are_there(page):
    for words in quoted(page):
        if words[0] == "make":
            assert set(words[1:2]) <= set(TARGETS), words
        elif words[0] == "python":
            assert (ROOT / words[1]).is_file(), words
        elif words[0] in COMMANDS:
            group = COMMANDS[words[0]]
            command = group if words[1].startswith("--") else group.get_command(None, words[1])
            assert command is not None, words
            assert options_in(words) <= options_of(command), words
        else:
            ours = [one for group in COMMANDS.values() for one in group.commands.values()]
            assert options_in(words) <= set().union(*map(options_of, ours)), words


@pytest.mark.parametrize("page", having(lambda page: blocks(page, "toml")))
def test_settings_on_a_page_are_settings(page, tmp_path):
    for number, text in enumerate(blocks(page, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        assert check_settings(CrossDomainClassifier, read_settings(path))
