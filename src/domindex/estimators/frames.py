"""In which frame the rows of all domains are compared: chosen without any target label.

A frame tells rows so that a rule learned on the sources holds in the targets. Error on held-out
source domains says how well a rule carries over between sources, and nothing of targets that look
like no source. So it is read together with the overlap: the share of source rows that remains once
they are weighted to look like the targets. A frame in which sources and targets overlap widely is
worth some error on the sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.normalizing import NormalizedRows
from domindex.estimators.linear_path import (
    PENALTIES,
    LinearPath,
    held_out_predictions,
    solve_paths,
)
from domindex.geometry.balancing import balancing_weights, overlap

Floats = NDArray[np.float64]

INSURANCE = 1.6
"""Held-out error, relative to the best, that a frame with more overlap may cost."""

OVERLAP_POWER = 1 / 3
"""How much overlap counts against held-out error: 8 times the overlap is worth twice the error."""

LEAST_OVERLAP = 0.01
"""Overlap below which balancing rests on a handful of rows, and is not trusted."""

CLEARLY = 0.9
"""Share of the linear rule's error that a flexible one must stay below."""

N_WAVES = 100
"""Functions of which a flexible rule is made."""

FLOW = "flow"
MOVING = ("domains", FLOW)
TRUSTED_OVERLAP = 0.5
"""Frames that move whole domains, and the share of the widest overlap from which they count."""

BALANCED_PENALTY = 0.3
"""Least shrinkage under balancing weights, which leave fewer rows to learn from."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Rows of all domains told in one way.

    Attributes
    ----------
    name : a normalisation, or "flow"
    rows : (rows, p) of unit mean variance, what a predictor is given
    outputs : level and spread that take outputs into this frame and back
    weights : (n,) of the source rows, summing to 1, under which they look like the targets
    """

    name: str
    rows: Floats
    outputs: NormalizedRows
    weights: Floats

    @classmethod
    def of(
        cls, name: str, rows: Floats, outputs: NormalizedRows, is_source: NDArray[np.bool_]
    ) -> Frame:
        return cls(name, rows, outputs, balancing_weights(rows[is_source], rows[~is_source]))

    @property
    def overlap(self) -> float:
        """The share of source rows that resemble the targets."""
        return overlap(self.weights)


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
class Trial:
    """What a frame is worth.

    Attributes
    ----------
    frame : the frame
    straight : the linear rule, on source domains held out
    bent : a flexible rule, likewise
    """

    frame: Frame
    straight: HeldOut
    bent: HeldOut

    @property
    def may_bend(self) -> bool:
        """Whether the flexible rule is better by as much as overlap asks for.

        Where targets look like sources, that is little; where they do not, a rule that bends to
        the sources is wrong elsewhere, however well it does among them.
        """
        return self.bent.error < CLEARLY * self.frame.overlap**0.5 * self.straight.error

    @property
    def error(self) -> float:
        return self.bent.error if self.may_bend else self.straight.error

    @property
    def score(self) -> float:
        """Held-out error, raised where sources and targets overlap little."""
        return self.error * self.frame.overlap**-OVERLAP_POWER


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions (n, outputs) for held-out source domains, user's units, with their error."""

    predicted: Floats
    error: float
    penalty: float


@dataclass(frozen=True, eq=False)
class FittedFrame:
    """The chosen frame with its linear path.

    Attributes
    ----------
    frame : the frame
    path : the linear path in this frame
    row_weights : (n,) of the source rows, summing to 1: how much the targets ask for each
    held_out : (n, outputs) predictions of the path for source domains it never saw, user's units
    balanced_share : how much of the path was solved under balancing weights
    may_bend : whether a network beside the path has earned its freedom
    trials : a row per frame: held-out error, overlap, score, whether a network may bend it,
        whether it was trusted, and whether it was chosen
    """

    frame: Frame
    path: LinearPath
    row_weights: Floats
    held_out: Floats
    balanced_share: float
    may_bend: bool
    trials: pd.DataFrame

    def with_trials(self, trials: pd.DataFrame) -> FittedFrame:
        """The same, chosen among other frames."""
        return replace(self, trials=trials)


def choose_frame(frames: Sequence[Frame], sources: Sources) -> FittedFrame:
    """Try every frame and keep the one with the best score among those that can be afforded."""
    trials = [_try(frame, sources) for frame in frames]
    trusted = _trusted(trials)
    affordable = INSURANCE * min(trial.error for trial in trusted)
    best = min((t for t in trusted if t.error <= affordable), key=lambda trial: trial.score)
    table = pd.DataFrame(
        {
            "frame": [trial.frame.name for trial in trials],
            "held_out_error": [trial.error for trial in trials],
            "overlap": [trial.frame.overlap for trial in trials],
            "score": [trial.score for trial in trials],
            "bends": [trial.may_bend for trial in trials],
            "trusted": [trial in trusted for trial in trials],
            "chosen": [trial is best for trial in trials],
        }
    )
    return _fit(best, sources, table)


def _trusted(trials: Sequence[Trial]) -> list[Trial]:
    """All, but frames that move whole domains only where they bring sources and targets close.

    A domain's level stands for the domain if all domains hold the same mix of rows, and a flow
    holds beyond the sources if it fits there. Held-out sources, which may all hold one mix and lie
    close together, say little of that, but overlap with the targets does.
    """
    least = TRUSTED_OVERLAP * max(trial.frame.overlap for trial in trials)
    return [t for t in trials if t.frame.name not in MOVING or t.frame.overlap >= least]


def _try(frame: Frame, sources: Sources) -> Trial:
    rows, outputs, values = _labelled(frame, sources)
    flexible = np.hstack([rows, _waves(rows)])
    return Trial(
        frame,
        _held_out(rows, outputs, values, sources),
        _held_out(flexible, outputs, values, sources),
    )


def _held_out(rows: Floats, outputs: NormalizedRows, values: Floats, sources: Sources) -> HeldOut:
    """The best of all penalties."""
    uniform = np.full(len(rows), 1.0 / len(rows))
    predicted = held_out_predictions(rows, values, uniform, sources.domains, PENALTIES)
    restored = [outputs.restore(part) for part in predicted]
    errors = [sources.error(part) for part in restored]
    best = int(np.argmin(errors))
    return HeldOut(restored[best], errors[best], PENALTIES[best])


def _fit(trial: Trial, sources: Sources, trials: pd.DataFrame) -> FittedFrame:
    """The plain path mixed with a balanced one, half and half where overlap is small.

    The balanced path is right for the targets and noisy, the plain one the opposite. It is left
    out where it rests on too few rows, or fails on the held-out rows that look like the targets.
    """
    rows, outputs, values = _labelled(trial.frame, sources)
    frame, straight = trial.frame, trial.straight
    uniform = np.full(len(rows), 1.0 / len(rows))
    (plain,) = solve_paths(rows, values, uniform, (straight.penalty,))
    penalty = (max(BALANCED_PENALTY, straight.penalty),)
    (balanced,) = solve_paths(rows, values, frame.weights, penalty)
    (predicted,) = held_out_predictions(rows, values, frame.weights, sources.domains, penalty)
    held_out = outputs.restore(predicted)
    cost = sources.error(held_out, frame.weights)
    trusted = frame.overlap >= LEAST_OVERLAP and not trial.may_bend
    trusted &= cost <= INSURANCE * sources.error(straight.predicted, frame.weights)
    share = 0.5 * (1.0 - frame.overlap) if trusted else 0.0
    return FittedFrame(
        frame=frame,
        path=plain.mixed(balanced, share),
        row_weights=(1 - share) * uniform + share * frame.weights,
        held_out=trial.bent.predicted
        if trial.may_bend
        else (1 - share) * straight.predicted + share * held_out,
        balanced_share=share,
        may_bend=trial.may_bend,
        trials=trials,
    )


def _waves(rows: Floats) -> Floats:
    """Random smooth functions of the rows, (n, 100): what a small network could make of them."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(len(rows), size=(2, 1000))
    width = np.median(np.linalg.norm(rows[pairs[0]] - rows[pairs[1]], axis=1)) or 1.0
    turns = rng.normal(size=(rows.shape[1], N_WAVES)) / width
    return (
        np.cos(rows @ turns + rng.uniform(0, 2 * np.pi, N_WAVES))
        * (2 * rows.shape[1] / N_WAVES) ** 0.5
    )


def _labelled(frame: Frame, sources: Sources) -> tuple[Floats, NormalizedRows, Floats]:
    """The frame's source rows, their levels and spreads, and their values in the frame."""
    chosen = sources.is_source
    outputs = frame.outputs.part(chosen)
    return frame.rows[chosen], outputs, outputs.normalize(sources.values)
