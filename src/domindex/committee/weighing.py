"""From held-out losses to weights: penalties, stacking, and the range of believable outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from domindex.arrays import Floats
from domindex.committee.candidates import Trial
from domindex.committee.folds import Fold, HeldOutRows
from domindex.committee.learners.estimators import LinearLearner, LinearMixture
from domindex.committee.separability import Separability
from domindex.committee.settings import ChoiceSettings
from domindex.inputs import DomainData
from domindex.persistence.saved import Saved
from domindex.representations import representation_named
from domindex.representations.normalised import outputs_share_units

Gradient = Callable[[Floats], Floats]


def stack(
    predicted: Floats,
    penalties: Floats,
    rows: HeldOutRows,
    scale: float,
    *,
    draws: int,
    steps: int,
    seed: int,
    step: float = 0.25,
    max_step: float = 2.0,
) -> Floats:
    """Weights (candidates,), not negative, summing to 1, of predictions (candidates, n, columns).

    They minimise the loss of the mixture plus what each candidate costs beyond its losses
    (`penalties`, per unit of weight), by exponentiated gradients from equal weights. `scale` is the
    size of a loss that matters. Held-out domains are few: the weights are averaged over draws of
    them (Bayesian bootstrap), so that what a single domain decides is shared out. `step` is small
    enough to be stable; `max_step` bounds it where one row outvotes all others.
    """
    rng = np.random.default_rng(seed)
    domains, place = np.unique(rows.domains, return_inverse=True)
    of_rows = draw_domains(len(domains), draws, rng)[:, place] * rows.row_weights
    of_rows /= of_rows.sum(axis=1, keepdims=True)
    gradient = (
        _log_gradient(predicted, rows, of_rows, rng)
        if rows.unit is None
        else _square_gradient(predicted, rows, of_rows)
    )
    weights = np.full((len(of_rows), len(predicted)), 1.0 / len(predicted))
    for _ in range(steps):
        slope = gradient(weights) + penalties
        slope -= (weights * slope).sum(axis=1, keepdims=True)
        weights *= np.exp(np.clip(-step * slope / scale, -max_step, max_step))
        weights /= weights.sum(axis=1, keepdims=True)
    return weights.mean(axis=0)


def draw_domains(n_domains: int, draws: int, rng: np.random.Generator) -> Floats:
    """(draws, n_domains) how much domains count, 1 on average; all alike in the first draw."""
    drawn = rng.dirichlet(np.ones(n_domains), size=max(draws - 1, 0)) * n_domains
    return np.vstack([np.ones(n_domains), drawn])


def _log_gradient(
    predicted: Floats,
    rows: HeldOutRows,
    of_rows: Floats,
    rng: np.random.Generator,
    max_rows: int = 3000,
) -> Gradient:
    """Of the mean −log Σ w p(label), for weights (draws, candidates)."""
    some = rng.permutation(predicted.shape[1])[:max_rows]
    labels = rows.labels[some]
    known = np.maximum(predicted[:, some, labels], 1e-12)
    share = of_rows[:, some]
    share = share / share.sum(axis=1, keepdims=True)

    def gradient(weights: Floats) -> Floats:
        return -(share / (weights @ known)) @ known.T

    return gradient


def _square_gradient(predicted: Floats, rows: HeldOutRows, of_rows: Floats) -> Gradient:
    """Of the mean squared error of the mixture, by the errors' products."""
    errors = (predicted - rows.labels) / rows.unit
    n_outputs = errors.shape[2]
    products = np.stack(
        [
            sum((errors[:, :, k] * share) @ errors[:, :, k].T for k in range(n_outputs)) / n_outputs
            for share in of_rows
        ]
    )

    def gradient(weights: Floats) -> Floats:
        return 2 * np.einsum("bcd,bd->bc", products, weights)

    return gradient


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


@dataclass(frozen=True, eq=False)
class Weighing:
    """What was chosen, and on what grounds."""

    trials: list[Trial]  # the candidates that were weighed
    weights: Floats  # (trials,) summing to 1; 0 for those left out
    table: pd.DataFrame  # a row a candidate, for the user to read, the heaviest first


def weigh(
    trials: Sequence[Trial],
    rows: HeldOutRows,
    separability: dict[str, Separability],
    outside: Floats,
    settings: ChoiceSettings,
    seed: int,
) -> Weighing:
    """Bagged stacking of the trials that are in the race, each with its penalty; its plain part is
    drawn towards an equal mean of plain families, the more the fewer domains were held out.

    `outside` (trials,) is how far predictions of targets lie out of the range of known outputs,
    on top of what they did in the folds.
    """
    trials = list(trials)
    reasons = reasons_to_leave_out(trials, rows, separability, settings)
    racing = [number for number, reason in enumerate(reasons) if not reason]
    penalties = _penalties(trials, racing, rows, separability, outside, settings)
    best = min(trials[number].loss(rows) for number in racing)
    weights = np.zeros(len(trials))
    weights[racing] = stack(
        np.stack([trials[number].predicted for number in racing]),
        penalties[racing],
        rows,
        best + resolution(rows, best),
        draws=settings.bootstrap,
        steps=settings.steps,
        seed=seed,
    )
    weights = _towards_prior(weights, trials, racing, rows, settings)
    weights[weights < min(settings.min_weight, weights.max())] = 0.0
    weights /= weights.sum()
    return Weighing(
        trials, weights, _table(trials, weights, reasons, penalties, rows, separability)
    )


def _towards_prior(
    weights: Floats,
    trials: list[Trial],
    racing: list[int],
    rows: HeldOutRows,
    settings: ChoiceSettings,
) -> Floats:
    """Weights whose plain part is shared alike among plain families, with `prior_domains` over the
    number of held-out domains: few of these cannot tell which family carries over.

    What is not plain keeps its weight: it had to be ahead by a margin. Rows of one source that were
    held out, and not domains, say what they can of families. One family alone is no mean of them.
    """
    families = [n for n in racing if trials[n].candidate.is_family]
    if rows.by_rows or len(families) < 2:
        return weights
    share = min(1.0, settings.prior_domains / len(np.unique(rows.domains)))
    is_plain = np.array([trial.candidate.is_plain for trial in trials])
    result = np.where(is_plain, (1.0 - share) * weights, weights)
    result[families] += share * weights[is_plain].sum() / len(families)
    return result


def reasons_to_leave_out(
    trials: Sequence[Trial],
    rows: HeldOutRows,
    separability: dict[str, Separability],
    settings: ChoiceSettings,
) -> list[str]:
    """Why each candidate is not in the race, in words; empty where it is. Somebody always is."""
    if rows.by_rows:
        reasons = reasons_with_one_source(trials, separability, rows)
    else:
        reasons = [_reason_to_leave_out(trial, separability, settings) for trial in trials]
    return [""] * len(trials) if all(reasons) else reasons


def small_sample(n_domains: int) -> float:
    """How much wider an interval is for a mean of few domains: Student's quantile over Gauss's."""
    level = 0.975
    return float(student.ppf(level, max(n_domains - 1, 1)) / norm.ppf(level))


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


def _penalties(
    trials: list[Trial],
    racing: list[int],
    rows: HeldOutRows,
    separability: dict[str, Separability],
    outside: Floats,
    settings: ChoiceSettings,
) -> Floats:
    """(trials,) for risk, for moving domains, for separable targets, for values out of range."""
    losses = np.stack([rows.by_domain(trial.losses) for trial in trials])
    n_domains = losses.shape[1]
    means = np.array([trial.loss(rows) for trial in trials])
    plain = [n for n in racing if trials[n].candidate.is_plain] or racing
    best_plain, best = (min(some, key=lambda n: means[n]) for some in (plain, racing))
    errors = np.zeros(len(trials))
    if n_domains > 1:
        errors = (losses - losses[best_plain]).std(axis=1, ddof=1) / np.sqrt(n_domains)
    at_risk = np.array([not trial.candidate.is_plain for trial in trials])
    kinds = [representation_named(trial.candidate.representation) for trial in trials]
    moves = np.array([kind.moves_domains for kind in kinds])
    few = 1.0 if rows.by_rows else small_sample(n_domains)
    gaps = np.array([_gap(trial, separability, settings.move_tolerance) for trial in trials])
    return (
        settings.risk_margin * few * at_risk * errors
        + settings.move_margin * moves * means
        + settings.separability_penalty * resolution(rows, means[best]) * gaps
        + settings.range_penalty * outside
    )


def _gap(trial: Trial, separability: dict[str, Separability], tolerance: float) -> float:
    """Discriminability of targets beyond that of held-out sources.

    What aligns domains and leaves targets as separable as raw inputs do, up to what chance does to
    an AUC, has the penalty of raw inputs, at least: where everything is separable
    from everything, as pictures with a domain's mean taken out are, the gap closes because held-out
    sources cannot be separated better, not because targets are like them. Set with target scores of
    digits that grow in view; the tolerance, that of moves, with those of deaths in traffic.
    """
    own = _separability_of(trial, separability)
    raw = separability.get("raw")
    if raw is None or not representation_named(trial.candidate.representation).moves_domains:
        return own.gap
    return max(own.gap, raw.gap) if own.targets >= raw.targets - tolerance else own.gap


def _separability_of(trial: Trial, separability: dict[str, Separability]) -> Separability:
    name = trial.candidate.representation
    return separability.get(
        representation_named(name).separability_of or name, Separability(0.5, 0.5)
    )


def _reason_to_leave_out(
    trial: Trial, separability: dict[str, Separability], settings: ChoiceSettings
) -> str:
    """Why a candidate is not in the race, in words; empty where it is."""
    kind = representation_named(trial.candidate.representation)
    if not kind.moves_domains or "raw" not in separability:
        return ""
    own, raw = _separability_of(trial, separability), separability["raw"]
    if own.targets > raw.targets + settings.move_tolerance:
        return "aligning the domains made targets look less like the sources"
    return ""


def reasons_with_one_source(
    trials: Sequence[Trial],
    separability: dict[str, Separability],
    rows: HeldOutRows,
    max_lost_rows: float = 5.0,
) -> list[str]:
    """One source cannot show how a rule carries over: why each candidate is left out, or nothing.

    The prior is the plain rule, unless some representation makes targets pass for the source in a
    two-sample test and loses nothing of what predicts there (twice the loss of plain inputs, and
    `max_lost_rows` mistaken rows more; not tuned): then the simplest that does.
    """
    best: dict[str, float] = {}
    for trial in trials:
        name = trial.candidate.representation
        best[name] = min(trial.loss(rows), best.get(name, np.inf))
    plain = best.get("raw", np.inf)
    most = 2 * plain + max_lost_rows * resolution(rows, plain)
    ranks = {name: representation_named(name).change_rank for name in best if name in separability}
    passing = {
        name: rank
        for name, rank in ranks.items()
        if rank is not None and separability[name].passes and best[name] <= most
    }
    chosen = min(passing, key=lambda name: passing[name]) if passing else "raw"
    if chosen not in best:
        return [""] * len(trials)
    why = "targets pass for the source there" if passing else "nothing makes targets pass for it"
    reason = f"with one source, only {chosen} is trusted: {why}"
    return [
        "" if trial.candidate.representation == chosen and not trial.candidate.balanced else reason
        for trial in trials
    ]


def _table(
    trials: list[Trial],
    weights: Floats,
    reasons: list[str],
    penalties: Floats,
    rows: HeldOutRows,
    separability: dict[str, Separability],
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
            "penalty": penalties,
            "target_auc": [_separability_of(trial, separability).targets for trial in trials],
            "held_out_auc": [_separability_of(trial, separability).held_out for trial in trials],
            "weight": weights,
            "left_out": reasons,
        }
    )
    return table.sort_values(["weight", "loss"], ascending=[False, True], ignore_index=True)


@dataclass(frozen=True, eq=False)
class OutputRange(Saved):
    """The least and the largest value (outputs,) that an output is believed to take, or, where
    members of a committee are believed differently far, (members, outputs).

    Known values, and beyond them as far as those of a held-out source lay beyond the ones it was
    predicted from. Where outputs drift along the map and targets lie further away than any source
    that was held out, the drift is believed to go on. What was never negative stays so, and what
    was never positive too. Where outputs share the units of the inputs, they may go as far as these
    do.
    """

    least: Floats
    largest: Floats

    @classmethod
    def of(cls, data: DomainData, folds: tuple[Fold, ...], farthest: float = 0.0) -> OutputRange:
        """`farthest` is the distance of the farthest target from its nearest source, on the map."""
        known = data.labels[data.row_counts]
        below = above = np.zeros(known.shape[1])
        for fold in folds:
            train, held_out = data.labels[fold.train], data.labels[fold.held_out]
            below = np.maximum(below, train.min(axis=0) - held_out.min(axis=0))
            above = np.maximum(above, held_out.max(axis=0) - train.max(axis=0))
        falling, rising = _drift(data, folds, farthest)
        least = known.min(axis=0) - below - falling
        largest = known.max(axis=0) + above + rising
        least = np.where(known.min(axis=0) >= 0, np.maximum(least, 0.0), least)
        largest = np.where(known.max(axis=0) <= 0, np.minimum(largest, 0.0), largest)
        if outputs_share_units(data):
            least = np.minimum(least, float(data.inputs.min()))
            largest = np.maximum(largest, float(data.inputs.max()))
        return cls(least, largest)

    @classmethod
    def joined(cls, ranges: Sequence[OutputRange]) -> OutputRange:
        """One range a member, for predictions (members, n, outputs)."""
        return cls(*(np.stack([getattr(r, end) for r in ranges]) for end in ("least", "largest")))

    def clip(self, values: Floats) -> Floats:
        """Values (n, outputs), or (members, n, outputs), drawn to the edge."""
        return np.clip(values, self.least[..., None, :], self.largest[..., None, :])

    def widened(
        self, predicted: Floats, rows: HeldOutRows, known: KnownOutputs, further: float = 3.0
    ) -> OutputRange:
        """For a candidate that predicted held-out rows (n, outputs): further, if it has earned it.

        It has where its excursions beyond the values that a fold was learned from were right: cut
        off there, its predictions would have been clearly worse, by as many standard errors over
        held-out domains as others must be ahead of plain ones. Then `further` times its farthest
        excursion is believed: targets lie further away than held-out sources. Not tuned.
        """
        losses = [rows.losses(one) for one in (known.clip(predicted), predicted)]
        gains = rows.by_domain(rows.by_part(losses[0] - losses[1]))
        if rows.by_rows or len(gains) < 2:
            return self
        clearly = small_sample(len(gains)) * gains.std(ddof=1) / np.sqrt(len(gains))
        if not gains.mean() > clearly:
            return self
        below = np.maximum(known.least - predicted, 0.0).max(axis=0)
        above = np.maximum(predicted - known.largest, 0.0).max(axis=0)
        least, largest = self.least - further * below, self.largest + further * above
        return OutputRange(
            np.where(self.least >= 0, np.maximum(least, 0.0), least),
            np.where(self.largest <= 0, np.minimum(largest, 0.0), largest),
        )

    def outside(self, values: Floats, unit: Floats) -> Floats:
        """(n,) how far values (n, outputs) lie outside, in units of spread, mean over outputs."""
        outside = np.maximum(self.least - values, 0) + np.maximum(values - self.largest, 0)
        return (outside / unit).mean(axis=1)

    def _check_state(self) -> None:
        least, largest = self.least, self.largest
        if least.ndim not in (1, 2) or least.shape != largest.shape or not (least <= largest).all():
            raise ValueError("the ends of the outputs are no range")


@dataclass(frozen=True, eq=False)
class KnownOutputs:
    """For every held-out row, the range of the values (n, outputs) that its fold learned from."""

    least: Floats
    largest: Floats

    @classmethod
    def of(cls, data: DomainData, folds: Sequence[Fold]) -> KnownOutputs:
        def ends(function: str) -> Floats:
            found = [getattr(data.labels[fold.train], function)(axis=0) for fold in folds]
            return np.repeat(found, [len(fold.held_out) for fold in folds], axis=0)

        return cls(ends("min"), ends("max"))

    def clip(self, values: Floats) -> Floats:
        return np.clip(values, self.least, self.largest)


def _drift(data: DomainData, folds: tuple[Fold, ...], farthest: float) -> tuple[Floats, Floats]:
    """(outputs,) how far the outputs' mean may fall, and rise, on the way to the farthest target
    from where sources were held out: the steepest slope of any fold, far ones if there are any.
    """
    witnesses = [fold for fold in folds if fold.kind == "far"] or list(folds)
    witnesses = [fold for fold in witnesses if fold.distance.min() > 0]
    nothing = np.zeros(data.labels.shape[1])
    if not witnesses:
        return nothing, nothing
    slopes = np.stack(
        [
            (data.labels[fold.held_out].mean(axis=0) - data.labels[fold.train].mean(axis=0))
            / fold.distance.mean()
            for fold in witnesses
        ]
    )
    way = max(0.0, farthest - max(float(fold.distance.max()) for fold in folds))
    return way * np.maximum(-slopes.min(axis=0), 0.0), way * np.maximum(slopes.max(axis=0), 0.0)
