"""Which values are too far out, and what they count as."""

import warnings

import numpy as np
import pytest

from domindex.errors import ExtremeValueWarning
from domindex.inputs import check_domain_data, group_rows
from domindex.inputs.bounds import InputBounds, column_bounds, warn_of_drawn_in

N_DOMAINS, N_ROWS = 6, 50
DOMAINS = np.repeat(np.arange(N_DOMAINS), N_ROWS)
N = len(DOMAINS)


def rng(seed=0):
    return np.random.default_rng(seed)


ORDINARY = {
    "normal": rng().normal(size=N),
    "drifting": rng().normal(size=N) + 50.0 * DOMAINS,
    "of other spreads": rng().normal(size=N) * 10.0**DOMAINS,
    "skewed": rng().lognormal(size=N),
    "counts": rng().poisson(0.5, size=N).astype(float),
    "amounts": np.where(rng().random(N) < 0.3, rng(1).exponential(size=N), 0.0),
    "indicator": (rng().random(N) < 0.03).astype(float),
    "level of a domain": 7.0 * DOMAINS,
    "constant": np.full(N, 3.0),
}
"""Columns (rows,) as tables have them."""


def data_of(X, domains=DOMAINS):
    return check_domain_data(X, np.arange(len(X)) % 2, domains, [0, 1])


def beyond(column, domains=DOMAINS):
    low, high, _ = column_bounds(column[:, None], domains)
    return (column < low) | (column > high)


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_columns_are_left_alone(name):
    assert not beyond(ORDINARY[name]).any()


@pytest.mark.parametrize("factor", [1e3, -1e6, 1e12])
@pytest.mark.parametrize("name", ORDINARY)
def test_a_single_wild_value_is_found_in_any_column(name, factor):
    for row in (0, N - 1):
        spoiled = ORDINARY[name].copy()
        spoiled[row] = factor * np.abs(spoiled).max()
        assert np.flatnonzero(beyond(spoiled)).tolist() == [row]


def test_values_next_to_nothing_have_no_bounds():
    column = np.array([0.0, 0.0, 0.0, 5e-324, 5e-324])
    low, high, _ = column_bounds(column[:, None], np.zeros(5, dtype=np.int64))
    assert (low[0], high[0]) == (-np.inf, np.inf)


def test_a_code_for_what_is_not_known_is_found_wherever_it_stands():
    spoiled = ORDINARY["normal"].copy()
    spoiled[[0, 1, 60, 299]] = -999.0
    assert np.flatnonzero(beyond(spoiled)).tolist() == [0, 1, 60, 299]


def test_the_bulk_of_a_domain_is_trusted_however_far_out():
    far = ORDINARY["normal"] + np.where(DOMAINS == 5, 1e6, 0.0)
    assert not beyond(far).any()


def test_small_domains_have_no_say_in_what_is_ordinary():
    domains = np.concatenate([DOMAINS, [6, 6]])
    column = np.concatenate([ORDINARY["normal"], [1e6, 1e6 + 1]])
    assert np.flatnonzero(beyond(column, domains)).tolist() == [N, N + 1]


def test_missing_values_are_none():
    column = ORDINARY["normal"].copy()
    column[::3] = np.nan
    known = np.isfinite(column)
    np.testing.assert_array_equal(
        column_bounds(column[:, None], DOMAINS),
        column_bounds(column[known][:, None], DOMAINS[known]),
    )


def test_columns_do_not_depend_on_those_beside_them():
    X = np.stack(list(ORDINARY.values()), axis=1)
    together = column_bounds(X, DOMAINS)
    for one, other in zip(together, column_bounds(X, DOMAINS, cells_at_once=2 * N)):
        np.testing.assert_array_equal(one, other)


def test_a_wild_value_counts_as_the_nearest_that_its_domain_has():
    X = ORDINARY["drifting"][:, None].copy()
    X[3], X[120] = 1e9, -1e9
    data = data_of(X)
    bounded = InputBounds.fit(data).apply(X, group_rows(DOMAINS.tolist(), N))
    assert bounded[3, 0] == np.delete(X[DOMAINS == 0], 3).max()
    assert bounded[120, 0] == np.delete(X[DOMAINS == 2], 20).min()
    others = np.delete(np.arange(N), [3, 120])
    np.testing.assert_array_equal(bounded[others], X[others])


def test_few_wild_rows_of_a_domain_are_spared_and_many_are_not():
    X = ORDINARY["drifting"][:, None].copy()
    X[[3, 60, 61, 110, 111, 112]] = 1e9  # one, two and three of 50
    data = data_of(X)
    kept = InputBounds.fit(data).rows_to_learn_from(data)
    assert sorted(set(range(N)) - set(kept.tolist())) == [3, 60, 61]


def test_no_domain_and_no_class_is_spared_as_a_whole():
    X = np.concatenate([ORDINARY["normal"], [1e9, 1e9, 0.0]])[:, None]
    domains = np.concatenate([DOMAINS, [6, 7, 7]])
    y = np.zeros(len(X), dtype=int)
    y[[7, 8]], X[7, 0] = (1, 2), 1e9  # the only row of its class; 8 is another's
    data = check_domain_data(X, y, domains, [0, 1])
    kept = InputBounds.fit(data).rows_to_learn_from(data)
    assert sorted(set(range(len(X))) - set(kept.tolist())) == [N + 1]


def test_a_row_that_alone_differs_in_a_constant_column_stays():
    X = np.column_stack([ORDINARY["normal"], np.arange(N) == 7])
    data = data_of(X.astype(float))
    bounds = InputBounds.fit(data)
    assert len(bounds.rows_to_learn_from(data)) == N
    assert not bounds.apply(data.inputs, group_rows(DOMAINS.tolist(), N))[:, 1].any()


def test_ordinary_rows_come_back_as_they_are():
    X = np.stack(list(ORDINARY.values()), axis=1)
    bounds = InputBounds.fit(data_of(X))
    assert bounds.apply(X, group_rows(DOMAINS.tolist(), N)) is X
    assert bounds.apply_by_row(X) is X
    single = X.astype(np.float32)
    single[0, 0] = 1e9
    assert bounds.apply_by_row(single).dtype == np.float32


def test_a_new_domain_far_out_stays_there_and_a_row_far_from_it_does_not():
    bounds = InputBounds.fit(data_of(ORDINARY["drifting"][:, None]))
    X = rng(3).normal(size=(20, 1)) + 1e5
    assert bounds.apply(X, group_rows(["new"] * 20, 20)) is not X
    np.testing.assert_array_equal(bounds.apply(X, group_rows(["new"] * 20, 20)), X)
    spoiled = X.copy()
    spoiled[7] = 1e9
    found = bounds.apply(spoiled, group_rows(["new"] * 20, 20))
    assert found[7, 0] == np.delete(X, 7).max()
    assert (bounds.apply(X, group_rows([0] * 20, 20)) < 300).all(), "rows of a known domain"


def test_domains_that_are_added_keep_their_bounds_and_leave_others_theirs():
    bounds = InputBounds.fit(data_of(ORDINARY["drifting"][:, None]))
    X = rng(3).normal(size=(20, 1)) + 1e5
    grown = bounds.with_domains(np.vstack([X, X - 1e5]), ["b"] * 20 + ["a"] * 20)
    assert grown.domains[N_DOMAINS:] == ("a", "b")
    one = X[:1] + 0.5
    np.testing.assert_array_equal(grown.apply(one, group_rows(["b"], 1)), one)
    assert grown.apply(one, group_rows(["a"], 1)) == (X - 1e5).max()
    assert grown.apply(one, group_rows([0], 1)) == ORDINARY["drifting"][DOMAINS == 0].max()
    again = InputBounds.from_state(grown.state())
    for name, part in again.limits()._asdict().items():
        np.testing.assert_array_equal(part, getattr(grown.limits(), name))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("reach", np.zeros(2), "do not fit each other"),
        ("lowest", np.zeros((1, 1)), "do not fit the domains"),
        ("added_low", np.zeros((1, 2)), "that were added"),
        ("low", np.array([np.inf]), "above the upper one"),
        ("high", np.array([np.nan]), "above the upper one"),
    ],
)
def test_damaged_bounds_are_refused(name, value, words):
    state = InputBounds.fit(data_of(ORDINARY["drifting"][:, None])).state()
    with pytest.raises(ValueError, match=words):
        InputBounds.from_state({**state, name: value})


def test_one_warning_names_the_columns_with_most_such_values():
    X = np.zeros((N, 9))
    spoiled = X.copy()
    spoiled[:3, 8], spoiled[5, :7] = 1e7, -1e9
    with pytest.warns(ExtremeValueWarning) as caught:
        warn_of_drawn_in(spoiled, X, list("abcdefghi"), 4, has_row_numbers=True)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith("10 value(s) of X lie far beyond those of all domains")
    assert "column 'i' holds 1e+07 in row 0, which counts as 0 and 2 more" in message
    assert "; column 'a' holds -1e+09 in row 5, which counts as 0; column 'b'" in message
    assert "; and 3 more columns. 4 row(s) are left out of learning" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_drawn_in(X, X.copy(), None, 0, has_row_numbers=True)
