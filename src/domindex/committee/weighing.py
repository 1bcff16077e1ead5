"""What every candidate pays beyond its held-out losses, and the weights that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from domindex.committee.choice_settings import ChoiceSettings
from domindex.committee.held_out_rows import HeldOutRows
from domindex.committee.shapes import Coincidence
from domindex.committee.stacking import stack
from domindex.committee.trial import Trial
from domindex.representations import representation_named

Floats = NDArray[np.float64]

SHAPES_OF = {"with_index": "raw", "with_means": "raw"}
"""Representations whose extra columns name the domain: their rows coincide as those of others."""


LEAST_NAMED = 2
"""Domains from which a rule that follows them can be learned at all: a line has two points."""

LEAST_ALONG = 3
"""Domains from which a linear rule that follows them is more than the line through two points,
which always fits and goes on without end. A rule that stands still beyond its domains is bounded by
them, and not asked for more. Set by counting; on other splits and tables, with target scores in
view, it changed means by hundredths of a point, and Adult by occupation by two."""

GOES_ON = ("linear", "boosted_linear")
"""Predictors that go on along a straight line beyond what they have learned from."""

LOST_ROWS = 5.0
"""Mistaken rows of a single source, beyond twice what plain inputs cost, up to which a
representation has kept what predicts; not tuned."""

SIMPLEST_FIRST = (
    "raw",
    "row_centred",
    "row_standardised",
    "domain_centred",
    "domain_scaled",
    "domain_standardised",
    "grid_flow",
    "coral",
    "domain_whitened",
    "flow",
)
"""Representations in the order of how much they change the inputs."""


@dataclass(frozen=True, eq=False)
class Weighing:
    """What was chosen, and on what grounds.

    Attributes
    ----------
    trials : the candidates that were weighed
    weights : (trials,) summing to 1; 0 for those left out
    table : a row a candidate, for the user to read, the heaviest first
    """

    trials: list[Trial]
    weights: Floats
    table: pd.DataFrame


def weigh(
    trials: Sequence[Trial],
    rows: HeldOutRows,
    shapes: dict[str, Coincidence],
    beyond: Floats,
    settings: ChoiceSettings,
    seed: int,
) -> Weighing:
    """Stacking of the trials that are in the race, each with its price, drawn half way to equal
    weights of the best few, and further where domains are very few: what stacking makes of them is
    not to be taken at its word.

    `beyond` (trials,) is how far predictions of targets lie outside the reach of known outputs,
    on top of what they did in the folds.
    """
    trials = list(trials)
    reasons = reasons_not_to_weigh(trials, rows, shapes, settings)
    racing = [number for number, reason in enumerate(reasons) if not reason]
    prices = _prices(trials, racing, rows, shapes, beyond, settings)
    losses = np.array([trials[number].loss(rows) for number in racing])
    weights = np.zeros(len(trials))
    stacked = stack(
        np.stack([trials[number].predicted for number in racing]),
        prices[racing],
        rows,
        losses.min() + resolution(rows, losses.min()),
        draws=settings.bootstrap,
        steps=settings.steps,
        seed=seed,
    )
    few = 1.0 if rows.by_rows else small_sample(len(np.unique(rows.domains)))
    paid = losses + prices[racing] + resolution(rows, losses.min())
    soft = soft_weights(paid, few * settings.softness)
    weights[racing] = (stacked + few * soft) / (1.0 + few)
    weights[weights < min(settings.least_weight, weights.max())] = 0.0
    weights /= weights.sum()
    return Weighing(trials, weights, _table(trials, weights, reasons, prices, rows, shapes))


def reasons_to_leave_out(
    trials: Sequence[Trial],
    rows: HeldOutRows,
    shapes: dict[str, Coincidence],
    settings: ChoiceSettings,
) -> list[str]:
    """Why each candidate is not in the race, in words; empty where it is. Somebody always is."""
    if rows.by_rows:
        reasons = reasons_with_one_source(trials, shapes, rows)
    else:
        fewest = min(fold.n_learned_from for fold in rows.folds)
        reasons = [_reason_to_leave_out(trial, shapes, fewest, settings) for trial in trials]
    return [""] * len(trials) if all(reasons) else reasons


def reasons_not_to_weigh(
    trials: Sequence[Trial],
    rows: HeldOutRows,
    shapes: dict[str, Coincidence],
    settings: ChoiceSettings,
) -> list[str]:
    """The same, and why a rule is left out whose representation is not: others may serve there."""
    reasons = reasons_to_leave_out(trials, rows, shapes, settings)
    if rows.by_rows or min(fold.n_learned_from for fold in rows.folds) >= LEAST_ALONG:
        return reasons
    told = [
        reason
        or (
            "it draws a line through domains, and some fold has fewer than three to learn from: "
            "two always lie on one"
            if trial.candidate.representation in SHAPES_OF and trial.candidate.predictor in GOES_ON
            else ""
        )
        for trial, reason in zip(trials, reasons)
    ]
    return reasons if all(told) else told


def small_sample(n_domains: int) -> float:
    """How much wider an interval is for a mean of few domains: Student's quantile over Gauss's."""
    level = 0.975
    return float(student.ppf(level, max(n_domains - 1, 1)) / norm.ppf(level))


def soft_weights(losses: Floats, softness: float) -> Floats:
    """(n,) equal for the best few: a loss that is larger by the share `softness` counts 1/e."""
    weights = np.exp(-(losses / losses.min() - 1.0) / softness)
    return weights / weights.sum()


def resolution(rows: HeldOutRows, best: float) -> float:
    """What difference of losses can be known at all, given the best loss.

    For classes the loss of one mistaken row in every held-out domain. For values the standard error
    of a domain's mean squared error: of n normal errors, √(2/n) of it.
    """
    per_part = float(np.mean(np.bincount(rows.parts)))
    if rows.n_classes is None:
        return best * float(np.sqrt(2.0 / per_part)) + np.finfo(np.float64).tiny
    shares = np.bincount(rows.labels, rows.row_weights, minlength=rows.n_classes)
    entropy = -float(np.sum(shares * np.log(np.maximum(shares, 1e-300))))
    return max(entropy, 1e-3) / per_part


def _prices(
    trials: list[Trial],
    racing: list[int],
    rows: HeldOutRows,
    shapes: dict[str, Coincidence],
    beyond: Floats,
    settings: ChoiceSettings,
) -> Floats:
    """(trials,) insurance against harm, shapes that do not coincide, and errors in plain sight."""
    losses = np.stack([rows.by_domain(trial.losses) for trial in trials])
    n_domains = losses.shape[1]
    plain = [n for n in racing if trials[n].candidate.is_plain] or racing
    best_plain = min(plain, key=lambda number: trials[number].loss(rows))
    best = min(racing, key=lambda number: trials[number].loss(rows))
    root = np.sqrt(n_domains)
    gains = (losses - losses[best_plain]).std(axis=1, ddof=1) / root if n_domains > 1 else 0.0
    insured = np.array([not trial.candidate.is_plain for trial in trials])
    uncertain = losses[best].std(ddof=1) / root if n_domains > 1 else 0.0
    unit = np.hypot(uncertain, resolution(rows, trials[best].loss(rows)))
    gaps = np.array([_gap(trial, shapes, settings.move_tolerance) for trial in trials])
    few = 1.0 if rows.by_rows else small_sample(n_domains)
    return (
        few * settings.insurance * insured * gains
        + settings.shape_price * unit * gaps
        + settings.reach_price * beyond
    )


def _gap(trial: Trial, shapes: dict[str, Coincidence], tolerance: float) -> float:
    """Discriminability of targets beyond that of held-out sources.

    What moves domains and leaves targets no harder to tell from sources than they came, up to what
    chance does to an AUC, pays what inputs as they come pay, at least: where everything is told
    from everything, as pictures with a domain's mean taken out are, the gap closes because held-out
    sources cannot be told any better, not because targets are like them. Set with target scores of
    digits that grow in view; the tolerance, that of moves, with those of deaths in traffic.
    """
    own = _shape(trial, shapes)
    raw = shapes.get("raw")
    if raw is None or not representation_named(trial.candidate.representation).moves_domains:
        return own.gap
    return max(own.gap, raw.gap) if own.targets >= raw.targets - tolerance else own.gap


def _shape(trial: Trial, shapes: dict[str, Coincidence]) -> Coincidence:
    name = trial.candidate.representation
    return shapes.get(SHAPES_OF.get(name, name), Coincidence(0.5, 0.5))


def _reason_to_leave_out(
    trial: Trial, shapes: dict[str, Coincidence], fewest: int, settings: ChoiceSettings
) -> str:
    """Why a candidate is not in the race, in words; empty where it is."""
    if trial.candidate.representation in SHAPES_OF and fewest < LEAST_NAMED:
        return (
            "it follows domains, and some fold has a single one to learn from: "
            "held-out losses say nothing of it"
        )
    kind = representation_named(trial.candidate.representation)
    if not kind.moves_domains or "raw" not in shapes:
        return ""
    own, raw = _shape(trial, shapes), shapes["raw"]
    if own.targets > raw.targets + settings.move_tolerance:
        return "it moves domains, and leaves targets further from the sources than they were"
    if own.targets > raw.targets + own.error and own.gap > raw.gap:
        return (
            "it moves domains, leaves targets a little further from the sources than they were, "
            "and held-out sources did not show it"
        )
    return ""


def reasons_with_one_source(
    trials: Sequence[Trial], shapes: dict[str, Coincidence], rows: HeldOutRows
) -> list[str]:
    """One source cannot tell how a rule carries over: why each candidate is left out, or nothing.

    The prior is the plain rule, unless some representation makes targets pass for the source in a
    two-sample test and loses nothing of what predicts there: then the simplest that does.
    """
    best: dict[str, float] = {}
    for trial in trials:
        name = trial.candidate.representation
        best[name] = min(trial.loss(rows), best.get(name, np.inf))
    plain = best.get("raw", np.inf)
    most = 2 * plain + LOST_ROWS * resolution(rows, plain)
    passing = [
        name
        for name in SIMPLEST_FIRST
        if name in best and name in shapes and shapes[name].passes and best[name] <= most
    ]
    chosen = passing[0] if passing else "raw"
    if chosen not in best:
        return [""] * len(trials)
    told = "targets pass for the source there" if passing else "nothing makes targets pass for it"
    reason = f"with one source, only {chosen} is trusted: {told}"
    return [
        "" if trial.candidate.representation == chosen and not trial.candidate.balanced else reason
        for trial in trials
    ]


def _table(
    trials: list[Trial],
    weights: Floats,
    reasons: list[str],
    prices: Floats,
    rows: HeldOutRows,
    shapes: dict[str, Coincidence],
) -> pd.DataFrame:
    """Sorted by weight, then by loss."""
    table = pd.DataFrame(
        {
            "candidate": [trial.candidate.name for trial in trials],
            "representation": [trial.candidate.features for trial in trials],
            "predictor": [trial.candidate.predictor for trial in trials],
            "near_loss": [trial.near(rows) for trial in trials],
            "far_loss": [trial.far(rows) for trial in trials],
            "loss": [trial.loss(rows) for trial in trials],
            "price": prices,
            "target_auc": [_shape(trial, shapes).targets for trial in trials],
            "held_out_auc": [_shape(trial, shapes).held_out for trial in trials],
            "weight": weights,
            "left_out": reasons,
        }
    )
    return table.sort_values(["weight", "loss"], ascending=[False, True], ignore_index=True)
