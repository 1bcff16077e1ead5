"""A small table as a user would have it, and runs of it."""

import numpy as np
import pandas as pd
import pytest

from domindex.tables import fit_table

QUICK = {"predictor": "network", "training": {"index_steps": 5, "steps": 10}}
N_DOMAINS, N_ROWS = 8, 25


def make_table(seed=0):
    """Clouds that drift from site to site; labels in the first three sites only."""
    rng = np.random.default_rng(seed)
    place = np.repeat(np.arange(N_DOMAINS), N_ROWS)
    rows = rng.normal(size=(len(place), 2))
    table = pd.DataFrame(
        {
            "site": [f"s{number}" for number in place],
            "x": rows[:, 0] + place,
            "z": rows[:, 1] - 0.3 * place,
            "color": np.where(rows[:, 0] > 0.5, "red", "blue"),
            "version": 3,
            "latitude": 50.0 + place,
            "outcome": np.where(rows[:, 0] > 0, "well", "ill"),
            "dose": rows[:, 0] + 0.1 * rows[:, 1],
        }
    )
    table.loc[5, "z"] = np.nan
    table.loc[place >= 3, ["outcome", "dose"]] = None
    return table


@pytest.fixture(scope="session")
def table():
    return make_table()


@pytest.fixture(scope="session")
def data(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "patients.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def new_sites(table, tmp_path_factory):
    """Rows of sites that were never seen, with labels that must not matter."""
    path = tmp_path_factory.mktemp("data") / "new.csv"
    renamed = table.assign(site="new-" + table["site"]).iloc[2 * N_ROWS :]
    renamed.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def classes(data, tmp_path_factory):
    return fit_table(
        data,
        target=["outcome"],
        domain="site",
        exclude=["latitude", "dose"],
        out=tmp_path_factory.mktemp("runs") / "classes",
        settings=QUICK,
        report=False,
    )


@pytest.fixture(scope="session")
def values(data, tmp_path_factory):
    return fit_table(
        data,
        target=["dose"],
        domain="site",
        features=["x", "z"],
        out=tmp_path_factory.mktemp("runs") / "values",
        settings=QUICK,
        report=False,
    )
