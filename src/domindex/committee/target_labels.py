"""A few labels in targets: what they correct in the committee's predictions, and what they say of
how good these are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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


@dataclass(frozen=True)
class Correction(Saved):
    """A Gaussian process on top of the committee, in a domain with some labels: on the errors of
    values, in units of their variance, or on the logits of classes.

    Half of its variance moves all rows of the domain alike, half moves rows near each other alike,
    so that few labels move little, and many follow what is different there.
    """

    strength: float  # variance of either half; 0 for no correction
    width: float  # mean squared distance between rows of a domain

    def covariance(self, left: Floats, right: Floats) -> Floats:
        """(n, m), between rows of one domain, (n, features) and (m, features)."""
        squares = cdist(left, right, "sqeuclidean")
        return self.strength * (1.0 + np.exp(-squares / self.width))

    def pulls(self, base: Floats, labels: NDArray, features: Floats) -> Floats:
        """(n, columns), how much each labelled row pulls at others: `base` (n, columns) is what the
        committee predicts of it, `labels` are classes (n,) or values (n, outputs)."""
        covariance, one = self.covariance(features, features), np.eye(len(features))
        if labels.ndim == 2:
            return np.asarray(np.linalg.solve(covariance + one, labels - base))
        # the mode of the posterior: steps under a quadratic bound of the loss always lower it
        logits, is_class = _logits(base), np.eye(base.shape[1])[labels]
        pulls, damped = np.zeros_like(base), np.linalg.inv(one + covariance / 2)
        for _ in range(50):
            moved = covariance @ pulls
            pulls = damped @ (moved / 2 + is_class - softmax(logits + moved, axis=1))
        return pulls

    def apply(
        self, base: Floats, features: Floats, known: Floats, pulls: Floats, is_class: bool
    ) -> Floats:
        """Corrected predictions of rows, (n, columns), by labelled rows of their domain."""
        parts = np.array_split(features, 1 + len(features) // 2000)  # for memory
        moved = np.concatenate([self.covariance(part, known) @ pulls for part in parts])
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
        folds = np.arange(n_rows) % min(5, n_rows)  # rows are in no order that means anything
        for fold in range(folds.max() + 1):
            one, others = folds == fold, folds != fold
            result[one] = _corrected(
                correction, self.base, self.labels, self.features, np.flatnonzero(others), one
            )
        return result


def _corrected(
    correction: Correction, base: Floats, labels: NDArray, features: Floats, known: Ints, rows: Ints
) -> Floats:
    """Predictions of some rows, corrected by the labels of others."""
    pulls = correction.pulls(base[known], labels[known], features[known])
    given = base[rows], features[rows], features[known], pulls
    return correction.apply(*given, is_class=labels.ndim == 1)


@dataclass(frozen=True, eq=False)
class Evidence(Saved):
    """What the labelled rows of a target say of how well it is predicted, as a `Forecaster` counts
    it, each row judged by the labels of others."""

    name: Hashable
    quality: float  # accuracy, or log of the mean squared error in units of spread
    signal: float  # mean confidence or disagreement of the same rows, beside which it is judged
    variance: float  # of the quality, for so few rows
    features: Floats  # (n, features) of the labelled rows, scaled
    pulls: Floats  # (n, columns) of theirs

    @classmethod
    def of(
        cls, rows: LabelledRows, correction: Correction, unit: Floats | None, tail: float
    ) -> Evidence:
        pulls = correction.pulls(rows.base, rows.labels, rows.features)
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
        return cls(rows.name, quality, signal, float(variance), rows.features, pulls)

    def _check_state(self) -> None:
        if self.features.ndim != 2 or len(self.features) != len(self.pulls):
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
        options = [Correction(one, width) for one in (0.0, *settings.label_strengths)]
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
        return cls(options[chosen], gain, n_domains, rows.unit is None, known)

    @cached_property
    def by_name(self) -> dict[Hashable | None, Evidence]:
        return {one.name: one for one in self.domains}

    def corrected(self, name: Hashable | None, base: Floats, features: Floats) -> Floats:
        """Predictions (n, columns) of rows of a domain, scaled (n, features), as its labels correct
        them; those of a domain without labels as they are."""
        one = self.by_name.get(name)
        if one is None or not self.correction.strength:
            return base
        return self.correction.apply(base, features, one.features, one.pulls, self.is_class)


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
                    predicted = _corrected(option, held_out, rows.labels, features, known, others)
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
