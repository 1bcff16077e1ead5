"""The representation in which values are learned, and the linear rule in it."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

from domindex.committee.choice_settings import ChoiceSettings
from domindex.committee.linear_rule import held_out_predictions, solve_rules
from domindex.committee.representation_trials import Candidate, Sources, choose_rule
from domindex.representations import RepresentedRows, representation_named


def candidate(name, rows, is_source):
    """Rows as they would come out of that representation."""
    plain = RepresentedRows.plain(rows)
    return Candidate(representation_named(name), plain, np.eye(rows.shape[1]), is_source)


def choose(candidates, sources):
    return choose_rule(candidates, sources, ChoiceSettings())


def sources_of(is_source, values, domains, weights=None):
    n_domains = domains.max() + 1
    weights = np.ones(n_domains) if weights is None else weights
    return Sources(is_source, values, domains, weights, values.std(axis=0))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def is_source():
    return np.arange(400) < 200


@pytest.fixture
def domains():
    return np.repeat(np.arange(8), 25)


def test_a_rule_is_the_ridge_regression_of_scikit_learn(rng):
    rows, values = rng.normal(size=(50, 4)) + 3, rng.normal(size=(50, 2))
    weights = rng.uniform(0.1, 1, size=50)
    (rule,) = solve_rules(rows, values, weights, (0.3,))
    ridge = Ridge(alpha=0.3 * weights.sum()).fit(rows, values, sample_weight=weights)
    np.testing.assert_allclose(rule.slopes, ridge.coef_.T)
    np.testing.assert_allclose(rule.predict(rows), ridge.predict(rows))


def test_held_out_predictions_never_see_the_rows_domain(rng, domains):
    rows, values = rng.normal(size=(200, 3)), rng.normal(size=(200, 1))
    (ours,) = held_out_predictions(rows, values, np.ones(200), domains, (0.1,))
    theirs = cross_val_predict(
        Ridge(alpha=0.1 * 175), rows, values, groups=domains, cv=LeaveOneGroupOut()
    )
    np.testing.assert_allclose(ours.ravel(), theirs.ravel())


@pytest.mark.parametrize("n_rows", [1, 2, 7])
def test_one_domain_of_any_size_can_be_held_out_by_rows(rng, n_rows):
    rows, values = rng.normal(size=(n_rows, 3)), rng.normal(size=(n_rows, 1))
    zeros = np.zeros(n_rows, dtype=int)
    (predicted,) = held_out_predictions(rows, values, np.ones(n_rows), zeros, (0.1,))
    assert np.isfinite(predicted).all()


def test_of_two_equal_on_sources_the_one_with_the_larger_effective_sample_is_chosen(
    rng, is_source, domains
):
    rows = rng.normal(size=(400, 3))
    apart = rows + np.where(is_source, 0.0, 3.0)[:, None]
    sources = sources_of(is_source, rows[:200, :1], domains)
    chosen = choose(
        [candidate("raw", apart, is_source), candidate("row_standardised", rows, is_source)],
        sources,
    )
    assert chosen.candidate.name == "row_standardised"
    assert chosen.trials["chosen"].tolist() == [False, True]


def test_an_effective_sample_does_not_buy_failure_on_the_sources(rng, is_source, domains):
    rows = rng.normal(size=(400, 3))
    apart = rows + np.where(is_source, 0.0, 3.0)[:, None]
    noise = rng.normal(size=(400, 3))
    sources = sources_of(is_source, rows[:200, :1], domains)
    both = [candidate("raw", apart, is_source), candidate("row_standardised", noise, is_source)]
    assert choose(both, sources).candidate.name == "raw"


def test_domain_levels_count_only_where_they_bring_sources_and_targets_close(
    rng, is_source, domains
):
    rows = rng.normal(size=(400, 3))
    apart = rows + np.where(is_source, 0.0, 2.0)[:, None]
    noisy = rows + rng.normal(size=(400, 3))
    sources = sources_of(is_source, rows[:200, :1], domains)
    untrusted = [candidate("domain_scaled", apart, is_source), candidate("raw", noisy, is_source)]
    assert choose(untrusted, sources).candidate.name == "raw"
    trusted = [
        candidate("domain_scaled", rows, is_source),
        candidate("raw", noisy + apart - rows, is_source),
    ]
    assert choose(trusted, sources).candidate.name == "domain_scaled"


def test_a_curve_earns_the_network_where_targets_look_like_sources(rng, is_source, domains):
    rows = rng.normal(size=(400, 2))
    values = np.sin(2 * rows[:200, :1])
    apart = rows + np.where(is_source, 0.0, 4.0)[:, None]
    sources = sources_of(is_source, values, domains)
    assert choose([candidate("raw", rows, is_source)], sources).may_bend
    noisy = values + 0.3 * rng.normal(size=values.shape)
    sources = sources_of(is_source, noisy, domains)
    assert choose([candidate("raw", rows, is_source)], sources).may_bend
    assert not choose([candidate("raw", apart, is_source)], sources).may_bend


def test_a_straight_line_does_not(rng, is_source, domains):
    rows = rng.normal(size=(400, 2))
    values = rows[:200] @ [[1.0], [2.0]] + 0.1 * rng.normal(size=(200, 1))
    assert not choose(
        [candidate("raw", rows, is_source)], sources_of(is_source, values, domains)
    ).may_bend


def test_balancing_helps_a_straight_line_through_a_curve(rng):
    is_source = np.arange(3000) < 2400
    rows = rng.uniform(-3, 3, size=(3000, 1))
    rows[2400:] = rng.uniform(1, 2, size=(600, 1))
    curve = rows**2
    noisy = curve[:2400] + 4 * rng.normal(size=(2400, 1))
    sources = sources_of(is_source, noisy, np.repeat(np.arange(6), 400))
    fitted = choose([candidate("raw", rows / rows.std(), is_source)], sources)
    assert not fitted.may_bend
    assert fitted.row_weights.max() > 1.2 / 2400
    (plain,) = solve_rules(fitted.candidate.latent[:2400], noisy, np.ones(2400), (1e-3,))
    targets = fitted.candidate.latent[2400:]
    error = np.abs(fitted.rule.predict(targets) - curve[2400:]).mean()
    assert error < 0.9 * np.abs(plain.predict(targets) - curve[2400:]).mean()


def test_near_domains_weigh_most_in_the_error(rng, is_source, domains):
    values = rng.normal(size=(200, 1))
    wrong_in_first = values.copy()
    wrong_in_first[domains == 0] += 10.0
    near = sources_of(is_source, values, domains, np.r_[1.0, np.zeros(7)])
    far = sources_of(is_source, values, domains, np.r_[0.0, np.ones(7)])
    assert near.error(wrong_in_first) > 1.0
    assert far.error(wrong_in_first) == 0.0
