"""Prices, reasons to be left out, and the table that tells of them."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.committee import weighing
from domindex.committee.candidates import Candidate, Trial
from domindex.committee.learners.estimators import (
    BoostingLearner,
    KernelLearner,
    LinearLearner,
    TreesLearner,
)
from domindex.committee.separability import Separability
from domindex.committee.weighing import (
    reasons_to_leave_out,
    reasons_with_one_source,
    resolution,
    small_sample,
    weigh,
)

N, N_DOMAINS = 240, 6


@pytest.fixture(scope="module")
def labels():
    return np.random.default_rng(0).integers(0, 2, size=N)


@pytest.fixture(scope="module")
def rows(held_out_of, labels):
    return held_out_of(labels, np.arange(N) // 40, n_classes=2)


def trial(name, rows, share_right, seed=1, **how):
    """Of a candidate that was right so often; shares may differ by domain."""
    shares = np.broadcast_to(share_right, N_DOMAINS)[rows.domains]
    right = np.random.default_rng(seed).random(N) < shares
    guess = np.where(right, rows.labels, 1 - rows.labels)
    predicted = np.where(guess[:, None] == np.arange(2), 0.8, 0.2)
    return Trial.of(Candidate(name, LinearLearner(), **how), predicted, rows)


def weighed(trials, rows, settings, separability=None):
    result = weigh(trials, rows, separability or {}, np.zeros(len(trials)), settings, 0)
    assert result.weights.sum() == pytest.approx(1.0)
    return result


def row_of(result, name):
    (row,) = result.table[result.table["candidate"] == name].to_dict("records")
    return row


def test_who_is_not_plain_pays_the_standard_error_of_its_gain(rows, settings):
    plain = trial("raw", rows, 0.8)
    other = trial("row_centred", rows, [0.99, 0.6, 0.99, 0.6, 0.99, 0.6])
    result = weighed([plain, other], rows, settings)
    gains = rows.by_domain(other.losses) - rows.by_domain(plain.losses)
    few = small_sample(N_DOMAINS)
    expected = settings.risk_margin * few * gains.std(ddof=1) / np.sqrt(N_DOMAINS)
    assert row_of(result, "linear on row_centred")["penalty"] == pytest.approx(expected)
    assert row_of(result, "linear on raw")["penalty"] == 0.0


def test_who_moves_domains_pays_a_share_of_its_loss(rows, settings):
    trials = [trial("raw", rows, 0.8), trial("domain_centred", rows, 0.9)]
    penalties = [
        row_of(weighed(trials, rows, each), "linear on domain_centred")["penalty"]
        for each in (settings, replace(settings, move_margin=0.0))
    ]
    assert penalties[0] - penalties[1] == pytest.approx(settings.move_margin * trials[1].loss(rows))


def test_a_clear_gain_outweighs_its_penalty(rows, settings):
    result = weighed([trial("raw", rows, 0.6), trial("domain_centred", rows, 0.99)], rows, settings)
    assert result.weights[1] > 0.9


def test_moving_that_leaves_targets_further_away_is_left_out_and_said(rows, settings):
    separability = {"raw": Separability(0.7, 0.7), "domain_centred": Separability(0.9, 0.7)}
    trials = [trial("raw", rows, 0.6), trial("domain_centred", rows, 0.99)]
    result = weighed(trials, rows, settings, separability)
    np.testing.assert_array_equal(result.weights, [1.0, 0.0])
    said = row_of(result, "linear on domain_centred")["left_out"]
    assert "made targets look less like the sources" in said
    assert row_of(result, "linear on raw")["left_out"] == ""


def test_separable_targets_that_folds_did_not_foresee_have_a_penalty(rows, settings):
    trials = [trial("raw", rows, 0.8), trial("row_centred", rows, 0.8, 2)]
    separability = {"raw": Separability(0.95, 0.6), "row_centred": Separability(0.6, 0.6)}
    result = weighed(trials, rows, settings, separability)
    assert row_of(result, "linear on raw")["penalty"] > 0
    assert result.weights[1] > weighed(trials, rows, settings).weights[1]


def test_a_gap_of_separability_costs_in_units_of_what_can_be_known(rows, settings):
    (alone,) = trials = [trial("raw", rows, [0.7, 0.8, 0.9, 0.7, 0.8, 0.9])]
    separability = {"raw": Separability(0.95, 0.6)}
    unit = resolution(rows, alone.loss(rows))
    penalty = row_of(weighed(trials, rows, settings, separability), "linear on raw")["penalty"]
    assert penalty == pytest.approx(settings.separability_penalty * unit * separability["raw"].gap)


def test_shapes_that_nobody_looked_at_count_as_coinciding(rows, settings):
    row = row_of(weighed([trial("raw", rows, 0.8)], rows, settings), "linear on raw")
    assert (row["target_auc"], row["held_out_auc"], row["penalty"]) == (0.5, 0.5, 0.0)


def test_moving_that_brings_targets_no_closer_pays_at_least_what_raw_does(rows, settings):
    """Where held-out sources are told from others as surely as targets, no gap is left to see."""
    trials = [trial("raw", rows, 0.8), trial("domain_centred", rows, 0.8, 2)]
    told = {"raw": Separability(0.98, 0.8), "domain_centred": Separability(0.99, 0.99)}
    by_a_hair = {"raw": Separability(0.98, 0.8), "domain_centred": Separability(0.97, 0.99)}
    brought = {"raw": Separability(0.98, 0.8), "domain_centred": Separability(0.9, 0.9)}
    dear, hardly, cheap = (
        row_of(weighed(trials, rows, settings, separability), "linear on domain_centred")["penalty"]
        for separability in (told, by_a_hair, brought)
    )
    assert dear == hardly > cheap


def test_predictions_out_of_reach_have_a_price(rows, settings):
    trials = [trial("raw", rows, 0.8), trial("raw", rows, 0.8, balanced=True)]
    result = weigh(trials, rows, {}, np.array([0.0, 1.0]), settings, 0)
    assert row_of(result, "balanced linear on raw")["penalty"] >= settings.range_penalty
    assert result.weights[1] == 0.0


def test_someone_stays_where_all_would_be_left_out(rows, settings):
    separability = {"raw": Separability(0.5, 0.5), "domain_centred": Separability(0.9, 0.7)}
    result = weighed([trial("domain_centred", rows, 0.9)], rows, settings, separability)
    np.testing.assert_array_equal(result.weights, [1.0])


def test_with_one_source_the_plain_rule_is_trusted(rows):
    trials = [trial("raw", rows, 0.6), trial("domain_centred", rows, 0.99)]
    told = {"raw": Separability(0.9, 0.5, 0.02), "domain_centred": Separability(0.9, 0.5, 0.02)}
    reasons = reasons_with_one_source(trials, told, rows)
    assert reasons[0] == ""
    assert "nothing makes targets pass" in reasons[1]


def test_with_one_source_what_makes_targets_pass_is_trusted(rows):
    trials = [
        trial("raw", rows, 0.9),
        trial("domain_centred", rows, 0.85),
        trial("flow", rows, 0.85),
        trial("domain_centred", rows, 0.85, balanced=True),
    ]
    told = {
        "raw": Separability(0.9, 0.5, 0.02),
        "domain_centred": Separability(0.52, 0.5, 0.02),
        "flow": Separability(0.5, 0.5, 0.02),
    }
    reasons = reasons_with_one_source(trials, told, rows)
    assert [not reason for reason in reasons] == [False, True, False, False]


def test_the_table_has_the_heaviest_first(rows, settings):
    trials = [trial("raw", rows, 0.6), trial("row_centred", rows, 0.95), trial("flow", rows, 0.7)]
    table = weighed(trials, rows, settings).table
    assert table["weight"].is_monotonic_decreasing
    assert table["weight"].sum() == pytest.approx(1.0)
    assert len(table) == 3
    np.testing.assert_allclose(table["near_loss"], table["loss"])
    assert table["far_loss"].isna().all()


def test_more_rows_resolve_smaller_differences(held_out_of):
    few, many = (
        resolution(held_out_of(np.arange(n) % 2, np.arange(n) // (n // 2), n_classes=2), 0.1)
        for n in (8, 80)
    )
    assert few == pytest.approx(10 * many)


def test_classes_are_resolved_to_one_mistaken_row_a_domain(held_out_of):
    even = held_out_of(np.arange(80) % 2, np.arange(80) // 40, n_classes=2)
    assert resolution(even, 0.1) == pytest.approx(np.log(2.0) / 40)
    one_class = held_out_of(np.zeros(80, dtype=int), np.arange(80) // 40, n_classes=2)
    assert resolution(one_class, 0.1) == pytest.approx(1e-3 / 40)


def test_values_are_resolved_to_the_standard_error_of_a_mean_square(held_out_of):
    values = held_out_of(np.random.default_rng(0).normal(size=(80, 1)), np.arange(80) // 40)
    assert resolution(values, 0.5) == pytest.approx(0.5 * np.sqrt(2.0 / 40))
    assert 0.0 < resolution(values, 0.0) < 1e-300


def test_candidates_that_hardly_count_are_let_go(rows, settings):
    trials = [trial("raw", rows, 0.97), trial("row_centred", rows, 0.5, 2)]
    result = weighed(trials, rows, settings)
    np.testing.assert_array_equal(result.weights, [1.0, 0.0])
    assert row_of(result, "linear on row_centred")["left_out"] == ""


def test_with_one_source_what_loses_the_classes_does_not_pass(rows):
    """A representation that forgets everything makes any two domains alike."""
    trials = [trial("raw", rows, 0.97), trial("domain_centred", rows, 0.5)]
    told = {"raw": Separability(0.9, 0.5, 0.02), "domain_centred": Separability(0.5, 0.5, 0.02)}
    assert [not one for one in reasons_with_one_source(trials, told, rows)] == [True, False]


def test_stacking_is_believed_less_where_domains_are_few():
    assert small_sample(2) == pytest.approx(12.7062 / 1.95996, rel=1e-4)
    assert small_sample(1) == small_sample(2)
    assert small_sample(2) > 2 * small_sample(5) > 2 * small_sample(200) > 1.9


def test_moving_that_brings_targets_closer_has_no_reason_against_it(rows, settings):
    separability = {"raw": Separability(0.9, 0.7), "domain_centred": Separability(0.7, 0.7)}
    trials = [trial("raw", rows, 0.6), trial("domain_centred", rows, 0.99)]
    assert reasons_to_leave_out(trials, rows, separability, settings) == ["", ""]
    as_far_as_may_be = Separability(0.6 + settings.move_tolerance, 0.7)
    separability = {"raw": Separability(0.6, 0.7), "domain_centred": as_far_as_may_be}
    assert reasons_to_leave_out(trials, rows, separability, settings) == ["", ""]


def test_with_one_source_and_no_plain_rule_among_them_all_stay(rows):
    trials = [trial("domain_centred", rows, 0.9), trial("flow", rows, 0.8)]
    told = {"domain_centred": Separability(0.9, 0.5, 0.02), "flow": Separability(0.9, 0.5, 0.02)}
    assert reasons_with_one_source(trials, told, rows) == ["", ""]


@pytest.mark.parametrize(("n_domains", "share"), [(2, 1.0), (3, 1.0), (6, 0.5), (12, 0.25)])
def test_the_plain_part_is_drawn_to_an_equal_mean_of_families(
    held_out_of, settings, monkeypatch, n_domains, share
):
    """What is not plain keeps its weight; a plain rule that is no family has no part in it."""
    labels = np.random.default_rng(0).integers(0, 2, size=N)
    rows = held_out_of(labels, np.arange(N) // (N // n_domains), n_classes=2)
    predicted = np.where(rows.labels[:, None] == np.arange(2), 0.8, 0.2)
    plain = [LinearLearner(), TreesLearner(), BoostingLearner(), KernelLearner()]
    candidates = [Candidate("flow", LinearLearner()), *(Candidate("raw", one) for one in plain)]
    trials = [Trial.of(one, predicted, rows) for one in candidates]
    stacked = np.array([0.4, 0.3, 0.1, 0.0, 0.2])
    monkeypatch.setattr(weighing, "stack", lambda *_, **__: stacked)
    result = weighed(trials, rows, settings)
    assert settings.prior_domains == 3.0
    expected = (1 - share) * stacked + share * np.array([0, 0.2, 0.2, 0.2, 0])
    expected[0] = 0.4
    np.testing.assert_allclose(result.weights, expected)


def test_without_a_plain_family_weights_are_those_of_stacking(rows, settings, monkeypatch):
    monkeypatch.setattr(weighing, "stack", lambda *_, **__: np.array([0.7, 0.3]))
    result = weighed([trial("flow", rows, 0.8), trial("row_centred", rows, 0.8)], rows, settings)
    np.testing.assert_allclose(result.weights, [0.7, 0.3])


def test_one_family_alone_draws_no_weight(rows, settings, monkeypatch):
    """A linear rule beside a kernel that follows a curve is not a mean of families."""
    monkeypatch.setattr(weighing, "stack", lambda *_, **__: np.array([0.1, 0.9]))
    linear = trial("raw", rows, 0.8)
    kernel = replace(linear, candidate=Candidate("raw", KernelLearner()))
    np.testing.assert_allclose(weighed([linear, kernel], rows, settings).weights, [0.1, 0.9])
