"""The fitted committee: its members, their weights, how far to believe the weighted mean, and what
to expect of it in a domain without labels."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import torch
from scipy.stats import norm
from scipy.stats import t as student

from domindex.arrays import Floats
from domindex.committee.alignments import FlowAlignment
from domindex.committee.candidates import Candidate, learn, predict_with
from domindex.committee.encoding import EncodingModule
from domindex.committee.experience import Experience
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.folds import Fold, HeldOutRows, RepresentedFolds, temper
from domindex.committee.learners.base import Predictor
from domindex.committee.target_labels import Evidence, TargetLabels
from domindex.committee.weighing import OutputRange
from domindex.geometry.rings import RingCoordinate
from domindex.inputs.standardizing import OutputScaler
from domindex.persistence.saved import Saved, require_distinct
from domindex.representations import PlacedRows, Representation, RepresentedRows

if TYPE_CHECKING:
    from typing_extensions import Self


class Member(Saved, ABC):
    """A fitted representation and predictor."""

    kind: ClassVar[str]
    representation: Representation

    @abstractmethod
    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        """Probabilities (rows, classes) or values (rows, outputs); deterministic."""

    @abstractmethod
    def represent(self, rows: PlacedRows, indices: FittedIndices) -> RepresentedRows:
        """Rows with what predictions are made from as their features, (rows, size)."""

    def spread(self, rows: PlacedRows) -> Floats:
        """(rows, 1) in which the representation measures outputs, relative to all inputs."""
        return self.representation.apply(rows).spread / self.representation.spread_unit

    def entry(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.state()}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Member:
        kinds = {kind.kind: kind for kind in (NetworkMember, PredictorMember, EncodedMember)}
        kind = kinds[entry["kind"]]
        if not issubclass(kind, cls):
            raise ValueError(f"a {kind.__name__} is no {cls.__name__}")
        return kind.from_state({key: part for key, part in entry.items() if key != "kind"})

    def with_domains(self, rows: PlacedRows) -> Self:
        """Itself, its representation knowing the new domains of these rows."""
        return replace(self, representation=self.representation.with_domains(rows))  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class NetworkMember(Member):
    """The variational network."""

    kind: ClassVar[str] = "network"
    representation: Representation  # how rows are represented for the encoder
    module: EncodingModule  # the averaged networks, on the CPU, in double precision
    outputs: OutputScaler | None = None  # values from the network's scale; None for classes

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        represented = self.represent(rows, indices)
        with torch.no_grad():
            said = self.module.predict(torch.from_numpy(represented.features)[None])
        if self.outputs is not None:
            return represented.restore(self.outputs.restore(said.mean[0].numpy()))
        probabilities: Floats = said.probs[0].numpy()  # type: ignore[attr-defined]
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def represent(self, rows: PlacedRows, indices: FittedIndices) -> RepresentedRows:
        represented = self.representation.apply(rows)
        x = torch.tensor(represented.features, dtype=torch.float64)
        z = np.empty((len(x), self.module.alignment.latent_dim))
        with torch.no_grad():
            for _, members, place in rows.domains:
                means = indices.means(rows.inputs[members], place)
                z[members] = self.module.infer(x[members][None], means, sample=False).z[0].numpy()
        return replace(represented, features=z)

    @property
    def follows_flow(self) -> bool:
        return isinstance(self.module.alignment, FlowAlignment)

    @property
    def is_straightened(self) -> bool:
        """Whether inputs were bent, and a warp shared by all domains straightens them."""
        alignment = self.module.alignment
        return isinstance(alignment, FlowAlignment) and alignment.is_straightened


class _WithPredictor(Member):
    predictor: Predictor
    is_class: bool

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        represented = self.represent(rows, indices)
        predicted = predict_with(self.predictor, represented)
        return predicted if self.is_class else represented.restore(predicted)


@dataclass(frozen=True, eq=False)
class PredictorMember(_WithPredictor):
    """A predictor on the rows of a representation."""

    kind: ClassVar[str] = "predictor"
    representation: Representation  # how rows are represented for it
    predictor: Predictor  # what was learned from the sources
    is_class: bool  # whether it gives probabilities, which have no units to restore

    def represent(self, rows: PlacedRows, indices: FittedIndices) -> RepresentedRows:
        return self.representation.apply(rows)


@dataclass(frozen=True, eq=False)
class EncodedMember(_WithPredictor):
    """A predictor on what the network encodes."""

    kind: ClassVar[str] = "encoded"
    network: NetworkMember
    predictor: Predictor
    is_class: bool

    @property
    def representation(self) -> Representation:  # type: ignore[override]
        """What the network is given."""
        return self.network.representation

    def represent(self, rows: PlacedRows, indices: FittedIndices) -> RepresentedRows:
        return self.network.represent(rows, indices)

    def with_domains(self, rows: PlacedRows) -> Self:
        return replace(self, network=self.network.with_domains(rows))


def fit_predictor(
    candidate: Candidate, represented: RepresentedFolds, seed: int, max_rows: int = 20_000
) -> PredictorMember:
    """A candidate's learner on all source rows, balanced by target rows: so many at most."""
    data, rng = represented.data, np.random.default_rng(seed)
    sources, targets = (
        np.sort(rng.permutation(np.flatnonzero(mask))[:max_rows])
        for mask in (data.row_counts, ~data.row_is_source)
    )
    every = Fold("rows", sources, targets, np.empty(0, dtype=np.int64), np.zeros(0))
    predictor = learn(candidate, represented, every, seed)
    return PredictorMember(represented.representation, predictor, data.classes is not None)


def conformal_factors(
    residuals: Floats, deviations: Floats, weights: Floats, coverage: float = 0.9
) -> Floats:
    """Factors (outputs,) for the deviations of held-out residuals (rows, outputs): the least by
    which intervals hold the share `coverage` of them, and, where tails are heavy, no deviation is
    below the root mean square of the errors."""
    ratios = np.abs(residuals) / deviations
    order = np.argsort(ratios, axis=0)
    shares = np.cumsum(weights[order], axis=0) / weights.sum()
    first = np.minimum((shares < coverage).sum(axis=0), len(ratios) - 1)
    outputs = np.arange(ratios.shape[1])
    by_share = ratios[order[first, outputs], outputs] / norm.ppf(0.5 + coverage / 2)
    by_square = np.sqrt(weights @ ratios**2 / weights.sum())
    return np.maximum(by_share, by_square)


@dataclass(frozen=True, eq=False)
class LabelShift:
    """p'(c | x) ∝ p(c | x) · share of the domain / share of the sources, the shares estimated by
    expectation and maximisation. Right where domains differ in shares of classes alone; used where
    held-out domains say that it helps."""

    sources: Floats  # (classes,) shares of the sources
    domains: Mapping[Hashable, Floats]  # of each target; a new domain has those of its rows

    def apply(self, probabilities: Floats, rows: PlacedRows) -> Floats:
        result = np.array(probabilities)
        for name, members, _ in rows.domains:
            part = probabilities[members]
            shares = self.domains.get(name) if name is not None else None
            if shares is None:
                shares = estimate_shares(part, self.sources)
            result[members] = reweighted(part, shares / self.sources)
        return result

    def with_domains(self, probabilities: Floats, rows: PlacedRows) -> LabelShift:
        """With the shares of new domains, whose rows have these probabilities (rows, classes)."""
        grown = dict(self.domains)
        for name, members, _ in rows.domains:
            grown[name] = estimate_shares(probabilities[members], self.sources)
        return LabelShift(self.sources, grown)

    def state(self) -> dict[str, Any]:
        shares = np.array(list(self.domains.values())).reshape(-1, len(self.sources))
        return {"sources": self.sources, "names": tuple(self.domains), "shares": shares}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LabelShift:
        names, shares = require_distinct(state["names"]), state["shares"]
        if shares.shape != (len(names), len(state["sources"])):
            raise ValueError("the shares of classes do not fit the domains")
        if not (shares > 0).all() or not (state["sources"] > 0).all():
            raise ValueError("the shares of classes are no shares")
        return cls(state["sources"], dict(zip(names, shares)))


def estimate_shares(probabilities: Floats, sources: Floats, prior_rows: float = 20.0) -> Floats:
    """(classes,) shares of a domain by its rows' probabilities under the sources' shares, which
    count for `prior_rows`, so that few rows move little; not tuned."""
    shares = sources
    for _ in range(50):
        expected = reweighted(probabilities, shares / sources).sum(axis=0)
        shares = (expected + prior_rows * sources) / (len(probabilities) + prior_rows)
    return shares


def reweighted(probabilities: Floats, factors: Floats) -> Floats:
    """Probabilities (n, classes) times factors (classes,), summing to 1 again."""
    result = probabilities * factors
    return result / result.sum(axis=1, keepdims=True)


def source_shares(rows: HeldOutRows) -> Floats:
    """(classes,) of the sources, domains alike; every class has some."""
    counted = np.bincount(rows.labels, rows.row_weights, minlength=rows.n_classes or 0)
    shares = np.asarray(counted + 1.0 / len(rows.labels), dtype=np.float64)
    return shares / shares.sum()


def helps_on_folds(held_out: Floats, rows: HeldOutRows) -> bool:
    """Whether following held-out domains' shares lowers their loss by two standard errors."""
    followed = following_shares(held_out, rows)
    gains = rows.by_domain(rows.by_part(rows.losses(held_out) - rows.losses(followed)))
    root = np.sqrt(len(gains))
    return len(gains) > 1 and bool(gains.mean() > 2.0 * gains.std(ddof=1) / root)


def following_shares(held_out: Floats, rows: HeldOutRows) -> Floats:
    """Probabilities (n, classes) by the shares of classes in every held-out domain."""
    sources, followed = source_shares(rows), np.empty_like(held_out)
    for part in range(len(rows.part_domains)):
        members = rows.parts == part
        shares = estimate_shares(held_out[members], sources)
        followed[members] = reweighted(held_out[members], shares / sources)
    return followed


@dataclass(frozen=True, eq=False)
class Prediction:
    """Of a committee."""

    mean: Floats  # probabilities (rows, classes), or values (rows, outputs)
    deviation: Floats | None = None  # of values, (rows, outputs)
    disagreement: Floats | None = None  # (rows,) variance of members, in squared units of spread


@dataclass(frozen=True, eq=False)
class Deviations(Saved):
    """How far values are off: further where members disagree."""

    unit: Floats  # (outputs,) spread of the sources' values
    typical: Floats  # (outputs,) root mean squared error of held-out rows of spread 1
    factors: Floats  # (outputs,) so that intervals hold what they say there
    least: float  # no deviation is smaller, so that no interval is a point

    @classmethod
    def measure(
        cls, members: Floats, weights: Floats, spread: Floats, rows: HeldOutRows, coverage: float
    ) -> Deviations:
        """From members' predictions (members, n, outputs) of held-out rows, whose errors grow with
        their spread (n, 1) in the members' representations."""
        mean = np.einsum("m,mno->no", weights, members)
        residuals = rows.labels - mean
        least = 1e-12 * max(float(np.abs(rows.labels).max()), 1e-300)
        typical = np.sqrt(rows.row_weights @ (residuals / spread) ** 2)
        assert rows.unit is not None
        found = cls(rows.unit, typical, np.ones(len(typical)), least)
        raw = found.apply(members, weights, spread, mean)
        factors = conformal_factors(residuals, raw, rows.row_weights, coverage)
        return replace(found, factors=factors)

    def apply(self, members: Floats, weights: Floats, spread: Floats, mean: Floats) -> Floats:
        raw = np.sqrt((self.typical * spread) ** 2 + _variance(members, weights, mean))
        return np.maximum(raw * self.factors, self.least)


@dataclass(frozen=True, eq=False)
class Committee(Saved):
    """The weighted mean of its members' calibrated predictions."""

    members: tuple[Member, ...]  # the heaviest first
    weights: Floats  # (members,) summing to 1
    temperatures: Floats  # (members,) by which their probabilities are softened; 1 for values
    smoothing: float  # share of probabilities that is spread over all classes
    # of each member; None for classes
    output_range: OutputRange | None = field(default=None, metadata={"key": "reach"})
    deviations: Deviations | None = None  # of values; None for classes
    label_shift: LabelShift | None = None  # where following it helped in the folds
    target_labels: TargetLabels | None = field(default=None, metadata={"omitted": True})

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Prediction:
        said, given = self._predict(rows, indices), self.target_labels
        if given is None or not given.correction.strength:
            return said
        mean, deviation = said.mean.copy(), said.deviation
        factors = np.ones((len(mean), 1))
        for name, members, _ in rows.domains:
            if name in given.by_name:
                features = indices.scaler.apply_flat(rows.inputs[members])
                mean[members] = given.corrected(name, mean[members], features)
                factors[members] = np.sqrt(1.0 - given.gain)
        return replace(
            said, mean=mean, deviation=None if deviation is None else deviation * factors
        )

    def _predict(self, rows: PlacedRows, indices: FittedIndices) -> Prediction:
        """Without labels of targets."""
        parts = np.stack([member.predict(rows, indices) for member in self.members])
        if self.output_range is None:
            tempered = [temper(p, t, self.smoothing) for p, t in zip(parts, self.temperatures)]
            parts = np.stack(tempered)
            mean = np.einsum("m,mnc->nc", self.weights, parts)
            mean /= mean.sum(axis=1, keepdims=True)
            if self.label_shift is not None:
                mean = self.label_shift.apply(mean, rows)
            return Prediction(mean, None, disagreement(parts, self.weights, mean, None))
        parts = self.output_range.clip(parts)
        mean = np.einsum("m,mno->no", self.weights, parts)
        assert self.deviations is not None
        spreads = np.stack([member.spread(rows) for member in self.members])
        spread = np.einsum("m,mno->no", self.weights, spreads)
        deviation = self.deviations.apply(parts, self.weights, spread, mean)
        apart = disagreement(parts, self.weights, mean, self.deviations.unit)
        return Prediction(mean, deviation, apart)

    def by_place(self) -> Committee | None:
        """Those members alone that need of a domain its place, and no rows; None without any."""
        measured = Representation.with_domains  # others hold numbers that rows of a domain give
        some = [type(one.representation).with_domains is measured for one in self.members]
        return self._only(some)

    def plain(self) -> Committee | None:
        """The heaviest member that is given rows as they are, alone; None without any."""
        raw = [
            isinstance(m, PredictorMember) and m.representation.name == "raw" for m in self.members
        ]
        return self._only([is_raw and not any(raw[:n]) for n, is_raw in enumerate(raw)])

    def _only(self, some: list[bool]) -> Committee | None:
        if not any(some):
            return None
        output_range = self.output_range
        if output_range is not None and output_range.least.ndim == 2:
            output_range = OutputRange(output_range.least[some], output_range.largest[some])
        return replace(
            self,
            members=tuple(one for one, kept in zip(self.members, some) if kept),
            weights=self.weights[some] / self.weights[some].sum(),
            temperatures=self.temperatures[some],
            output_range=output_range,
            label_shift=None,
            target_labels=None,
        )

    def with_domains(self, rows: PlacedRows, indices: FittedIndices) -> Committee:
        """The same committee, knowing the new domains of these rows as it knows the targets."""
        grown = replace(self, members=tuple(one.with_domains(rows) for one in self.members))
        if self.label_shift is None:
            return grown
        plain = replace(grown, label_shift=None).predict(rows, indices).mean
        return replace(grown, label_shift=self.label_shift.with_domains(plain, rows))

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        """What the heaviest member predicts from, (rows, size)."""
        return self.members[0].represent(rows, indices).features

    @property
    def ring(self) -> RingCoordinate | None:
        """What members that follow the ring of a closed map run along; None where none does."""
        rings = [member.representation.ring for member in self.members]
        return next((ring for ring in rings if ring is not None), None)

    @property
    def network(self) -> NetworkMember | None:
        """The variational network, where it is a member or encodes for one."""
        for member in self.members:
            if isinstance(member, NetworkMember):
                return member
            if isinstance(member, EncodedMember):
                return member.network
        return None

    def _check_state(self) -> None:
        weights, temperatures, members = self.weights, self.temperatures, self.members
        if not members or weights.shape != (len(members),) or temperatures.shape != weights.shape:
            raise ValueError("the weights do not fit the members")
        if not ((weights >= 0).all() and (temperatures > 0).all()):
            raise ValueError("the weights are not usable numbers")
        ends = None if self.output_range is None else self.output_range.least
        if ends is not None and ends.ndim == 2 and len(ends) != len(members):
            raise ValueError("the range of the outputs does not fit the members")


def disagreement(members: Floats, weights: Floats, mean: Floats, unit: Floats | None) -> Floats:
    """(n,) weighted variance of the members, in squared units of spread, mean over columns."""
    return (_variance(members, weights, mean) / (1.0 if unit is None else unit**2)).mean(axis=1)


def _variance(members: Floats, weights: Floats, mean: Floats) -> Floats:
    """(n, outputs) weighted variance of the members about their mean."""
    return np.einsum("m,mno->no", weights, (members - mean) ** 2)


CLEARLY_APART = 0.05  # of rows, or of outputs' spread, from which two ways differ; not tuned


def ways_apart(
    committee: Committee, rows: PlacedRows, indices: FittedIndices, predicted: Floats
) -> dict[Hashable | None, float] | None:
    """By domain, how far predictions (rows, columns) differ from those that reach it the other way
    round: for classes in a share of rows, for values a root mean square in units of spread. 0 close
    to the sources, where only one way is in question. None where no member runs along a ring."""
    ring = committee.ring
    if ring is None or rows.angles is None:
        return None
    there = {domain.name: domain.rows for domain in rows.domains}
    apart = dict.fromkeys(there, 0.0)
    asked = {name for name in there if bool(ring.in_question(rows.angles[name]))}
    if not asked:
        return apart
    other = replace(rows.only(asked), other_way=True)
    values = committee.predict(other, indices).mean
    for domain in other.domains:
        before, after = predicted[there[domain.name]], values[domain.rows]
        if committee.deviations is None:
            apart[domain.name] = float((before.argmax(axis=1) != after.argmax(axis=1)).mean())
        else:
            gaps = (before - after) / committee.deviations.unit
            apart[domain.name] = float(np.sqrt((gaps**2).mean()))
    return apart


@dataclass(frozen=True)
class ForecastSettings:
    """What a forecast believes before any domain was held out."""

    signal_penalty: float  # ridge penalty of the slope, per held-out domain; set on the real suites
    prior_spread: float  # of domains about a forecast: accuracy, or log error; stated, not tuned
    probability: float = 0.8  # of the intervals; a definition
    distance_penalty: float = 1.0  # as `signal_penalty`
    prior_domains: float = 3.0  # how many domains that belief counts for; not tuned
    farthest: float = 3.0  # standard deviations beyond which a trend is not continued; not tuned
    share_of_agreement: float = 0.5  # exponent of disagreement; set on the real suite


CLASSES = ForecastSettings(signal_penalty=0.01, prior_spread=0.05)
VALUES = ForecastSettings(signal_penalty=0.3, prior_spread=0.5)


@dataclass(frozen=True, eq=False)
class Forecaster(Saved):
    """Expected accuracy, or the logarithm of the expected squared error in units of spread."""

    is_class: bool  # which of the two
    centre: Floats  # (2,) of the signals and distances of held-out domains
    scale: Floats  # (2,) of the same
    coefficients: Floats  # (3,) of the correction: intercept, signal, distance
    covariance: Floats  # (3, 3) of the coefficients
    spread: float  # of domains about the forecast
    freedom: float  # degrees of freedom behind the spread
    held_out_mean: float  # mean quality of held-out domains, for comparison
    threshold: float  # of confidence: as many held-out rows lie above as are right; NaN for values
    ignorance: float | None = None  # quality of knowing nothing, with a single source
    experience: Experience | None = None  # what the folds have seen; older models do not have it

    @classmethod
    def fit(
        cls,
        held_out: Floats,
        disagreement: Floats,
        rows: HeldOutRows,
        experience: Experience | None = None,
    ) -> Forecaster:
        """From the committee's predictions (n, columns) and disagreement (n,) of held-out rows."""
        is_class = rows.n_classes is not None
        settings = CLASSES if is_class else VALUES
        if is_class:
            of_rows = (held_out.argmax(axis=1) == rows.labels).astype(np.float64)
            signal, quality = rows.by_part(held_out.max(axis=1)), rows.by_part(of_rows)
        else:
            signal = settings.share_of_agreement * np.log(rows.by_part(disagreement) + 1e-12)
            quality = np.log(rows.by_part(rows.losses(held_out)) + 1e-12)
        n_parts, given = len(quality), np.stack([signal, rows.part_distances], axis=1)
        centre, scale = given.mean(axis=0), given.std(axis=0)
        scale = np.where(scale > 1e-9, scale, 1.0)
        design = np.column_stack([np.ones(n_parts), (given - centre) / scale])
        own_unit = scale[0] ** 2 if is_class else 1.0
        slopes = [0.0, settings.signal_penalty / own_unit, settings.distance_penalty]
        precision = design.T @ design + np.diag(n_parts * np.array(slopes))
        coefficients = np.linalg.solve(precision, design.T @ (quality - signal))
        # A part is judged by what the others say of it; near and far ones of a domain count once.
        covariance = np.linalg.inv(precision)
        leverage = np.einsum("ij,jk,ik->i", design, covariance, design)
        tiny = np.finfo(np.float64).eps
        residuals = (quality - signal - design @ coefficients) / np.maximum(1 - leverage, tiny)
        n_domains = len(np.unique(rows.part_domains))
        freedom = n_domains - 1 + settings.prior_domains
        prior = settings.prior_domains * settings.prior_spread**2
        threshold, ignorance = np.nan, None
        if is_class:
            order = np.argsort(held_out.max(axis=1))
            below = np.cumsum(rows.row_weights[order]) / rows.row_weights.sum()
            place = int(np.searchsorted(below, 1.0 - float(rows.row_weights @ of_rows)))
            threshold = float(held_out.max(axis=1)[order[min(place, len(order) - 1)]])
        if rows.by_rows:
            ignorance = 1.0 / rows.n_classes if rows.n_classes else 0.0
        return cls(
            is_class,
            centre,
            scale,
            coefficients,
            covariance * n_parts / n_domains,
            float(np.sqrt((n_domains * np.mean(residuals**2) + prior) / freedom)),
            freedom,
            float(quality.mean()),
            threshold,
            ignorance,
            experience,
        )

    def predict(
        self,
        predicted: Floats,
        disagreement: Floats,
        distance: float,
        evidence: Evidence | None = None,
        gain: float = 0.0,
    ) -> dict[str, float]:
        """Of a domain with rows predicted as (n, columns), at a distance from the sources; where it
        has some labels, by what these say, and by the share of squared errors that they saved."""
        settings = CLASSES if self.is_class else VALUES
        signal = self._signal(
            float((predicted.max(axis=1) if self.is_class else disagreement).mean())
        )
        place = (np.array([signal, distance]) - self.centre) / self.scale
        design = np.concatenate([[1.0], np.clip(place, -settings.farthest, settings.farthest)])
        beyond_signal = float(design @ self.coefficients)
        variance = self.spread**2 * (1.0 + float(design @ self.covariance @ design))
        home, nothing = self.held_out_mean, self.ignorance
        if evidence is not None:
            if not self.is_class:
                beyond_signal += float(np.log1p(-gain))
            if nothing is not None and distance > 0:
                variance += (home - nothing) ** 2  # nobody has seen what distance does
                nothing = None
            share = variance / (variance + evidence.variance)  # of two estimates by precision
            seen = evidence.quality - self._signal(evidence.signal)
            beyond_signal += share * (seen - beyond_signal)
            variance *= 1.0 - share
        expected = signal + beyond_signal
        if self.is_class:
            chance = float(np.clip(expected, 0.0, 1.0))
            variance += chance * (1.0 - chance) / len(predicted)
        width = student.ppf(0.5 + settings.probability / 2, self.freedom) * np.sqrt(variance)
        low, high = expected - width, expected + width
        if nothing is not None and distance > 0:
            # With one source nobody has seen what distance does: anything is possible from as good
            # as at home down to knowing nothing.
            if self.is_class:
                expected, low, high = min(expected, home), min(low, home, nothing), max(high, home)
            else:
                expected, low, high = max(expected, home), min(low, home), max(high, home, nothing)
        result = {"expected": expected, "low": low, "high": high, "mean": self.held_out_mean}
        if self.is_class:
            result = {name: float(np.clip(value, 0.0, 1.0)) for name, value in result.items()}
            result["thresholded"] = float((predicted.max(axis=1) > self.threshold).mean())
            return result
        return {name: float(np.exp(value)) for name, value in result.items()}

    def _signal(self, mean: float) -> float:
        """Of the mean confidence or disagreement of a domain's rows."""
        return mean if self.is_class else VALUES.share_of_agreement * float(np.log(mean + 1e-12))

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Forecaster:
        return super().from_state({"ignorance": None, "experience": None} | state)

    def _check_state(self) -> None:
        parts = (self.centre, self.scale, self.coefficients, self.covariance)
        if [part.shape for part in parts] != [(2,), (2,), (3,), (3, 3)]:
            raise ValueError("the parts of the forecast do not fit each other")
        figures = (self.spread, self.freedom, self.held_out_mean, self.threshold, self.ignorance)
        if any(one is not None and math.isinf(one) for one in figures):
            raise ValueError("the figures of the forecast are no numbers")


def forecast_table(
    committee: Committee,
    forecaster: Forecaster,
    rows: PlacedRows,
    indices: FittedIndices,
    sources: Sequence[Hashable],
    off_map: Collection[Hashable | None] = (),
) -> pd.DataFrame:
    """What to expect in every domain of these rows, with the columns of `forecast_`.

    off_map says that held-out sources say nothing of it. two_ways, where members run along a ring,
    is how far predictions agree that reach it one way round and the other: the interval covers it.
    beyond_experience, with its reason in words, says that the interval is at least that wide.
    """
    predicted = committee.predict(rows, indices)
    assert predicted.disagreement is not None
    apart = ways_apart(committee, rows, indices, predicted.mean)
    known = indices.domain_map.index
    places = np.stack([np.asarray(known.find(name)) for name in sources])
    unit = 1.0
    if committee.deviations is not None and len(committee.deviations.unit) == 1:
        unit = float(committee.deviations.unit[0])
    labels, records = committee.target_labels, list[dict[str, Any]]()
    for name, members, place in rows.domains:
        own = None if labels is None else labels.by_name.get(name)
        gaps = np.linalg.norm(places - place, axis=1)
        nearest = int(np.argmin(gaps))
        expected = forecaster.predict(
            predicted.mean[members],
            predicted.disagreement[members],
            float(gaps[nearest]),
            own,
            0.0 if labels is None else labels.gain,
        )
        other = 0.0 if apart is None else apart[name]  # what the other way round may cost
        if forecaster.is_class:
            expected["low"] = max(expected["low"] - other, 0.0)
        else:
            expected["high"] += other**2
            expected = {what: unit * value**0.5 for what, value in expected.items()}
        record = {
            "domain": name,
            "rows": len(members),
            "nearest": sources[nearest],
            "distance": float(gaps[nearest]),
            "expected_accuracy" if forecaster.is_class else "expected_error": expected["expected"],
            "low": expected["low"],
            "high": expected["high"],
            "held_out_mean": expected["mean"],
        }
        if forecaster.is_class:
            record["thresholded_confidence"] = expected["thresholded"]
        if forecaster.experience is not None:
            judged = forecaster.experience.judge(name, rows.inputs[members])
            record |= {
                "support": judged.support,
                "beyond_experience": bool(judged.reason),
                "reason": judged.reason,
            }
        record["off_map"] = name in off_map
        if labels is not None:
            record["labels"] = 0 if own is None else len(own.positions)
        if apart is not None:
            record["two_ways"] = float(np.clip(1.0 - apart[name], 0.0, 1.0))
        records.append(record)
    kinds = {"domain": object, "nearest": object, "reason": object}  # names may be anything
    columns = {one: [record[one] for record in records] for one in records[0]}
    return pd.DataFrame({one: pd.Series(columns[one], dtype=kinds.get(one)) for one in columns})
