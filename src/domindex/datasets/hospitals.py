"""A table as hospitals send it: generated, so that nobody's records are in it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.datasets.dataset import Seed, Sizes, check_count, check_seed, check_sizes

TOWNS = (
    *("Ahlen", "Bruck", "Celle", "Dornach", "Étienne", "Fürth"),
    *("Gmunden", "Horn", "Ilmenau", "Jena", "Krems", "Lübeck"),
)
LABORATORY = {"lactate": (1.6, 0.5), "creatinine": (0.95, 0.22), "crp": (24.0, 9.0)}
"""Level and spread of each measurement where the analyser is new."""


def make_hospitals(
    *,
    n_hospitals: int = 12,
    n_sources: int = 4,
    rows_per_hospital: Sizes = 120,
    all_labels: bool = False,
    random_state: Seed = 0,
) -> pd.DataFrame:
    """Patients of several hospitals in one untidy table; the outcome is known in a few of them.

    Complications follow from laboratory values, pulse and age by one rule. But laboratories read
    differently: from the first hospital to the last, measurements drift by up to 1.8 of their
    spreads and become 40 % wider, and patients are older by 12 years.

    The rest is what tables bring along: a number for every record, a postcode that gives the
    hospital away, free text, a date, a rare ward, missing ages, and one hospital that never
    measures creatinine.

    Parameters
    ----------
    n_hospitals : how many, named by their towns; after twelve they are numbered
    n_sources : the first so many have outcomes
    rows_per_hospital : patients, one number for all or one for each
    all_labels : also give the outcomes that come to light later; the rows are the same
    random_state : the same one gives the same table

    Examples
    --------
    >>> table = make_hospitals(random_state=0)
    >>> table.shape
    (1440, 12)
    >>> table.groupby("hospital")["complication"].count().head(6).to_dict()
    {'Ahlen': 120, 'Bruck': 120, 'Celle': 120, 'Dornach': 120, 'Fürth': 0, 'Gmunden': 0}
    """
    n_hospitals = check_count("n_hospitals", n_hospitals, low=2)
    n_sources = check_count("n_sources", n_sources, low=1, high=n_hospitals)
    sizes = check_sizes(rows_per_hospital, n_hospitals)
    rng = check_seed(random_state)
    of_row = np.repeat(np.arange(n_hospitals), sizes)
    numbered = [f"Hospital {number + 1}" for number in range(len(TOWNS), n_hospitals)]
    names = np.array([*TOWNS[:n_hospitals], *numbered], dtype=object)
    n_rows = len(of_row)
    records = 100_000 + 7 * rng.permutation(n_rows)
    days = np.datetime64("2024-01-01") + rng.integers(0, 366, n_rows)
    kinds = np.array(["medical", "surgical", "emergency"], dtype=object)
    wards = rng.choice(kinds, n_rows, p=[0.5, 0.3, 0.2])
    wards[rng.permutation(n_rows)[:4]] = "hyperbaric"
    table = pd.DataFrame(
        {
            "record": [f"R{number}" for number in records],
            "hospital": names[of_row],
            "postcode": 10_000 + 137 * of_row,
            "admitted": [pd.Timestamp(day).strftime("%d.%m.%Y") for day in days],
            "ward": wards,
        }
    )
    measured, outcome = _patients(rng, of_row / (n_hospitals - 1))
    measured.loc[rng.random(n_rows) < 0.04, "age"] = np.nan
    measured.loc[of_row == 8, "creatinine"] = np.nan
    table = pd.concat([table, measured], axis=1)
    table["note"] = [f"bed {number}, as discussed" for number in rng.permutation(n_rows)]
    labels = outcome.astype(object)
    labels[~(all_labels | (of_row < n_sources))] = None
    table["complication"] = pd.Series(labels, dtype=object)
    return table


def _patients(rng: np.random.Generator, way: Floats) -> tuple[pd.DataFrame, NDArray]:
    """What is measured of patients so far along the family, 0 to 1, and what became of them."""
    ill = rng.normal(size=(len(way), len(LABORATORY)))
    pulse = 84.0 + 9.0 * (0.5 * ill[:, 0] + rng.normal(size=len(way)))
    age = 61.0 + 12.0 * way + 9.0 * rng.normal(size=len(way))
    risk = ill @ [1.4, 1.0, 1.2] + 0.05 * (pulse - 84.0) + 0.03 * (age - 67.0)
    outcome = np.where(risk + 0.5 * rng.normal(size=len(way)) > 0.6, "yes", "no")
    read = ill * (1.0 + 0.4 * way)[:, None] + way[:, None] * [1.5, -1.2, 1.8]
    level, spread = np.array(list(LABORATORY.values())).T
    values = pd.DataFrame((level + spread * read).round(2), columns=list(LABORATORY))
    values.insert(0, "age", age.round())
    values.insert(1, "pulse", pulse.round())
    return values, outcome
