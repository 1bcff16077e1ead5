"""From candidates to a fitted committee: validate along the map, weigh, fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice, starmap
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd

from domindex.arrays import Floats
from domindex.committee.candidates import ENCODED, Candidate, Trial, learn, predict_with
from domindex.committee.committee import (
    Committee,
    Deviations,
    Forecaster,
    LabelShift,
    Member,
    PredictorMember,
    disagreement,
    fit_predictor,
    following_shares,
    helps_on_folds,
    source_shares,
)
from domindex.committee.context import FitContext, Workers
from domindex.committee.experience import Experience
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.folds import Fold, HeldOutRows, RepresentedFolds, plan_folds
from domindex.committee.learners.base import Predictor, Round
from domindex.committee.network import NetworkCandidate, network_start
from domindex.committee.record import Explained, HeldOutRecord
from domindex.committee.separability import Separability, measure_separability
from domindex.committee.target_labels import LabelledRows, TargetLabels, mean_square_distance
from domindex.committee.weighing import (
    KnownOutputs,
    OutputRange,
    Weighing,
    mix_penalties,
    reasons_to_leave_out,
    resolution,
    weigh,
)
from domindex.errors import InputError, PredictorError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.neighbors import PointDistances
from domindex.inputs import DomainData
from domindex.representations import PlacedRows, representation_named
from domindex.representations.base import Raw
from domindex.representations.flow import GridFlowAligned


@dataclass(frozen=True, eq=False)
class BuiltCommittee:
    """A committee with what it was chosen on."""

    committee: Committee  # the fitted members
    table: pd.DataFrame  # a row a candidate, the heaviest first
    forecaster: Forecaster  # what to expect of it in any domain
    held_out: HeldOutRecord  # how well it predicted held-out sources
    explained: Explained | None  # what importance is measured on; None with a network alone


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a function returns, and the seconds that it took."""
    start = time.monotonic()
    result = function(*arguments)
    return result, time.monotonic() - start


@dataclass(eq=False)
class CommitteeBuilder:
    """Validates candidates on held-out sources, weighs them, and fits those that count."""

    candidates: Sequence[Candidate]
    data: DomainData
    geometry: DomainGeometry
    indices: FittedIndices
    context: FitContext
    workers: Workers
    requested: bool = False  # by the user: then none is passed over for time, and none is added
    quick: bool = False  # leave out what takes long: kernels, boosting, a second round
    columns: Sequence[Hashable] = ()  # names of the inputs' columns, where they are a table
    numbers: dict[Candidate, int] = field(default_factory=dict, init=False)  # see `_stage`
    fitted: dict[Candidate, PredictorMember] = field(default_factory=dict, init=False)
    network: NetworkCandidate | None = field(default=None, init=False)

    min_seconds: ClassVar[float] = 0.5  # what took less is quicker made again than read

    def __post_init__(self) -> None:
        self.seed, self.cache = self.context.seed, self.context.stages
        with self.context.timings.stage("representing"):
            self._represent()

    def _represent(self) -> None:
        """All rows in every representation, the folds, and how separable targets are."""
        data, geometry, choices = self.data, self.geometry, self.context.choices
        map_rows = geometry.map_rows
        is_cut = any(len(rows) < size for rows, size in zip(map_rows, data.domain_sizes))
        distances = PointDistances(geometry.domain_map.coordinates)
        target_rows = list(map_rows) if is_cut else None
        folds = plan_folds(data, distances, target_rows, choices, self.seed)
        self.rows = HeldOutRows.of(folds, data, choices.smoothing)
        names = dict.fromkeys(one.representation for one in self.candidates)
        self.represented = {name: self._represented(name, is_cut) for name in names}
        self.output_range, self.known_outputs = None, None
        if data.classes is None:
            sources = np.unique(data.row_domains[data.row_counts])
            targets = np.setdiff1d(np.arange(data.n_domains), sources)
            gaps = distances.to_nearest(targets, sources) if len(targets) else np.zeros(1)
            self.output_range = OutputRange.of(data, self.rows.folds, float(gaps.max()))
            self.known_outputs = KnownOutputs.of(data, self.rows.folds)
        self.separability = self._measure_separability()

    def _represented(self, name: str, is_cut: bool) -> RepresentedFolds:
        """All rows in a representation, which is stored where it took long."""
        kind, stage = representation_named(name), f"representation {name}"
        data, geometry, state = self.data, self.geometry, self.cache.load(stage)
        if state is not None:
            representation = kind.from_state(state)
            rows = representation.apply(PlacedRows.of_map(data, geometry.domain_map))
            return RepresentedFolds(data, geometry, representation, rows, is_cut)
        made, seconds = timed(RepresentedFolds.fit, kind, data, geometry, is_cut)
        if seconds >= self.min_seconds and kind.__module__.startswith("domindex."):
            self.cache.store(stage, made.representation.state())
        return cast("RepresentedFolds", made)

    def _stage(self, what: str, candidate: Candidate) -> str:
        """Its name in the cache; candidates of the same name come in the same order again."""
        if candidate not in self.numbers:
            self.numbers[candidate] = sum(one.name == candidate.name for one in self.numbers)
        return f"{what} {candidate.name} {self.numbers[candidate]}"

    def validate_first_round(self) -> list[Trial]:
        """Trials of all candidates that need no network: what is quick on every representation,
        what is slow on those that promise something."""
        left = [one for one in self.candidates if not one.needs_network]
        with self.context.timings.stage("validating"):
            if self.requested:
                return self._validate(left)
            effort = "quick" if self.quick else "full"
            rounds = {c: c.learner.rounds.get(effort) for c in left if c.learner is not None}
            trials: list[Trial] = []
            for turn in sorted({turn for turn in rounds.values() if turn is not None}):
                now = [one for one in left if rounds[one] == turn]
                names = self._promising(trials, turn, {one.representation for one in now})
                trials += self._validate([one for one in now if one.representation in names])
            if self.quick and trials:
                return trials
            return [*trials, *self._validate([one for one in left if rounds[one] is None])]

    def weigh(self, trials: Sequence[Trial]) -> Weighing | None:
        """Weights by held-out losses and penalties; None where there is no trial."""
        if not trials:
            return None
        with self.context.timings.stage("weighing"):
            given = self.separability, self._out_of_range(trials), self.context.choices
            return weigh(trials, self.rows, *given, self.seed)

    def validate_second_round(self, weighing: Weighing | None) -> list[Trial]:
        """Trials of what takes longer, where the first round says that it may pay."""
        in_haste = self.quick and not self.requested
        if weighing is not None and (in_haste or self._nothing_to_gain(weighing)):
            return []
        with self.context.timings.stage("validating"):
            wanted = [one for one in self.candidates if one.needs_network]
            more = []
            if wanted and (weighing is None or self._may_pay(weighing, wanted[0])):
                more = self._validate_with_network(wanted, alone=weighing is None)
            if weighing is None:
                return more
            return more + self._validate(self._to_self_train(weighing))

    def fit_members(self, weighing: Weighing | None) -> BuiltCommittee:
        """Fit those with weight on all sources, and what to expect of them."""
        assert weighing is not None
        order = np.argsort(-weighing.weights, kind="stable")
        kept = [number for number in order if weighing.weights[number] > 0]
        trials, weights = [weighing.trials[n] for n in kept], weighing.weights[kept]
        with self.context.timings.stage("fitting"):
            self._fit([trial.candidate for trial in trials], in_threads=True)
            shown = self.context.progress.each("fitting", trials, keep=True)
            members = tuple(self._member(trial.candidate) for trial in shown)
            predicted = np.stack([trial.predicted for trial in trials])
            temperatures = np.array([trial.temperature for trial in trials])
            committee = Committee(members, weights, temperatures, self.context.choices.smoothing)
            deviation, output_range = None, self._output_ranges(trials)
            if output_range is None:
                held_out = np.einsum("m,mnc->nc", weights, predicted)
                committee = replace(committee, label_shift=self._label_shift(committee, held_out))
            else:
                predicted = output_range.clip(predicted)
                held_out = np.einsum("m,mnc->nc", weights, predicted)
                spreads = np.stack([self._spread(trial) for trial in trials])
                spread = np.einsum("m,mno->no", weights, spreads)
                coverage = self.context.choices.coverage
                deviations = Deviations.measure(predicted, weights, spread, self.rows, coverage)
                deviation = deviations.apply(predicted, weights, spread, held_out)
                committee = replace(committee, output_range=output_range, deviations=deviations)
            labels = self._target_labels(committee, held_out)
            apart = disagreement(predicted, weights, held_out, self.rows.unit)
            plain = [trial for trial in trials if not trial.candidate.needs_network]
            explained = None
            if plain:
                represented = self.represented[plain[0].candidate.representation]
                explained = Explained(plain[0], represented, self.rows)
            experience = self._experience(trials, weights)
            return BuiltCommittee(
                replace(committee, target_labels=labels),
                weighing.table,
                Forecaster.fit(held_out, apart, self.rows, experience),
                HeldOutRecord.of(held_out, deviation, weighing.trials, self.rows),
                explained,
            )

    def _experience(self, trials: Sequence[Trial], weights: Floats) -> Experience:
        """What the folds have seen; by column where most of the weight is on rows as they stand."""
        names = [trial.candidate.representation for trial in trials]
        stays = [not representation_named(name).moves_domains for name in names]
        columns = self.columns if weights[np.array(stays)].sum() > 0.5 else ()
        name = representation_named(names[0]).separability_of or names[0]
        heaviest = None if trials[0].candidate.needs_network else self.represented.get(name)
        return Experience.of(self.data, self.rows.folds, heaviest, columns, self.seed)

    def _promising(self, trials: list[Trial], turn: Round, asked: set[str]) -> set[str]:
        """Of the representations that are asked for, those with the least losses so far."""
        if not trials or (turn.representations is None and not turn.only_best):
            return asked
        reasons = reasons_to_leave_out(trials, self.rows, self.separability, self.context.choices)
        trusted = [trial for trial, reason in zip(trials, reasons) if not reason]
        ordered = sorted(trusted, key=lambda trial: trial.loss(self.rows))
        names = list(dict.fromkeys(trial.candidate.representation for trial in ordered))
        if not turn.only_best:
            return {Raw.name, *names[: turn.representations]}
        return set([name for name in names if name in asked][:1]) or asked

    def _measure_separability(self) -> dict[str, Separability]:
        """Of every representation, where there are targets and a choice between them."""
        if len(self.represented) < 2 or self.data.is_source.all():
            return {}
        max_folds, found = self.context.choices.separability_folds, {}
        for name in self.represented:
            if representation_named(name).separability_of is None:
                found[name] = self.cache.load(f"separability {name}")
        left = [name for name in found if found[name] is None]
        jobs = [(self.represented[name], self.rows.folds, max_folds, self.seed) for name in left]
        for name, one in zip(left, self.workers.run(measure_separability, jobs, in_threads=True)):
            found[name] = one
            self.cache.store(f"separability {name}", one)
        return found

    def _validate(self, candidates: list[Candidate]) -> list[Trial]:
        """Trials, those that differ in their penalty alone mixed; what fails is left out with a
        warning, and where all fail, the last failure is raised."""
        if not candidates:
            return []
        predicted = {one: self.cache.load(self._stage("held out", one)) for one in candidates}
        left = sorted((c for c in candidates if predicted[c] is None), key=lambda c: c.in_threads)
        attempts = attempt(left, self.represented, self.rows.folds, self.workers, self.seed)
        shown = self.context.progress.each("validating", attempts, total=len(left))
        for one, result in zip(left, shown):
            predicted[one] = result
            if not isinstance(result, PredictorError):
                self.cache.store(self._stage("held out", one), result)
        named: dict[str, list[tuple[Trial, Floats]]] = {}
        failures: dict[str, PredictorError] = {}
        for one, result in predicted.items():
            if isinstance(result, PredictorError):
                failures[one.name] = result
            else:
                tried = Trial.of(one, result, self.rows), result
                named.setdefault(one.name, []).append(tried)
        if not named:
            raise list(failures.values())[-1]
        for name, failure in failures.items():
            warnings.warn(f"{name} is left out: {failure}", stacklevel=2)
        draws = self.context.choices.bootstrap
        return [mix_penalties(tried, self.rows, draws, self.seed) for tried in named.values()]

    def _to_self_train(self, weighing: Weighing) -> list[Candidate]:
        """The heaviest candidates, to be tried with their own labels of the targets too."""
        data, choices = self.data, self.context.choices
        many = len(self.candidates) > 1 and data.is_source.sum() > 1 and not data.is_source.all()
        if data.classes is None or self.requested or not many:
            return []
        order = np.argsort(-weighing.weights, kind="stable")[: choices.self_trained]
        if data.layout.is_grid:  # takes long there: not what weighs nothing
            order = order[weighing.weights[order] > 0]
        heavy = [weighing.trials[number].candidate for number in order]
        return [
            replace(one, self_trained=True)
            for one in heavy
            if not one.balanced
            and (one.learner is None or one.learner.may_self_train)
            and not representation_named(one.representation).uses_roles
        ]

    def _validate_with_network(self, wanted: list[Candidate], alone: bool) -> list[Trial]:
        """The network, and what is fitted on its encoding; `alone` where nothing else was tried."""
        represented = self.represented[wanted[0].representation]
        start = network_start(represented, self.indices.module.local_dim, self.context)
        self.network = NetworkCandidate(start, represented, self.indices, self.context)
        predicted, self.represented[ENCODED] = self.network.hold_out(self.rows)
        itself = [one for one in wanted if one.learner is None]
        trials = [Trial.of(one, predicted, self.rows) for one in itself]
        try:
            return trials + self._validate([one for one in wanted if one.encoded])
        except PredictorError as error:
            if alone and not trials:
                raise
            warnings.warn(f"What is on {ENCODED} is left out: {error}", stacklevel=2)
            return trials

    def _may_pay(self, weighing: Weighing, network: Candidate) -> bool:
        """Where it was asked for, or what it starts from counts; one source cannot validate it."""
        if self.rows.by_rows or self.requested or self.context.backbone is not None:
            return not self.rows.by_rows
        on = [one.candidate.representation == network.representation for one in weighing.trials]
        return weighing.weights[np.array(on)].sum() >= self.context.choices.network_weight

    def _nothing_to_gain(self, weighing: Weighing) -> bool:
        """Whether hardly a held-out row is left that anything could predict better."""
        if self.data.classes is None or self.requested:
            return False
        best = min(trial.loss(self.rows) for trial in weighing.trials)
        return best < self.context.choices.max_mistakes * resolution(self.rows, best)

    def _output_ranges(self, trials: Sequence[Trial]) -> OutputRange | None:
        """How far each is believed, (trials, outputs); None for classes."""
        least, known = self.output_range, self.known_outputs
        if least is None or known is None:
            return None
        return OutputRange.joined(
            [least.widened(one.predicted, self.rows, known) for one in trials]
        )

    def _out_of_range(self, trials: Sequence[Trial]) -> Floats:
        """(trials,) how far targets are predicted out of range, on top of what the folds saw."""
        unit = self.rows.unit
        if unit is None or self.data.is_source.all():
            return np.zeros(len(trials))
        rng = np.random.default_rng(self.seed)
        targets = rng.permutation(np.flatnonzero(~self.data.row_is_source))
        targets = targets[: self.context.choices.max_target_rows]
        result = np.zeros(len(trials))
        self._fit([trial.candidate for trial in trials], in_threads=True)
        for number, trial in enumerate(trials):
            if trial.candidate.needs_network:
                continue
            part = self.represented[trial.candidate.representation].rows.part(targets)
            self._fit([trial.candidate])
            predictor = self.fitted[trial.candidate].predictor
            values = part.restore(predict_with(predictor, part))
            output_range = self._output_ranges([trial])
            assert output_range is not None
            seen = self.rows.row_weights @ output_range.outside(trial.predicted, unit)
            result[number] = max(0.0, float(output_range.outside(values, unit).mean() - seen))
        return result

    def _spread(self, trial: Trial) -> Floats:
        """(n, 1) of the held-out rows, in which the trial's representation measures outputs."""
        represented = self.represented[trial.candidate.features]
        spreads = [represented.of(fold)[1].spread for fold in self.rows.folds]
        return np.concatenate(spreads) / represented.representation.spread_unit

    def _label_shift(self, committee: Committee, held_out: Floats) -> LabelShift | None:
        """The shares of classes in every target, where following them helps in the folds."""
        if self.rows.by_rows or not helps_on_folds(held_out, self.rows):
            return None
        placed = PlacedRows.of_map(self.data, self.geometry.domain_map)
        targets = placed.only(set(self.data.target_domains))
        if not targets.domains:
            return LabelShift(source_shares(self.rows), {})
        probabilities = committee.predict(targets, self.indices).mean
        return LabelShift(source_shares(self.rows), {}).with_domains(probabilities, targets)

    def _target_labels(self, committee: Committee, held_out: Floats) -> TargetLabels | None:
        """What some labels of targets correct; None without any."""
        data, choices, labels = self.data, self.context.choices, self.data.target_labels
        if labels is None:
            return None
        known = labels >= 0 if data.classes is not None else ~np.isnan(labels).any(axis=1)
        there = np.unique(data.row_domains[known])
        placed = PlacedRows.of_map(data, self.geometry.domain_map)
        placed = placed.only({data.domains[number] for number in there})
        said, groups = committee.predict(placed, self.indices), data.rows_by_domain()
        scaled, labelled = self.indices.scaler.apply_flat(data.inputs), []
        assert said.disagreement is not None
        for number, one in zip(there, placed.domains):  # both in the order of the domains
            some = np.flatnonzero(known[groups[number]])[: choices.max_labels]
            rows, here = groups[number][some], one.rows[some]
            known_rows = one.name, scaled[rows], labels[rows]
            labelled.append(LabelledRows(*known_rows, said.mean[here], said.disagreement[here]))
        width = mean_square_distance(scaled[rows] for rows in groups)
        if committee.label_shift is not None:
            held_out = following_shares(held_out, self.rows)
        features = scaled[np.concatenate([fold.held_out for fold in self.rows.folds])]
        given = labelled, held_out, features, self.rows, width
        return TargetLabels.fit(*given, choices, self.seed)

    def _member(self, candidate: Candidate) -> Member:
        if candidate.needs_network:
            assert self.network is not None
            return self.network.member(candidate, self.seed)
        self._fit([candidate])
        return self.fitted[candidate]

    def _fit(self, candidates: Sequence[Candidate], *, in_threads: bool = False) -> None:
        """Those that are not fitted yet, neither here nor before a fit was cut off; `in_threads`
        those that may be, in parallel."""
        if in_threads:
            able = self.workers.has_threads
            candidates = [c for c in candidates if able and c.in_threads and not c.needs_network]
        left = []
        for one in candidates:
            if one in self.fitted:
                continue
            represented = self.represented[one.representation]
            state = self.cache.load(self._stage("predictor", one))
            if state is None:
                left.append((fit_predictor, one, represented, self.seed))
            else:
                is_class, predictor = self.data.classes is not None, Predictor.from_entry(state)
                member = PredictorMember(represented.representation, predictor, is_class)
                self.fitted[one] = member
        run = partial(self.workers.run, in_threads=True) if in_threads else starmap
        for (_, one, *_), (member, seconds) in zip(left, run(timed, left)):
            self.fitted[one] = member
            is_long = self.cache.folder is not None and seconds >= self.min_seconds
            if is_long and member.predictor.kind:
                with suppress(InputError):  # an estimator of the user's that skops does not know
                    self.cache.store(self._stage("predictor", one), member.predictor.entry())


def attempt(
    candidates: Sequence[Candidate],
    represented: Mapping[str, RepresentedFolds],
    folds: tuple[Fold, ...],
    workers: Workers,
    seed: int,
) -> Iterator[Floats | PredictorError]:
    """What each candidate predicts of held-out rows (n, columns), or why it failed, in their order.

    Threads are given a fold at a time, to stay busy to the end; processes all folds of a candidate,
    for its rows go with it.
    """
    for in_threads, group in groupby(candidates, key=lambda one: one.in_threads):
        named = list(group)
        parts = [(fold,) for fold in folds] if in_threads and workers.has_threads else [folds]
        jobs = [(one, represented[one.features], part, seed) for one in named for part in parts]
        results = workers.run(predict_folds, jobs, in_threads=in_threads)
        for _ in named:
            found = list(islice(results, len(parts)))
            failed = [one for one in found if isinstance(one, PredictorError)]
            yield failed[0] if failed else np.concatenate(cast("list[Floats]", found))


def predict_folds(
    candidate: Candidate, represented: RepresentedFolds, folds: Sequence[Fold], seed: int
) -> Floats | PredictorError:
    """(n, columns) for the rows that these folds hold out, or why the predictor failed."""
    predicted = []
    try:
        for fold in folds:
            _, held_out = represented.of(fold)
            values = predict_with(learn(candidate, represented, fold, seed), held_out)
            is_class = represented.data.classes is not None
            predicted.append(values if is_class else held_out.restore(values))
    except PredictorError as error:
        return error
    return np.concatenate(predicted)


def chosen_flow(
    built: BuiltCommittee, geometry: DomainGeometry
) -> tuple[str, dict[str, Any] | None]:
    """The representation of the heaviest member, and the flow's facts where a member follows it."""
    used = built.table.loc[built.table["weight"] > 0, "representation"].tolist()
    network = built.committee.network
    name = built.committee.members[0].representation.name
    facts = None
    if "flow" in used or (network is not None and network.follows_flow):
        selected = geometry.selected
        followed = selected.around or selected
        facts = {
            "family": followed.flow.family,
            "n_components": followed.flow.n_components,
            "neighbors": list(selected.domain_map.neighbors),
            "around": selected.around is not None,
            "misfit": float(followed.misfit),
            "straightened": network is not None and network.is_straightened,
        }
    return used[0] if used[0] in ("flow", ENCODED) else name, facts


def grid_flow_facts(committee: Committee) -> dict[str, Any] | None:
    """How pictures or signals move along the map, where a member follows it."""
    for member in committee.members:
        if isinstance(member.representation, GridFlowAligned):
            flow, ring = member.representation.flow, member.representation.ring
            return {
                "family": flow.family,
                "trend": flow.trend.kind,
                "is_lit": flow.is_lit,
                "around": ring is not None,
            }
    return None
