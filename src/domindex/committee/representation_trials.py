"""In which representation values are learned: chosen without any target label.

A representation puts rows so that a rule learned on the sources holds in the targets. Error on
held-out source domains says how well a rule carries over between sources, and nothing of targets
that look like no source. So it is read together with the effective sample fraction: the share of
source rows that remains once they are weighted to look like the targets. A representation in which
sources and targets overlap widely is worth some error on the sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.committee.choice_settings import ChoiceSettings
from domindex.committee.linear_rule import (
    RULE_PENALTIES,
    LinearRule,
    held_out_predictions,
    solve_rules,
)
from domindex.data import DomainData
from domindex.geometry.domain_map import DomainMap
from domindex.geometry.entropy_balancing import balancing_weights, effective_sample_fraction
from domindex.geometry.subspace import principal_components
from domindex.representations import Representation, RepresentedRows

Floats = NDArray[np.float64]

N_FOURIER = 100
"""Random Fourier features of which a flexible rule is made; not tuned."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """All rows in one representation.

    Attributes
    ----------
    representation : the representation
    rows : all rows in it
    projection : (p, ≤ max_latent), its principal components where there are many features
    is_source : (rows,) which rows have labels
    """

    representation: Representation
    rows: RepresentedRows
    projection: Floats
    is_source: NDArray[np.bool_]

    @classmethod
    def of(
        cls, representation: Representation, rows: RepresentedRows, data: DomainData, most: int
    ) -> Candidate:
        projection = principal_components(rows.features, most)
        return cls(representation, rows, projection, data.row_is_source)

    @property
    def name(self) -> str:
        return self.representation.name

    @cached_property
    def latent(self) -> Floats:
        """(rows, components), what a linear rule is given."""
        return self.rows.features @ self.projection

    @cached_property
    def weights(self) -> Floats:
        """(n,) of the source rows, summing to 1, under which they look like the targets."""
        return balancing_weights(self.latent[self.is_source], self.latent[~self.is_source])

    @property
    def fraction(self) -> float:
        """The effective sample fraction of the sources."""
        return effective_sample_fraction(self.weights)


@dataclass(frozen=True, eq=False)
class Sources:
    """The labelled rows: where they stand, their values (n, outputs), domains and domain weights.

    Values are in the user's units; `unit` (outputs,) is what an error of 1 means in each.
    """

    is_source: NDArray[np.bool_]
    values: Floats
    domains: NDArray[np.int64]
    domain_weights: Floats
    unit: Floats

    @classmethod
    def of(cls, data: DomainData, domain_map: DomainMap) -> Sources:
        """A source counts the more, the nearer a target is on the map."""
        rows = data.row_is_source
        values = data.labels[rows]
        numbers = np.cumsum(data.is_source) - 1
        gaps = domain_map.index.map_distances[np.ix_(data.is_source, ~data.is_source)].min(axis=1)
        spread = values.std(axis=0)
        return cls(
            is_source=rows,
            values=values,
            domains=numbers[data.row_domains[rows]],
            domain_weights=np.exp(-gaps / (np.median(gaps) or 1.0)),
            unit=np.where(spread > 0, spread, 1.0),
        )

    def error(self, predicted: Floats, row_weights: Floats | None = None) -> float:
        """Squared error summed over outputs; averaged over rows, then over domains."""
        squares = (((predicted - self.values) / self.unit) ** 2).sum(axis=1)
        weights = np.ones(len(squares)) if row_weights is None else row_weights
        n_domains = len(self.domain_weights)
        total = np.bincount(self.domains, weights * squares, minlength=n_domains)
        mass = np.bincount(self.domains, weights, minlength=n_domains)
        present = mass > 0
        means = total[present] / mass[present]
        return float(np.average(means, weights=self.domain_weights[present]))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions (n, outputs) for held-out source domains, user's units, with their error."""

    predicted: Floats
    error: float
    penalty: float


@dataclass(frozen=True, eq=False)
class Trial:
    """What a candidate is worth.

    Attributes
    ----------
    candidate : the candidate
    straight : the linear rule, on source domains held out
    bent : a flexible rule, likewise
    settings : the thresholds
    """

    candidate: Candidate
    straight: HeldOut
    bent: HeldOut
    settings: ChoiceSettings

    @property
    def may_bend(self) -> bool:
        """Whether the flexible rule is better by as much as the effective sample asks for.

        Where targets look like sources, that is little; where they do not, a rule that bends to
        the sources is wrong elsewhere, however well it does among them.
        """
        asked = self.settings.bending_gain * self.candidate.fraction**0.5
        return self.bent.error < asked * self.straight.error

    @property
    def error(self) -> float:
        return self.bent.error if self.may_bend else self.straight.error

    @property
    def score(self) -> float:
        """Held-out error, raised where few source rows resemble the targets'."""
        return self.error * self.candidate.fraction**-self.settings.fraction_power


@dataclass(frozen=True, eq=False)
class ChosenRule:
    """The chosen candidate with its linear rule.

    Attributes
    ----------
    candidate : the candidate
    rule : the linear rule on its latent rows
    row_weights : (n,) of the source rows, summing to 1: how much the targets ask for each
    held_out : (n, outputs) predictions for source domains the rule never saw, user's units
    may_bend : whether a network beside the rule has earned its freedom
    trials : a row per candidate: held-out error, effective sample fraction, score, whether a
        network may bend it, whether it was trusted, and whether it was chosen
    """

    candidate: Candidate
    rule: LinearRule
    row_weights: Floats
    held_out: Floats
    may_bend: bool
    trials: pd.DataFrame

    def among(self, trials: pd.DataFrame) -> ChosenRule:
        """The same, chosen among other candidates."""
        return replace(self, trials=trials)


def choose_rule(
    candidates: Sequence[Candidate], sources: Sources, settings: ChoiceSettings
) -> ChosenRule:
    """Try every candidate and keep the one with the best score among those that are affordable."""
    trials = [_try(candidate, sources, settings) for candidate in candidates]
    trusted = _trusted(trials, settings)
    affordable = settings.insurance * min(trial.error for trial in trusted)
    best = min((t for t in trusted if t.error <= affordable), key=lambda trial: trial.score)
    table = pd.DataFrame(
        {
            "candidate": [trial.candidate.name for trial in trials],
            "held_out_error": [trial.error for trial in trials],
            "effective_sample_fraction": [trial.candidate.fraction for trial in trials],
            "score": [trial.score for trial in trials],
            "bends": [trial.may_bend for trial in trials],
            "trusted": [trial in trusted for trial in trials],
            "chosen": [trial is best for trial in trials],
        }
    )
    return _fit(best, sources, table)


def _trusted(trials: Sequence[Trial], settings: ChoiceSettings) -> list[Trial]:
    """All, but what moves whole domains only where it brings sources and targets close.

    A domain's level stands for the domain if all domains hold the same mix of rows, and a flow
    holds beyond the sources if it fits there. Held-out sources, which may all hold one mix and lie
    close together, say little of that, but the effective sample does.
    """
    least = settings.trusted_fraction * max(trial.candidate.fraction for trial in trials)
    return [
        trial
        for trial in trials
        if not trial.candidate.representation.moves_domains or trial.candidate.fraction >= least
    ]


def _try(candidate: Candidate, sources: Sources, settings: ChoiceSettings) -> Trial:
    latent, rows, values = _labelled(candidate, sources)
    flexible = np.hstack([latent, _random_fourier_features(latent)])
    return Trial(
        candidate,
        _held_out(latent, rows, values, sources),
        _held_out(flexible, rows, values, sources),
        settings,
    )


def _held_out(latent: Floats, rows: RepresentedRows, values: Floats, sources: Sources) -> HeldOut:
    """The best of all penalties."""
    uniform = np.full(len(latent), 1.0 / len(latent))
    predicted = held_out_predictions(latent, values, uniform, sources.domains, RULE_PENALTIES)
    restored = [rows.restore(part) for part in predicted]
    errors = [sources.error(part) for part in restored]
    best = int(np.argmin(errors))
    return HeldOut(restored[best], errors[best], RULE_PENALTIES[best])


def _fit(trial: Trial, sources: Sources, trials: pd.DataFrame) -> ChosenRule:
    """The plain rule mixed with a balanced one, half and half where the effective sample is small.

    The balanced rule is right for the targets and noisy, the plain one the opposite. It is left
    out where it rests on too few rows, or fails on the held-out rows that look like the targets.
    """
    candidate, straight, settings = trial.candidate, trial.straight, trial.settings
    latent, rows, values = _labelled(candidate, sources)
    uniform = np.full(len(latent), 1.0 / len(latent))
    (plain,) = solve_rules(latent, values, uniform, (straight.penalty,))
    penalty = (max(settings.balanced_penalty, straight.penalty),)
    (balanced,) = solve_rules(latent, values, candidate.weights, penalty)
    (predicted,) = held_out_predictions(latent, values, candidate.weights, sources.domains, penalty)
    held_out = rows.restore(predicted)
    cost = sources.error(held_out, candidate.weights)
    trusted = candidate.fraction >= settings.least_fraction and not trial.may_bend
    trusted &= cost <= settings.insurance * sources.error(straight.predicted, candidate.weights)
    share = 0.5 * (1.0 - candidate.fraction) if trusted else 0.0
    return ChosenRule(
        candidate=candidate,
        rule=plain.mixed(balanced, share),
        row_weights=(1 - share) * uniform + share * candidate.weights,
        held_out=trial.bent.predicted
        if trial.may_bend
        else (1 - share) * straight.predicted + share * held_out,
        may_bend=trial.may_bend,
        trials=trials,
    )


def _random_fourier_features(rows: Floats) -> Floats:
    """Smooth functions of the rows, (n, 100): what a small network could make of them."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(len(rows), size=(2, 1000))
    width = np.median(np.linalg.norm(rows[pairs[0]] - rows[pairs[1]], axis=1)) or 1.0
    turns = rng.normal(size=(rows.shape[1], N_FOURIER)) / width
    phases = rng.uniform(0, 2 * np.pi, N_FOURIER)
    return np.cos(rows @ turns + phases) * (2 * rows.shape[1] / N_FOURIER) ** 0.5


def _labelled(candidate: Candidate, sources: Sources) -> tuple[Floats, RepresentedRows, Floats]:
    """The candidate's source rows, their levels and spreads, and their values in it."""
    chosen = sources.is_source
    rows = candidate.rows.part(chosen)
    return candidate.latent[chosen], rows, rows.normalize(sources.values)
