"""The committee's first round, run once, and weighed again under other settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.committee.candidates import Trial
from domindex.committee.folds import HeldOutRows, temper
from domindex.committee.members import Member
from domindex.committee.separability import Separability
from domindex.committee.settings import ChoiceSettings
from domindex.committee.weighing import Reach, weigh
from domindex.datasets import DomainDataset
from domindex.estimators import VDIClassifier, VDIRegressor
from domindex.estimators.frames import FitArguments
from domindex.estimators.vdi import BaseVDI
from domindex.vdi.settings import Training
from domindex_bench.figures import Outcome, domain_figures

PLAIN = ("linear on raw", "boosting on raw")
"""Candidates of whom the better one on targets, in hindsight, is what gains are counted from."""


@dataclass(frozen=True, eq=False)
class FirstRound:
    """What is known before anything is weighed: enough to weigh it again under other settings.

    Attributes
    ----------
    trials : what every candidate but the network predicted in the folds
    rows : the held-out rows
    shapes : of every representation, where there is a choice between them
    beyond : (trials,) how far targets are predicted out of reach
    members : the trials' candidates, fitted on all sources
    reach : beyond which none of the trials is believed, (trials, outputs); None for classes
    """

    trials: list[Trial]
    rows: HeldOutRows
    shapes: dict[str, Separability]
    beyond: Floats
    members: list[Member]
    reach: Reach | None


@dataclass(frozen=True, eq=False)
class Replay:
    """Enough of a first round to weigh it under any settings, and to score what follows.

    Attributes
    ----------
    dataset : all rows, with all labels: those of targets score, and do nothing else
    classes : in the order of the predictions' columns; None for values
    trials, rows, shapes, beyond : what `weigh` is given
    plain : (trials, targets, columns) what every candidate predicts for the target rows
    predicted : the same as a committee takes it, calibrated, or cut to the reach
    seed : of the draws
    """

    dataset: DomainDataset
    classes: NDArray | None
    trials: list[Trial]
    rows: HeldOutRows
    shapes: dict[str, Separability]
    beyond: Floats
    plain: Floats
    predicted: Floats
    seed: int

    @classmethod
    def record(
        cls,
        dataset: DomainDataset,
        seed: int = 0,
        *,
        candidates: Sequence[tuple[str, Any]] | None = None,
        training: Training | None = None,
    ) -> Replay:
        """Run the first round of the default model, or with some candidates only."""
        kind = _Classifier if dataset.task == "classification" else _Regressor
        model = kind(candidates=candidates, training=training, n_jobs=1, random_state=seed)
        model.fit(
            dataset.X,
            dataset.y,
            sample_domain=dataset.sample_domain,
            source_domains=dataset.source_domains,
        )
        first = model.first_round
        targets = ~dataset.is_source
        plain = model.predict_members(dataset.X[targets], dataset.sample_domain[targets])
        return cls(
            dataset,
            getattr(model, "classes_", None),
            first.trials,
            first.rows,
            first.shapes,
            first.beyond,
            plain,
            _calibrated(plain, first),
            model._seed(),
        )

    def weights(self, settings: ChoiceSettings) -> Floats:
        """(trials,) under these settings."""
        found = weigh(self.trials, self.rows, self.shapes, self.beyond, settings, self.seed)
        return found.weights

    def score(self, settings: ChoiceSettings) -> float:
        """Of the committee under these settings, on targets: accuracy in %, or relative error."""
        return self._figure(np.einsum("m,mnc->nc", self.weights(settings), self.predicted))

    def plain_scores(self) -> dict[str, float]:
        """Of plain candidates alone, those that were tried, by name."""
        names = [trial.candidate.name for trial in self.trials]
        return {n: self._figure(self.plain[names.index(n)]) for n in PLAIN if n in names}

    def without_idle(self, settings: ChoiceSettings) -> ChoiceSettings:
        """The same, with a price at 0 that nobody pays here: equal settings weigh alike."""
        return settings if self.beyond.any() else replace(settings, reach_price=0.0)

    def _figure(self, predicted: Floats) -> float:
        """Mean over target domains, see `domain_figures`."""
        targets = ~self.dataset.is_source
        if self.classes is not None:
            labels = self.classes[predicted.argmax(axis=1)]
        else:
            labels = predicted.reshape(self.dataset.y[targets].shape)
        (figure,) = domain_figures(Outcome(self.dataset, None, targets, labels)).values()
        return float(figure)


def _calibrated(plain: Floats, first: FirstRound) -> Floats:
    """As the members' predictions are before a committee mixes them."""
    if first.reach is not None:
        return first.reach.clip(plain)
    smoothing = first.rows.smoothing
    temperatures = [trial.temperature for trial in first.trials]
    return np.stack([temper(p, t, smoothing) for p, t in zip(plain, temperatures)])


class _FirstRoundOnly(BaseVDI):
    """The model, stopped before anything is weighed: every candidate is tried, and fitted."""

    first_round: FirstRound

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Any = None,
        sample_weight: Any = None,
        checkpoint: Any = None,
    ) -> Any:
        data = self._check_arguments(FitArguments(X, y, sample_domain, source_domains, None))
        with self._fit_context(data) as context:
            self._indices, geometry = self._map_domains(data, context)
            candidates = self._list_candidates(data, geometry, context)
            builder = self._committee_builder(candidates, data, geometry, self._indices, context)
            trials = builder._validate([one for one in candidates if not one.needs_network])
            self.first_round = FirstRound(
                trials,
                builder.rows,
                builder.shapes,
                builder._beyond(trials),
                [builder._member(trial.candidate) for trial in trials],
                builder._reach_of(trials),
            )
        self._set_data_attributes(data)
        return self

    def predict_members(self, X: NDArray, sample_domain: NDArray) -> Floats:
        """(trials, rows, columns) what every candidate says of these rows."""
        placed = self._indices.placed(*self._check_query(X, sample_domain))
        return np.stack([m.predict(placed, self._indices) for m in self.first_round.members])


class _Classifier(_FirstRoundOnly, VDIClassifier):
    pass


class _Regressor(_FirstRoundOnly, VDIRegressor):
    pass
