"""How strongly a linear rule is held back: decided by the held-out domains, none of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from domindex.committee.held_out_rows import HeldOutRows
from domindex.committee.linear_learner import LinearLearner, LinearMixture
from domindex.committee.stacking import draw_domains
from domindex.committee.trial import Trial

Floats = NDArray[np.float64]


def mix_penalties(
    tried: Sequence[tuple[Trial, Floats]], rows: HeldOutRows, draws: int, seed: int
) -> Trial:
    """One trial of candidates that differ in their penalty alone, each with what it predicted.

    There are few held-out domains, and one of them can turn the choice: so it is made for every
    draw of them (Bayesian bootstrap), and each penalty has a share of as many draws as it was best
    in. Where one is best in all, the trial is that of its candidate; of learners of another kind
    with the same name it is the best.
    """
    shares = best_shares(np.stack([trial.losses for trial, _ in tried]), rows, draws, seed)
    used = [(trial, predicted) for (trial, predicted), share in zip(tried, shares) if share]
    first, rules = used[0][0].candidate, [trial.candidate.learner for trial, _ in used]
    linear = tuple(rule for rule in rules if isinstance(rule, LinearLearner))
    if len(used) == 1 or len(linear) < len(used):
        return min((trial for trial, _ in used), key=lambda trial: trial.loss(rows))
    mixture = LinearMixture(linear, tuple(shares[shares > 0].tolist()))
    predicted = np.stack([predicted for _, predicted in used])
    mixed = mixture.mixed(predicted, rows.n_classes is not None)
    return Trial.of(replace(first, learner=mixture), mixed, rows)


def best_shares(losses: Floats, rows: HeldOutRows, draws: int, seed: int) -> Floats:
    """(trials,) share of draws of held-out domains in which losses (trials, parts) are least."""
    domains, place = np.unique(rows.part_domains, return_inverse=True)
    drawn = draw_domains(len(domains), draws, np.random.default_rng(seed))
    of_parts = drawn[:, place] * rows.part_weights
    best = (losses @ of_parts.T).argmin(axis=0)
    return np.bincount(best, minlength=len(losses)) / len(best)
