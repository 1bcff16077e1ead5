"""What a rule loses from domain to domain, where that is known in closed form."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from domindex.errors import InputError
from domindex.evaluation import transfer_correlation, transfer_losses
from domindex.geometry import DomainIndex

PLACES = np.array([0.0, 1.0, 3.0, 7.0])
LINE = np.abs(np.subtract.outer(PLACES, PLACES))


def levels(rows: int = 60) -> dict:
    """Every domain has one value, that of its place, whatever its inputs."""
    X = np.random.default_rng(0).normal(size=(4 * rows, 2))
    return {"X": X, "y": np.repeat(PLACES, rows), "sample_domain": np.repeat(list("abcd"), rows)}


def test_a_rule_of_one_value_loses_the_square_of_the_step():
    losses = transfer_losses(**levels(), task="regression")
    assert list(losses.index) == list(losses.columns) == list("abcd")
    np.testing.assert_allclose(losses, LINE**2 / PLACES.var(), atol=1e-9)
    assert transfer_correlation(LINE, losses.round(9)) == pytest.approx(1.0)


def test_a_rule_of_one_class_is_mistaken_in_the_share_of_the_others():
    rng = np.random.default_rng(0)
    shares = {"a": 0, "b": 30, "c": 60}
    y = np.concatenate([rng.permutation(np.arange(60) < n) for n in shares.values()])
    domains = np.repeat(list(shares), 60)
    losses = transfer_losses(np.zeros((180, 1)), y, sample_domain=domains, task="classification")
    assert losses.loc["a", "c"] == losses.loc["c", "a"] == 1.0
    own = 0.5 - losses.loc["a", "b"]  # what it takes to be wrong in half of b
    assert losses.loc["c", "b"] == pytest.approx(0.5 - own)


def test_what_is_hard_for_a_domains_own_rule_is_not_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 1))
    noise = np.repeat([0.0, 0.0, 3.0], 300) * rng.normal(size=900)
    domains = np.repeat(["a", "b", "noisy"], 300)
    losses = transfer_losses(X, X[:, 0] + noise, sample_domain=domains, task="regression")
    assert np.diag(losses).tolist() == [0.0, 0.0, 0.0]
    assert abs(losses.loc["a", "b"]) < 0.02
    assert losses.loc["a", "noisy"] < 0.0  # a clean rule is better than one of 200 noisy rows


def test_small_domains_stay_out_and_many_are_spread_over_their_order():
    domains = np.repeat(np.arange(10), [60] * 9 + [10])
    y = np.random.default_rng(0).normal(size=len(domains))
    y[domains == 0] = np.nan  # rows without a label
    X = np.zeros((len(domains), 1))
    losses = transfer_losses(X, y, sample_domain=domains, task="regression", max_domains=3)
    assert list(losses.index) == [1, 5, 8]
    with pytest.raises(InputError, match=r"Of 10 domains 0 have 99 rows or more with a label"):
        transfer_losses(X, y, sample_domain=domains, task="regression", min_rows=99)


def test_the_correlation_is_spearmans_over_ordered_pairs():
    rng = np.random.default_rng(0)
    losses = pd.DataFrame(rng.normal(size=(4, 4)), list("abcd"), list("abcd"))
    apart = ~np.eye(4, dtype=bool)
    expected = spearmanr(LINE[apart], losses.to_numpy()[apart])[0]
    assert transfer_correlation(LINE, losses) == pytest.approx(expected)
    assert transfer_correlation(LINE, -pd.DataFrame(LINE)) == pytest.approx(-1.0)


def test_a_map_is_read_by_the_names_of_its_domains():
    losses = pd.DataFrame(LINE, list("abcd"), list("abcd"))
    names = list("xdcba")
    points = np.append(-50.0, PLACES[::-1])
    index = DomainIndex.from_distances(names, np.abs(np.subtract.outer(points, points)))
    assert transfer_correlation(index, losses) == pytest.approx(1.0)
    with pytest.raises(InputError, match="losses has 'e', but the map holds 'x', 'd'"):
        transfer_correlation(index, losses.rename({"a": "e"}).rename(columns={"a": "e"}))


@pytest.mark.parametrize(
    ("distances", "losses", "words"),
    [
        (LINE[:3, :3], LINE, "distances has 3 domains and losses 4"),
        (LINE[:2, :2], LINE[:2, :2], "There are 2 domains, .* no order to compare"),
        (1 - np.eye(4), LINE, "all are as far apart"),
        (LINE, np.zeros((4, 4)), "lose the same"),
        (LINE, LINE * np.nan, "not finite. Pass what transfer_losses returns"),
    ],
)
def test_what_has_no_order_is_refused(distances, losses, words):
    with pytest.raises(InputError, match=words):
        transfer_correlation(distances, pd.DataFrame(losses))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"task": "ranking"}, "task is 'ranking'. Choose 'classification' or 'regression'"),
        ({"min_rows": 2}, "min_rows is 2; give a whole number, at least 3"),
        ({"max_domains": 1.5}, "max_domains is 1.5; give a whole number, at least 2"),
        ({"y": np.ones(3)}, "y has 3 entries, but X has 240 rows"),
        ({"X": np.full((240, 1), np.nan)}, "NaN"),
        ({"task": "classification", "y": np.linspace(0, 1, 240)}, "continuous values"),
    ],
)
def test_what_teaches_no_rule_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        transfer_losses(**{**levels(), "task": "regression", **given})


def test_what_is_given_stays_as_it_is():
    given = levels()
    before = {name: array.copy() for name, array in given.items()}
    transfer_losses(**given, task="regression")
    for name, array in before.items():
        np.testing.assert_array_equal(given[name], array)
