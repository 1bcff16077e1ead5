"""Prices, reasons to be left out, and the table that tells of them."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.committee import weighing
from domindex.committee.candidates import Candidate, Trial
from domindex.committee.learners.estimators import LinearLearner, TreesLearner
from domindex.committee.separability import Separability
from domindex.committee.weighing import (
    reasons_to_leave_out,
    reasons_with_one_source,
    resolution,
    small_sample,
    soft_weights,
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
    moved = trial("domain_centred", rows, [0.99, 0.6, 0.99, 0.6, 0.99, 0.6])
    result = weighed([plain, moved], rows, settings)
    gains = rows.by_domain(moved.losses) - rows.by_domain(plain.losses)
    expected = small_sample(N_DOMAINS) * gains.std(ddof=1) / np.sqrt(N_DOMAINS)
    assert settings.risk_margin == 1.0
    assert row_of(result, "linear on domain_centred")["penalty"] == pytest.approx(expected)
    assert row_of(result, "linear on raw")["penalty"] == 0.0


def test_of_equals_the_plain_one_is_the_heavier(rows, settings):
    shares = [0.99, 0.6, 0.99, 0.6, 0.99, 0.6]
    result = weighed(
        [trial("domain_centred", rows, shares, 2), trial("raw", rows, shares[::-1], 3)],
        rows,
        settings,
    )
    assert result.table["candidate"].iloc[0] == "linear on raw"


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
    by_domain = rows.by_domain(alone.losses)
    error = by_domain.std(ddof=1) / np.sqrt(N_DOMAINS)
    unit = np.hypot(error, resolution(rows, alone.loss(rows)))
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


def test_who_names_domains_is_not_heard_where_folds_have_one(held_out_of, settings):
    """Folds of two sources have one to learn from each: nothing can be said of a trend."""
    rng = np.random.default_rng(0)
    two = held_out_of(rng.integers(0, 2, size=N), np.arange(N) // 120, n_classes=2)
    predicted = np.where(two.labels[:, None] == np.arange(2), 0.8, 0.2)
    trials = [
        Trial.of(Candidate(name, LinearLearner()), predicted, two) for name in ("raw", "with_index")
    ]
    result = weighed(trials, two, settings)
    np.testing.assert_array_equal(result.weights, [1.0, 0.0])
    assert "a single one to learn from" in row_of(result, "linear on with_index")["left_out"]


def learned_from(rows, n_domains):
    """The same held-out rows, predicted from so many domains in every fold."""
    return replace(rows, folds=tuple(replace(one, n_learned_from=n_domains) for one in rows.folds))


@pytest.mark.parametrize(
    ("predictor", "barred"), [(LinearLearner(), True), (TreesLearner(), False)]
)
def test_a_line_through_two_domains_is_not_heard_and_what_stands_still_is(
    rows, settings, predictor, barred
):
    plain = trial("raw", rows, 0.6)
    follows = trial("with_index", rows, 0.99)
    follows = replace(follows, candidate=Candidate("with_index", predictor))
    two, three = (weighed([plain, follows], learned_from(rows, n), settings) for n in (2, 3))
    assert (two.weights[1] == 0.0) == barred
    assert ("two always lie on one" in row_of(two, follows.candidate.name)["left_out"]) == barred
    assert three.weights[1] > 0.5


def test_a_line_through_two_domains_is_heard_where_nobody_else_speaks(rows, settings):
    alone = weighed([trial("with_index", rows, 0.9)], learned_from(rows, 2), settings)
    np.testing.assert_array_equal(alone.weights, [1.0])


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


def test_losses_larger_by_the_softness_count_a_third():
    np.testing.assert_allclose(soft_weights(np.array([0.4, 0.4]), 0.3), 0.5)
    weights = soft_weights(np.array([0.4, 0.4 * 1.3]), 0.3)
    assert weights[1] / weights[0] == pytest.approx(np.exp(-1.0))
    assert weights.sum() == pytest.approx(1.0)


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


def test_two_domains_are_enough_to_follow_them(held_out_of, settings):
    """Folds of three sources have two to learn from each: a line has two points."""
    labels = np.random.default_rng(0).integers(0, 2, size=N)
    three = held_out_of(labels, np.arange(N) // 80, n_classes=2)
    three = replace(three, folds=[replace(fold, n_learned_from=2) for fold in three.folds])
    predicted = np.where(three.labels[:, None] == np.arange(2), 0.8, 0.2)
    names = ("raw", "with_index")
    trials = [Trial.of(Candidate(name, LinearLearner()), predicted, three) for name in names]
    assert reasons_to_leave_out(trials, three, {}, settings) == ["", ""]


def test_moving_that_brings_targets_closer_has_no_reason_against_it(rows, settings):
    separability = {"raw": Separability(0.9, 0.7), "domain_centred": Separability(0.7, 0.7)}
    trials = [trial("raw", rows, 0.6), trial("domain_centred", rows, 0.99)]
    assert reasons_to_leave_out(trials, rows, separability, settings) == ["", ""]
    as_far_as_may_be = Separability(0.6 + settings.move_tolerance, 0.7)
    separability = {"raw": Separability(0.6, 0.7), "domain_centred": as_far_as_may_be}
    assert reasons_to_leave_out(trials, rows, separability, settings) == ["", ""]


@pytest.mark.parametrize(
    ("targets", "held_out", "stays"),
    [
        (0.918, 0.52, False),  # further than chance, and the folds did not show it
        (0.905, 0.52, True),  # not further than chance
        (0.918, 0.60, True),  # the folds speak for the targets better than those of raw
        (0.890, 0.50, True),  # nearer
    ],
)
def test_a_small_move_away_counts_where_the_folds_did_not_show_it(
    rows, settings, targets, held_out, stays
):
    noise = float(np.sqrt(801 / (12 * 400 * 400)))
    separability = {
        "raw": Separability(0.9, 0.53, noise),
        "domain_centred": Separability(targets, held_out, noise),
    }
    trials = [trial("raw", rows, 0.6), trial("domain_centred", rows, 0.99)]
    plain, moved = reasons_to_leave_out(trials, rows, separability, settings)
    assert plain == ""
    assert (moved == "") is stays
    assert stays or "held-out sources did not show it" in moved


def test_weights_lie_between_stacking_and_equal_weights_of_the_best(rows, settings, monkeypatch):
    """What is paid is the loss, the price, and what cannot be told apart anyway."""
    monkeypatch.setattr(weighing, "stack", lambda *_, **__: np.array([0.7, 0.3]))
    trials = [trial("raw", rows, 0.8), trial("row_centred", rows, 0.8, 2)]
    losses = np.array([one.loss(rows) for one in trials])
    result = weighed(trials, rows, settings)
    named = ["linear on raw", "linear on row_centred"]
    penalties = np.array([row_of(result, name)["penalty"] for name in named])
    few = small_sample(N_DOMAINS)
    paid = losses + penalties + resolution(rows, losses.min())
    soft = soft_weights(paid, few * settings.softness)
    expected = (np.array([0.7, 0.3]) + few * soft) / (1.0 + few)
    assert (expected > settings.min_weight).all()
    np.testing.assert_allclose(result.weights, expected)


def test_with_one_source_and_no_plain_rule_among_them_all_stay(rows):
    trials = [trial("domain_centred", rows, 0.9), trial("flow", rows, 0.8)]
    told = {"domain_centred": Separability(0.9, 0.5, 0.02), "flow": Separability(0.9, 0.5, 0.02)}
    assert reasons_with_one_source(trials, told, rows) == ["", ""]
