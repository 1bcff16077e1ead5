"""A few odd rows, a gap or a code must not decide where a domain lies."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import check_domain_data
from domindex.inputs.bounds import InputBounds, column_bounds
from domindex.inputs.preparation import (
    InputRequest,
    TablePreparation,
    input_names,
    names_domain,
    names_rows,
)

N_DOMAINS, N_ROWS = 10, 60


@pytest.fixture(scope="module")
def flights():
    """Airports along a line: distance and delay drift, four carriers fly everywhere."""
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(N_DOMAINS), N_ROWS)
    n = len(place)
    distance = rng.normal(size=n) + 1.0 * place
    return pd.DataFrame(
        {
            "airport": [f"a{number}" for number in place],
            "distance": distance,
            "delay": distance + rng.normal(size=n) - 0.3 * place,
            "seats": rng.integers(50, 300, size=n),
            "carrier": rng.choice(["AA", "BB", "CC", "DD"], size=n),
            "late": rng.integers(0, 2, size=n),
        }
    )


def prepare(table, **how):
    is_source = table["airport"].isin(["a0", "a1", "a2"]).to_numpy()
    request = InputRequest(**how)
    return TablePreparation.fit(
        table[input_names(list(table.columns), ["airport", "late"], request)],
        domains=table["airport"].tolist(),
        is_source=is_source,
        request=request,
    )


def coordinates(table, **how):
    """Where an estimator sees each domain, the first axis pointing along the line."""
    preparation, _ = prepare(table, **how)
    data = check_domain_data(
        preparation.apply(table).values, table["late"], table["airport"], ["a0", "a1", "a2"]
    )
    groups = zip(data.domains, data.rows_by_domain())
    data = replace(data, inputs=InputBounds.fit(data).apply(data.inputs, groups))
    found = DomainGeometry.fit(data, 2).domain_map.coordinates
    return found * np.sign(found[-1, 0] - found[0, 0])


def spacing(places):
    return np.median(cdist(places, places)[np.arange(N_DOMAINS - 1), np.arange(1, N_DOMAINS)])


@pytest.fixture(scope="module")
def places(flights):
    return coordinates(flights)


def order(places):
    return np.argsort(places[:, 0]).tolist()


def test_four_rows_of_a_rare_category_do_not_move_the_map(flights, places):
    odd = flights.copy()
    odd.loc[odd.index[odd["airport"] == "a7"][:4], "carrier"] = "ZZ"
    preparation, notes = prepare(odd)
    assert "carrier=ZZ" not in preparation.features
    assert any("Pooled categories" in note and "'carrier (1)'" in note for note in notes)
    found = coordinates(odd)
    assert order(found) == order(places) == list(range(N_DOMAINS))
    assert np.linalg.norm(found - places, axis=1).max() < 0.5 * spacing(places)


@pytest.mark.parametrize("airport", ["a0", "a5", "a9"])
@pytest.mark.parametrize("value", [1e3, -1e9])
def test_no_single_row_moves_a_domain_beyond_its_neighbours(flights, places, airport, value):
    odd = flights.copy()
    row = odd.index[odd["airport"] == airport][7]
    odd["seats"] = odd["seats"].astype(float)
    odd.loc[row, ["distance", "delay", "seats"]] = value
    found = coordinates(odd)
    assert order(found) == order(places)
    assert np.linalg.norm(found - places, axis=1).max() < spacing(places)


def test_a_column_that_hardly_ever_changes_is_dropped(flights):
    odd = flights.assign(alarm=0.0)
    odd.loc[odd.index[:2], "alarm"] = 1.0
    preparation, notes = prepare(odd)
    assert "alarm" not in preparation.features
    assert any("or nearly: 'alarm'" in note for note in notes)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_leave_every_domains_bulk_alone(seed):
    rng = np.random.default_rng(seed)
    domains = np.repeat(np.arange(4), 40)
    numbers = rng.normal(size=160) + np.where(domains == 3, 1e4, 0.0)
    low, high, _ = column_bounds(numbers[:, None], domains)
    assert low < numbers.min()
    assert high > numbers.max()
    one = numbers.copy()
    one[3] = 1e12
    assert column_bounds(one[:, None], domains)[1] < 1.1e4
    amounts = np.where(rng.random(160) < 0.4, rng.lognormal(size=160), 0.0)
    low, high, _ = column_bounds(amounts[:, None], domains)
    assert low <= 0.0 < np.quantile(amounts[amounts > 0], 0.9) < high


def test_a_column_that_one_domain_lacks_does_not_place_it(flights, places):
    gap = flights.copy()
    gap.loc[gap["airport"] == "a6", "delay"] = np.nan
    preparation, notes = prepare(gap)
    assert any("'delay' is missing in much more of 'a6'" in note for note in notes)
    found = coordinates(gap)
    assert order(found) == order(places)
    assert np.linalg.norm(found[6] - places[6]) < spacing(places)
    lacking = gap[gap["airport"] == "a6"]
    filled = preparation.apply(lacking).values
    again = preparation.apply(lacking.iloc[::-1]).values[::-1]
    np.testing.assert_array_equal(filled, again, err_msg="a row tells its own draw")
    column = preparation.features.index("delay")
    within = flights.groupby("airport")["delay"].std().mean()
    assert filled[:, column].std() == pytest.approx(within, rel=0.4)


def test_a_category_that_one_domain_lacks_is_drawn_by_its_shares(flights):
    gap = flights.copy()
    gap.loc[gap["airport"] == "a6", "carrier"] = None
    preparation, _ = prepare(gap)
    filled = preparation.apply(gap[gap["airport"] == "a6"]).values
    columns = [n for n, name in enumerate(preparation.features) if name.startswith("carrier=")]
    np.testing.assert_array_equal(filled[:, columns].sum(axis=1), 1.0)
    assert (filled[:, columns].mean(axis=0) > 0.05).all()


def test_columns_that_name_the_row_or_the_domain_are_left_out_unless_kept(flights):
    rng = np.random.default_rng(0)
    n = len(flights)
    odd = flights.assign(
        record=rng.permutation(n) + 10_000,
        note=[f"call {number}" for number in range(n)],
        postcode=flights["airport"].str[1:].astype(int) * 10 + np.arange(n) % 3,
        height=flights["airport"].str[1:].astype(float) * 100.0,
        region=np.where(flights["airport"] < "a5", "south", "north"),
    )
    preparation, notes = prepare(odd)
    taken = {column.name for column in preparation.columns}
    assert taken == {"distance", "delay", "seats", "carrier", "region"}
    assert any("name rows" in note and "'record', 'note'" in note for note in notes)
    assert any("name the domain" in note and "'postcode', 'height'" in note for note in notes)
    kept, _ = prepare(odd, keep_columns=["height", "record"])
    assert {"height", "record"} <= {column.name for column in kept.columns}
    named, _ = prepare(odd, features=["height", "distance"])
    assert named.features == ["height", "distance"]


def test_measurements_are_not_taken_for_names():
    rng = np.random.default_rng(0)
    domains = [f"d{number}" for number in np.repeat(np.arange(10), 40)]
    for values in (rng.normal(size=400), rng.integers(0, 90, size=400), np.arange(400) * 0.5):
        column = pd.Series(values, name="x")
        assert not names_rows(column, is_text=False)
        assert not names_domain(column, domains)
    wide = pd.Series(rng.choice(10**9, size=400, replace=False), name="revenue")
    assert not names_rows(wide, is_text=False)
    assert names_rows(wide.rename("patient_id"), is_text=False)


def test_a_column_missing_in_most_rows_is_left_out(flights):
    gap = flights.copy()
    gap.loc[np.random.default_rng(0).random(len(gap)) < 0.85, "delay"] = np.nan
    preparation, notes = prepare(gap)
    assert "delay" not in preparation.features
    assert any("missing in most rows: 'delay'" in note for note in notes)
