"""A small run with a report, and its page without a network."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest

from domindex.serving import ServedRun, ServeSettings
from domindex.tables import fit_table

QUICK = {"predictor": "linear", "training": {"index_steps": 2, "steps": 2}}
REPORT = "<!doctype html><title>the report</title><p>A report.</p>"
ATTACK = "<script>alert(1)</script>"


def make_table(prefix="s", n_domains=8, n_rows=20, seed=0, shift=0.0):
    """Clouds that drift from site to site; labels in the first three sites only."""
    rng = np.random.default_rng(seed)
    place = np.repeat(np.arange(n_domains), n_rows)
    rows = rng.normal(size=(len(place), 2))
    table = pd.DataFrame(
        {
            "patient": [f"{prefix}-{number}" for number in range(len(place))],
            "site": [f"{prefix}{number}" for number in place],
            "x": rows[:, 0] + place + shift,
            "z": rows[:, 1] - 0.3 * place - shift,
            "outcome": np.where(rows[:, 0] > 0, "well", "ill"),
        }
    )
    table.loc[place >= 3, "outcome"] = None
    return table


@pytest.fixture(scope="session")
def table():
    return make_table()


@pytest.fixture(scope="session")
def run(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    table.to_csv(folder / "patients.csv", index=False)
    run = fit_table(
        folder / "patients.csv",
        target=["outcome"],
        domain="site",
        key="patient",
        out=folder / "run",
        settings=QUICK,
        report=False,
    )
    (run.folder / "report.html").write_text(REPORT, encoding="utf-8")
    return run


@pytest.fixture(scope="session")
def asked(run):
    return ServedRun.open(run, ServeSettings(max_upload=1.0, max_rows=500, max_domains=100))


@pytest.fixture
def damaged(run, tmp_path):
    """A copy of the run, for a test to break."""
    return shutil.copytree(run.folder, tmp_path / "damaged")


@pytest.fixture(scope="session")
def today():
    """Known sites, new ones, one far away, and one whose name is markup."""
    known = make_table(seed=1).query("site in ['s1', 's5']")
    new = make_table("new-", seed=2).query("site in ['new-3', 'new-6']")
    far = make_table("far", n_domains=1, seed=3, shift=60.0)
    attack = make_table("new-", seed=4).query("site == 'new-4'").assign(site=ATTACK)
    return pd.concat([known, new, far, attack]).drop(columns="outcome")


@pytest.fixture(scope="session")
def chromium():
    """The browser of this machine; none is ever downloaded."""
    chosen = os.environ.get("DOMINDEX_CHROMIUM")
    if chosen:
        return chosen
    known = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, known)), None)
