"""A few labels in targets: what they correct in the committee's predictions, and what they say of
how good these are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import digamma, polygamma, softmax

from domindex.arrays import Floats, Ints
from domindex.committee.folds import HeldOutRows
from domindex.committee.settings import ChoiceSettings
from domindex.committee.weighing import small_sample
from domindex.persistence.saved import Saved


def covariance(left: Floats, right: Floats) -> Floats:
    """(n, m) between rows of one domain at positions (n, size) and (m, size): half of the variance
    moves all of them alike, half those near each other."""
    return 1.0 + np.asarray(np.exp(-cdist(left, right, "sqeuclidean")), dtype=np.float64)


def mean_square_distance(domains: Iterable[Floats]) -> float:
    """Between rows of a domain, of features (rows, features) by domain."""
    return float(np.mean([2.0 * rows.var(axis=0).sum() for rows in domains])) or 1.0


@dataclass(frozen=True, eq=False)
class Correction(Saved):
    """A Gaussian process on top of the committee, in a domain with some labels: on the errors of
    values, in units of their variance, or on the logits of classes.

    Rows are near each other that have alike inputs and predictions. Few labels move little, and
    many follow what is different there.
    """

    strength: float  # variance of either half of `covariance`; 0 for no correction
    width: float  # mean squared distance between inputs of rows of a domain
    spread: Floats  # (columns,) of the committee's values or logits

    def positions(self, features: Floats, base: Floats, is_class: bool) -> Floats:
        """(n, size) of rows by scaled inputs and by what the committee predicts, (n, columns)."""
        said = _logits(base) if is_class else base
        scale = self.spread * np.sqrt(2.0 * len(self.spread))
        return np.hstack([features / np.sqrt(self.width), said / scale])

    def pulls(self, base: Floats, labels: NDArray, positions: Floats) -> Floats:
        """(n, columns), how much each labelled row pulls at others: `base` (n, columns) is what the
        committee predicts of it, `labels` are classes (n,) or values (n, outputs)."""
        between = self.strength * covariance(positions, positions)
        one = np.eye(len(between))
        if labels.ndim == 2:
            return np.asarray(np.linalg.solve(between + one, labels - base))
        # the mode of the posterior: steps under a quadratic bound of the loss always lower it
        logits, is_class = _logits(base), np.eye(base.shape[1])[labels]
        pulls, damped = np.zeros_like(base), np.linalg.inv(one + between / 2)
        for _ in range(50):
            moved = between @ pulls
            pulls = damped @ (moved / 2 + is_class - softmax(logits + moved, axis=1))
        return pulls

    def apply(
        self, base: Floats, positions: Floats, known: Floats, pulls: Floats, is_class: bool
    ) -> Floats:
        """Corrected predictions of rows, (n, columns), by labelled rows of their domain."""
        parts = np.array_split(positions, 1 + len(positions) // 2000)  # for memory
        moved = self.strength * np.concatenate([covariance(part, known) @ pulls for part in parts])
        return softmax(_logits(base) + moved, axis=1) if is_class else base + moved


def _logits(probabilities: Floats) -> Floats:
    return np.log(np.maximum(probabilities, 1e-12))


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of one target that have labels."""

    name: Hashable
    features: Floats  # (n, features), scaled
    labels: NDArray  # (n,) classes or (n, outputs) values
    base: Floats  # (n, columns) what the committee predicts without labels of targets
    disagreement: Floats  # (n,) of its members

    def cross_validated(self, correction: Correction) -> Floats:
        """(n, columns) of each row, corrected by the labels of others, in five folds."""
        n_rows, result = len(self.labels), self.base.copy()
        if n_rows < 2 or not correction.strength:
            return result
        positions = correction.positions(self.features, self.base, self.labels.ndim == 1)
        folds = np.arange(n_rows) % min(5, n_rows)  # rows are in no order that means anything
        for fold in range(folds.max() + 1):
            one, others = folds == fold, folds != fold
            given = self.base, self.labels, positions, np.flatnonzero(others), np.flatnonzero(one)
            result[one] = _corrected(correction, *given)
        return result


def _corrected(
    correction: Correction,
    base: Floats,
    labels: NDArray,
    positions: Floats,
    known: Ints,
    rows: Ints,
) -> Floats:
    """Predictions of some rows, corrected by the labels of others."""
    pulls = correction.pulls(base[known], labels[known], positions[known])
    given = base[rows], positions[rows], positions[known], pulls
    return correction.apply(*given, is_class=labels.ndim == 1)


@dataclass(frozen=True, eq=False)
class Evidence(Saved):
    """What the labelled rows of a target say of how well it is predicted, as a `Forecaster` counts
    it, each row judged by the labels of others."""

    name: Hashable
    quality: float  # accuracy, or log of the mean squared error in units of spread
    signal: float  # mean confidence or disagreement of the same rows, beside which it is judged
    variance: float  # of the quality, for so few rows
    positions: Floats  # (n, size) of the labelled rows
    pulls: Floats  # (n, columns) of theirs

    @classmethod
    def of(
        cls, rows: LabelledRows, correction: Correction, unit: Floats | None, tail: float
    ) -> Evidence:
        positions = correction.positions(rows.features, rows.base, unit is None)
        pulls = correction.pulls(rows.base, rows.labels, positions)
        predicted, n_rows = rows.cross_validated(correction), len(rows.labels)
        if unit is None:
            right = predicted.argmax(axis=1) == rows.labels
            share = (right.sum() + 1.0) / (n_rows + 2.0)
            quality, signal = float(right.mean()), float(predicted.max(axis=1).mean())
            variance = share * (1.0 - share) / n_rows
        else:
            errors = (((predicted - rows.labels) / unit) ** 2).mean(axis=1)
            signal, half = float(rows.disagreement.mean()), n_rows / 2
            bias = float(digamma(half) - np.log(half))  # of the log of a mean of squares
            quality = float(np.log(errors.mean() + 1e-12)) - bias
            variance = tail * float(polygamma(1, half))
        return cls(rows.name, quality, signal, float(variance), positions, pulls)

    def _check_state(self) -> None:
        if self.positions.ndim != 2 or len(self.positions) != len(self.pulls):
            raise ValueError("labelled rows do not fit what they pull")


@dataclass(frozen=True, eq=False)
class TargetLabels(Saved):
    """What labels of targets correct, and what they say of the forecast, by domain.

    The committee is built as without them. How strongly they correct it is decided where there are
    labels to see it: on held-out sources that are given as many, drawn at random, and on the
    labelled rows themselves, each predicted by means of the others.
    """

    correction: Correction
    gain: float  # share of the loss that it saved there; 0 where nothing is corrected
    n_compared: int  # domains on which that was seen
    is_class: bool  # whether predictions are probabilities
    domains: tuple[Evidence, ...]

    @classmethod
    def fit(
        cls,
        labelled: Sequence[LabelledRows],
        held_out: Floats,
        features: Floats,
        rows: HeldOutRows,
        width: float,
        settings: ChoiceSettings,
        seed: int,
    ) -> TargetLabels:
        """From predictions (n, columns) and scaled features of held-out rows."""
        is_class = rows.unit is None
        spread = (_logits(held_out) if is_class else held_out).std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        options = [Correction(one, width, spread) for one in (0.0, *settings.label_strengths)]
        count = int(np.median([len(one.labels) for one in labelled]))
        losses = np.empty((0, len(options)))
        if not rows.by_rows:
            given = options, held_out, features, rows, count, settings.label_draws, seed
            losses = _losses_of_sources(*given)
        of_rows = [
            replace(rows, labels=one.labels).losses(np.stack(predicted)).T
            for one in labelled
            if len(one.labels) > 1 and (predicted := [one.cross_validated(o) for o in options])
        ]
        losses = np.vstack([losses, *(one.mean(axis=0) for one in of_rows)])
        n_domains = len(losses)
        if n_domains < 2:  # then rows have to do
            losses = np.vstack([losses[:0], *of_rows])
        chosen = _surely_best(losses, settings.label_margin)
        gain = 0.0
        if chosen:
            left = float(losses[:, chosen].sum() / losses[:, 0].sum())
            gain = 1.0 - max(left, 1e-6)  # no deviation becomes 0
        tail = 1.0
        if rows.unit is not None:
            squares = ((held_out - rows.labels) / rows.unit) ** 2
            tail = max(1.0, float((squares**2).mean() / squares.mean() ** 2 - 1.0) / 2)
        known = tuple(Evidence.of(one, options[chosen], rows.unit, tail) for one in labelled)
        return cls(options[chosen], gain, n_domains, is_class, known)

    @cached_property
    def by_name(self) -> dict[Hashable | None, Evidence]:
        return {one.name: one for one in self.domains}

    def corrected(self, name: Hashable | None, base: Floats, features: Floats) -> Floats:
        """Predictions (n, columns) of rows of a domain, scaled (n, features), as its labels correct
        them; those of a domain without labels as they are."""
        one = self.by_name.get(name)
        if one is None or not self.correction.strength:
            return base
        positions = self.correction.positions(features, base, self.is_class)
        return self.correction.apply(base, positions, one.positions, one.pulls, self.is_class)


def _losses_of_sources(
    options: Sequence[Correction],
    held_out: Floats,
    features: Floats,
    rows: HeldOutRows,
    count: int,
    draws: int,
    seed: int,
    max_rows: int = 500,
) -> Floats:
    """(held-out domains, options) mean loss where so many rows, drawn at random, have labels: of
    the others, half of the domain's rows at least."""
    rng, n_parts = np.random.default_rng(seed), len(rows.part_domains)
    losses = np.empty((n_parts, len(options)))
    positions = options[0].positions(features, held_out, rows.unit is None)  # alike of all
    for part in range(n_parts):
        members = np.flatnonzero(rows.parts == part)
        n_known = min(count, len(members) // 2, max_rows)
        drawn = [rng.permutation(members)[: n_known + max_rows] for _ in range(draws)]
        for number, option in enumerate(options):
            found = []
            for mixed in drawn:
                known, others = mixed[:n_known], mixed[n_known:]
                predicted = held_out[others]
                if n_known and option.strength:
                    predicted = _corrected(option, held_out, rows.labels, positions, known, others)
                found.append(replace(rows, labels=rows.labels[others]).losses(predicted).mean())
            losses[part, number] = np.mean(found)
    return np.stack([rows.by_domain(column) for column in losses.T], axis=1)


def _surely_best(losses: Floats, margin: float) -> int:
    """The number of the option that gains most on the first, of losses (domains, options), less
    `margin` standard errors of its gain; the first, if none is sure to gain."""
    gains, n_domains = losses[:, :1] - losses, len(losses)
    if n_domains < 2:
        return 0
    errors = gains.std(axis=0, ddof=1) / np.sqrt(n_domains) * small_sample(n_domains)
    return int((gains.mean(axis=0) - margin * errors).argmax())
