"""Shares of classes that differ between domains."""

import numpy as np
import pytest

from domindex.committee.committee import LabelShift, estimate_shares, helps_on_folds, reweighted
from domindex.representations import PlacedRows

EQUAL = np.array([0.5, 0.5])


def rows_with(share, n, rng):
    """Labels with that share of the second class, and p(class | x) where both are as likely."""
    labels = (rng.random(n) < share).astype(int)
    x = rng.normal(labels * 2.0 - 1.0)
    odds = 1.0 / (1.0 + np.exp(-2.0 * x))
    return labels, np.stack([1.0 - odds, odds], axis=1)


def test_shares_are_found_without_labels():
    labels, probabilities = rows_with(0.9, 4000, np.random.default_rng(0))
    shares = estimate_shares(probabilities, EQUAL)
    assert shares[1] == pytest.approx(labels.mean(), abs=0.03)


def test_a_domain_of_few_rows_keeps_the_shares_of_the_sources():
    _, probabilities = rows_with(0.9, 2, np.random.default_rng(0))
    np.testing.assert_allclose(estimate_shares(probabilities, EQUAL), EQUAL, atol=0.1)


def test_following_the_shares_raises_accuracy_where_only_they_differ():
    labels, probabilities = rows_with(0.9, 4000, np.random.default_rng(1))
    shift = LabelShift(EQUAL, {})
    rows = PlacedRows.of(np.zeros((4000, 1)), None, {None: np.zeros(2)})
    followed = shift.apply(probabilities, rows)
    np.testing.assert_allclose(followed.sum(axis=1), 1.0)
    plain = (probabilities.argmax(axis=1) == labels).mean()
    assert (followed.argmax(axis=1) == labels).mean() > plain + 0.02


def test_known_domains_keep_the_shares_they_had():
    _, probabilities = rows_with(0.5, 10, np.random.default_rng(0))
    known = np.array([0.2, 0.8])
    shift = LabelShift(EQUAL, {"north": known})
    rows = PlacedRows.of(np.zeros((10, 1)), ["north"] * 10, {"north": np.zeros(2)})
    np.testing.assert_allclose(
        shift.apply(probabilities, rows), reweighted(probabilities, known / EQUAL)
    )


@pytest.mark.parametrize(("spread", "expected"), [(0.45, True), (0.0, False)])
def test_held_out_domains_decide(held_out_of, spread, expected):
    """Followed where shares differ from domain to domain, left alone where they do not."""
    rng = np.random.default_rng(0)
    shares = [0.5 + spread * (-1) ** k for k in range(6)]
    parts = [rows_with(share, 200, rng) for share in shares]
    labels = np.concatenate([part[0] for part in parts])
    rows = held_out_of(labels, np.arange(1200) // 200, n_classes=2)
    held_out = np.concatenate([part[1] for part in parts])
    assert helps_on_folds(held_out, rows) is expected


def test_shares_come_back_from_their_state():
    shift = LabelShift(EQUAL, {"a": np.array([0.1, 0.9]), 3: np.array([0.4, 0.6])})
    again = LabelShift.from_state(shift.state())
    assert set(again.domains) == {"a", 3}
    np.testing.assert_array_equal(again.domains[3], [0.4, 0.6])


def test_damaged_shares_are_refused():
    state = LabelShift(EQUAL, {"a": np.array([0.1, 0.9])}).state()
    with pytest.raises(ValueError, match="no shares"):
        LabelShift.from_state(state | {"sources": np.array([0.0, 1.0])})
    with pytest.raises(ValueError, match="do not fit"):
        LabelShift.from_state(state | {"names": ()})


def test_shares_of_an_added_domain_are_those_of_its_rows_once_and_for_all():
    shift = LabelShift(np.array([0.5, 0.5]), {})
    rows = PlacedRows.of(np.zeros((30, 1)), ["new"] * 30, {"new": np.zeros(2)})
    probabilities = np.tile([0.9, 0.1], (30, 1))
    grown = shift.with_domains(probabilities, rows)
    assert dict(shift.domains) == {}
    expected = estimate_shares(probabilities, shift.sources)
    np.testing.assert_array_equal(grown.domains["new"], expected)
    np.testing.assert_allclose(grown.apply(probabilities, rows), shift.apply(probabilities, rows))
