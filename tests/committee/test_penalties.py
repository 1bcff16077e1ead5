"""Tests of how penalties of a linear rule are mixed: by draws of held-out domains."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.committee.candidates import Candidate, Trial
from domindex.committee.learners.estimators import LinearLearner, LinearMixture, TreesLearner
from domindex.committee.weighing import best_shares, mix_penalties

N, DRAWS = 120, 40


@pytest.fixture(scope="module")
def rows(held_out_of):
    values = np.random.default_rng(0).normal(size=(N, 1))
    return held_out_of(values, np.arange(N) // 20)


def tried(rows, errors, learner):
    """A trial that is off by so much in every domain, and what it predicted."""
    predicted = rows.labels + np.asarray(errors, dtype=float)[rows.domains][:, None]
    return Trial.of(Candidate("raw", learner), predicted, rows), predicted


def test_the_penalty_that_is_best_in_every_domain_stays_as_it_is(rows):
    worse = tried(rows, [0.6] * 6, LinearLearner(1.0))
    better = tried(rows, [0.1] * 6, LinearLearner())
    assert mix_penalties([worse, better], rows, DRAWS, 0) is better[0]


def test_one_trial_is_itself(rows):
    only = tried(rows, range(6), LinearLearner())
    assert mix_penalties([only], rows, DRAWS, 0) is only[0]


def test_where_one_domain_decides_penalties_share(rows):
    steady = tried(rows, [0.3] * 6, LinearLearner(1.0))
    bold = tried(rows, [0.1, 0.1, 0.1, 0.1, 0.1, -0.7], LinearLearner(1e-3))
    found = mix_penalties([steady, bold], rows, DRAWS, 0)
    mixture = found.candidate.learner
    assert isinstance(mixture, LinearMixture)
    assert [rule.penalty for rule in mixture.rules] == [1.0, 1e-3]
    assert min(mixture.shares) > 0.1
    assert sum(mixture.shares) == pytest.approx(1.0)
    expected = mixture.shares[0] * steady[1] + mixture.shares[1] * bold[1]
    np.testing.assert_allclose(found.predicted, expected)
    assert found.loss(rows) < max(steady[0].loss(rows), bold[0].loss(rows))
    assert found.candidate.name == steady[0].candidate.name


def test_shares_say_how_sure_the_choice_is(rows):
    steady = tried(rows, [0.3] * 6, LinearLearner(1.0))[0].losses
    shares = [
        best_shares(
            np.stack([steady, tried(rows, [0.1] * 5 + [last], LinearLearner())[0].losses]),
            rows,
            DRAWS,
            0,
        )[1]
        for last in (0.3, 0.6, 0.9, 3.0)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1.0
    assert shares[-1] < 0.2


def test_parts_count_as_they_are_weighted(rows):
    first = tried(rows, [0.5] + [0.1] * 5, LinearLearner())[0].losses
    others = tried(rows, [0.1] + [0.2] * 5, LinearLearner())[0].losses
    assert best_shares(np.stack([first, others]), rows, 1, 0).tolist() == [0.0, 1.0]
    light = replace(rows, part_weights=np.array([0.01] + [0.198] * 5))
    assert best_shares(np.stack([first, others]), light, 1, 0).tolist() == [1.0, 0.0]


def test_learners_of_another_kind_with_one_name_are_not_mixed(rows):
    steady = tried(rows, [0.3] * 6, TreesLearner())
    bold = tried(rows, [0.1, 0.1, 0.1, 0.1, 0.1, -0.6], TreesLearner())
    found = mix_penalties([steady, bold], rows, DRAWS, 0)
    assert found is min(steady[0], bold[0], key=lambda one: one.loss(rows))


def test_the_same_seed_mixes_the_same(rows):
    both = [
        tried(rows, [0.3] * 6, LinearLearner(1.0)),
        tried(rows, [0.1] * 5 + [0.7], LinearLearner()),
    ]
    first, second = (mix_penalties(both, rows, DRAWS, 3).candidate.learner for _ in range(2))
    assert first == second
