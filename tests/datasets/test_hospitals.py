"""The generated table of hospitals: untidy in the ways that it says, and the same for a seed."""

import numpy as np
import pandas as pd
import pytest

from domindex.datasets import make_hospitals
from domindex.errors import InputError


@pytest.fixture(scope="module")
def table():
    return make_hospitals(random_state=0)


def test_a_seed_fixes_the_table_and_labels_are_hidden_in_targets_only(table):
    pd.testing.assert_frame_equal(table, make_hospitals(random_state=0))
    assert not table.equals(make_hospitals(random_state=1))
    later = make_hospitals(random_state=0, all_labels=True)
    known = table["complication"].notna()
    assert table.loc[known, "hospital"].unique().tolist() == ["Ahlen", "Bruck", "Celle", "Dornach"]
    pd.testing.assert_frame_equal(
        table.drop(columns="complication"), later.drop(columns="complication")
    )
    assert (table.loc[known, "complication"] == later.loc[known, "complication"]).all()
    assert set(later["complication"]) == {"yes", "no"}


def test_it_is_as_untidy_as_it_says(table):
    assert table["record"].is_unique
    assert table["note"].is_unique
    assert (table.groupby("hospital")["postcode"].nunique() == 1).all()
    assert (table["ward"] == "hyperbaric").sum() == 4
    empty = table.groupby("hospital")["creatinine"].apply(lambda column: column.isna().all())
    assert empty[empty].index.tolist() == ["Ilmenau"]
    assert 0.02 < table["age"].isna().mean() < 0.06


def test_laboratories_drift_and_the_rule_does_not(table):
    means = table.groupby("hospital", sort=False)[["lactate", "creatinine", "crp"]].mean()
    drift = (means.loc["Lübeck"] - means.loc["Ahlen"]) / table[means.columns].std()
    assert (drift.to_numpy() * np.array([1, -1, 1]) > 0.8).all()
    later = make_hospitals(random_state=0, all_labels=True)
    shares = (later["complication"] == "yes").groupby(later["hospital"]).mean()
    assert shares.between(0.25, 0.6).all()


def test_sizes_and_names_beyond_twelve():
    sizes = [3, 5, *[2] * 11]
    table = make_hospitals(n_hospitals=13, rows_per_hospital=sizes)
    assert table.groupby("hospital", sort=False).size().tolist() == sizes
    assert table["hospital"].iloc[-1] == "Hospital 13"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"n_hospitals": 1}, "n_hospitals is 1"),
        ({"n_sources": 13}, "from 1 to 12"),
        ({"rows_per_hospital": [1, 2]}, "2 entries"),
    ],
)
def test_what_cannot_be_made_is_refused(asked, said):
    with pytest.raises(InputError, match=said):
        make_hospitals(**asked)
