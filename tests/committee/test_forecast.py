"""What to expect where there are no labels."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.committee.committee import Forecaster

N_DOMAINS, N_ROWS = 12, 60


def answers(rng, accuracy, labels, confidence):
    right = rng.random(len(labels)) < accuracy
    said = np.where(right, labels, 1 - labels)
    sure = np.broadcast_to(confidence, len(labels))[:, None]
    return np.where(said[:, None] == np.arange(2), sure, 1 - sure)


def family(held_out_of, accuracies, confidences, distances=None, seed=0):
    """Held-out domains that were predicted so well, by a committee that was so sure."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size=N_DOMAINS * N_ROWS)
    rows = held_out_of(labels, np.arange(len(labels)) // N_ROWS, n_classes=2)
    predicted = answers(rng, np.repeat(accuracies, N_ROWS), labels, np.repeat(confidences, N_ROWS))
    if distances is not None:
        rows.part_distances[:] = distances
    return rows, predicted


def test_intervals_are_ordered_and_within_what_is_possible(held_out_of):
    rows, predicted = family(
        held_out_of, np.linspace(0.6, 0.99, N_DOMAINS), np.linspace(0.6, 0.99, N_DOMAINS)
    )
    forecaster = Forecaster.fit(predicted, np.zeros(len(predicted)), rows)
    for confidence in (0.5, 0.7, 0.999):
        for distance in (0.0, 1.0, 100.0):
            sure = np.tile([confidence, 1 - confidence], (50, 1))
            told = forecaster.predict(sure, np.zeros(50), distance)
            assert 0.0 <= told["low"] <= told["expected"] <= told["high"] <= 1.0


def test_perfect_held_out_predictions_promise_much(held_out_of):
    rows, predicted = family(held_out_of, np.ones(N_DOMAINS), np.full(N_DOMAINS, 0.97))
    forecaster = Forecaster.fit(predicted, np.zeros(len(predicted)), rows)
    told = forecaster.predict(predicted[:N_ROWS], np.zeros(N_ROWS), 1.0)
    assert told["expected"] > 0.97
    assert told["low"] > 0.85
    assert told["mean"] == 1.0


def test_who_was_too_sure_is_corrected(held_out_of):
    rows, predicted = family(held_out_of, np.full(N_DOMAINS, 0.7), np.full(N_DOMAINS, 0.95))
    forecaster = Forecaster.fit(predicted, np.zeros(len(predicted)), rows)
    told = forecaster.predict(predicted[:N_ROWS], np.zeros(N_ROWS), 1.0)
    assert told["expected"] == pytest.approx(0.7, abs=0.06)


def test_accuracy_that_falls_with_distance_is_forecast(held_out_of):
    distances = np.linspace(0.0, 2.0, N_DOMAINS)
    true = 0.95 - 0.2 * distances
    rows, predicted = family(held_out_of, true, np.full(N_DOMAINS, 0.9), distances)
    forecaster = Forecaster.fit(predicted, np.zeros(len(predicted)), rows)
    rng = np.random.default_rng(5)
    asked = np.linspace(0.1, 1.9, 10)
    told = []
    for distance in asked:
        labels = rng.integers(0, 2, size=N_ROWS)
        new = answers(rng, 0.95 - 0.2 * distance, labels, 0.9)
        told.append(forecaster.predict(new, np.zeros(N_ROWS), distance))
    expected = np.array([one["expected"] for one in told])
    truth = 0.95 - 0.2 * asked
    assert np.abs(expected - truth).mean() < 0.05
    assert np.abs(expected - truth).mean() < 0.6 * np.abs(truth.mean() - truth).mean()
    inside = [one["low"] <= value <= one["high"] for one, value in zip(told, truth)]
    assert np.mean(inside) >= 0.7


def test_a_trend_is_not_continued_for_ever(held_out_of):
    distances = np.linspace(0.0, 2.0, N_DOMAINS)
    rows, predicted = family(
        held_out_of, 0.95 - 0.2 * distances, np.full(N_DOMAINS, 0.9), distances
    )
    forecaster = Forecaster.fit(predicted, np.zeros(len(predicted)), rows)
    far, further = (
        forecaster.predict(predicted[:N_ROWS], np.zeros(N_ROWS), distance)["expected"]
        for distance in (1e3, 1e9)
    )
    assert far == further


def test_errors_of_values_grow_where_members_disagree(held_out_of):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N_DOMAINS * N_ROWS, 1))
    rows = held_out_of(values, np.arange(len(values)) // N_ROWS)
    noise = np.repeat(np.linspace(0.1, 1.0, N_DOMAINS), N_ROWS)
    predicted = values + noise[:, None] * rng.normal(size=values.shape)
    forecaster = Forecaster.fit(predicted, noise**2, rows)
    small, large = (
        forecaster.predict(values[:N_ROWS], np.full(N_ROWS, one**2), 1.0) for one in (0.1, 1.0)
    )
    assert 0 < small["low"] < small["expected"] < small["high"]
    assert small["expected"] < 0.25 * large["expected"]
    assert large["expected"] == pytest.approx(1.0, rel=0.6)


def test_perfect_values_have_a_finite_forecast(held_out_of):
    values = np.random.default_rng(0).normal(size=(40, 1))
    rows = held_out_of(values, np.arange(40) // 10)
    forecaster = Forecaster.fit(values, np.zeros(40), rows)
    told = forecaster.predict(values[:5], np.zeros(5), 0.0)
    assert np.isfinite(list(told.values())).all()
    assert told["expected"] < 1e-6


def test_one_held_out_domain_is_enough(held_out_of):
    rows = held_out_of([0, 1, 0, 1], [0, 0, 0, 0], n_classes=2)
    predicted = np.where(rows.labels[:, None] == np.arange(2), 0.8, 0.2)
    told = Forecaster.fit(predicted, np.zeros(4), rows).predict(predicted, np.zeros(4), 5.0)
    assert np.isfinite(list(told.values())).all()


class TestOneSource:
    """Rows of the only source were held out: nothing is known of what distance does."""

    @pytest.fixture
    def at_home(self, held_out_of):
        rng = np.random.default_rng(0)
        rows = held_out_of(rng.integers(0, 2, size=100), np.zeros(100, dtype=int), n_classes=2)
        rows = replace(rows, folds=tuple(replace(fold, kind="rows") for fold in rows.folds))
        rows.part_distances[:] = 0.0
        predicted = answers(rng, 0.8, rows.labels, 0.8)
        return Forecaster.fit(predicted, np.zeros(100), rows)

    def test_no_better_is_expected_than_at_home_and_chance_is_possible(self, at_home):
        sure = np.tile([0.99, 0.01], (50, 1))
        told = at_home.predict(sure, np.zeros(50), 3.0)
        assert told["expected"] == at_home.held_out_mean
        assert told["low"] <= 0.5
        assert told["high"] >= told["expected"]

    def test_at_home_the_forecast_is_the_usual_one(self, at_home):
        sure = np.tile([0.8, 0.2], (50, 1))
        assert at_home.predict(sure, np.zeros(50), 0.0)["low"] > 0.5

    def test_values_may_be_off_by_all_their_spread(self, held_out_of):
        rng = np.random.default_rng(0)
        rows = held_out_of(rng.normal(size=100), np.zeros(100, dtype=int))
        rows = replace(rows, folds=tuple(replace(fold, kind="rows") for fold in rows.folds))
        predicted = rows.labels + 0.1 * rng.normal(size=(100, 1))
        told = Forecaster.fit(predicted, np.full(100, 0.01), rows).predict(
            predicted, np.full(100, 1e-6), 3.0
        )
        assert told["high"] >= 1.0
        assert told["expected"] >= told["mean"] * (1 - 1e-9)

    def test_it_is_saved(self, at_home):
        assert Forecaster.from_state(at_home.state()).ignorance == 0.5


def test_a_state_comes_back_and_a_damaged_one_is_refused(held_out_of):
    rows, predicted = family(held_out_of, np.full(N_DOMAINS, 0.8), np.full(N_DOMAINS, 0.9))
    forecaster = Forecaster.fit(predicted, np.zeros(len(predicted)), rows)
    again = Forecaster.from_state(forecaster.state())
    asked = predicted[:30], np.zeros(30), 0.5
    assert again.predict(*asked) == forecaster.predict(*asked)
    with pytest.raises(ValueError, match="do not fit"):
        Forecaster.from_state(forecaster.state() | {"coefficients": np.zeros(2)})
    for name, value in (("held_out_mean", "x"), ("spread", None), ("is_class", 1.0)):
        with pytest.raises(ValueError, match=f"the {name} is"):
            Forecaster.from_state(forecaster.state() | {name: value})
    with pytest.raises(ValueError, match="are no numbers"):
        Forecaster.from_state(forecaster.state() | {"spread": np.inf})


def test_a_domain_that_was_held_out_twice_counts_once(held_out_of):
    accuracies = np.linspace(0.6, 0.9, N_DOMAINS)
    rows, predicted = family(held_out_of, accuracies, np.full(N_DOMAINS, 0.8))
    as_pairs = replace(rows, part_domains=rows.part_domains // 2)
    once, twice = (
        Forecaster.fit(predicted, np.zeros(len(predicted)), one) for one in (rows, as_pairs)
    )
    assert twice.freedom == once.freedom - N_DOMAINS / 2
    told = [one.predict(predicted[:N_ROWS], np.zeros(N_ROWS), 1.0) for one in (once, twice)]
    assert told[1]["expected"] == told[0]["expected"]
    assert told[1]["high"] - told[1]["low"] > told[0]["high"] - told[0]["low"]
