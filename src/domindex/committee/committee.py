"""The fitted committee: its members, their weights, and how far to believe the weighted mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.stats import norm

from domindex.arrays import Floats
from domindex.committee.candidates import Candidate, learn, predict_with
from domindex.committee.folds import HeldOutRows, RepresentedFolds, temper
from domindex.committee.learners.base import Predictor
from domindex.committee.weighing import OutputRange
from domindex.geometry.rings import RingCoordinate
from domindex.inputs.standardizing import OutputScaler
from domindex.persistence.saved import Saved, require_distinct
from domindex.representations import (
    PlacedRows,
    Representation,
    RepresentedRows,
)
from domindex.vdi.alignments import FlowAlignment
from domindex.vdi.fitted_indices import FittedIndices
from domindex.vdi.module import EncodingModule, Latents


class Member(Saved, ABC):
    """A fitted representation and predictor."""

    kind: ClassVar[str]
    representation: Representation

    @abstractmethod
    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        """Probabilities (rows, classes) or values (rows, outputs); deterministic."""

    @abstractmethod
    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        """What predictions are made from, (rows, size)."""

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

    def with_domains(self, rows: PlacedRows) -> Member:
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
        latents = self._latents(rows, indices)
        if self.outputs is None:
            parts = [self.module.predict(z.z).probs[0] for z in latents]  # type: ignore[attr-defined]
            probabilities = _gathered(rows, parts)
            return probabilities / probabilities.sum(axis=1, keepdims=True)
        mean = _gathered(rows, [self.module.predict(z.z).mean[0] for z in latents])
        return self.representation.apply(rows).restore(self.outputs.restore(mean))

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        return _gathered(rows, [latents.z[0] for latents in self._latents(rows, indices)])

    def represent(self, rows: PlacedRows, indices: FittedIndices) -> RepresentedRows:
        """z as the features of another predictor, (rows, latent_dim)."""
        return replace(self.representation.apply(rows), features=self.encode(rows, indices))

    @property
    def follows_flow(self) -> bool:
        """Whether it aligns rows along a flow."""
        return isinstance(self.module.alignment, FlowAlignment)

    @property
    def is_straightened(self) -> bool:
        """Whether inputs were bent, and a warp shared by all domains straightens them."""
        alignment = self.module.alignment
        return isinstance(alignment, FlowAlignment) and alignment.is_straightened

    def _latents(self, rows: PlacedRows, indices: FittedIndices) -> list[Latents]:
        """The posterior means, a domain at a time."""
        features = torch.tensor(self.representation.apply(rows).features, dtype=torch.float64)
        with torch.no_grad():
            return [
                self.module.infer(
                    features[members][None],
                    indices.means(rows.inputs[members], place),
                    sample=False,
                )
                for _, members, place in rows.domains
            ]


@dataclass(frozen=True, eq=False)
class PredictorMember(Member):
    """A predictor on the rows of a representation."""

    kind: ClassVar[str] = "predictor"
    representation: Representation  # how rows are represented for it
    predictor: Predictor  # what was learned from the sources
    is_class: bool  # whether it gives probabilities, which have no units to restore

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        represented = self.representation.apply(rows)
        predicted = predict_with(self.predictor, represented)
        return predicted if self.is_class else represented.restore(predicted)

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        return self.representation.apply(rows).features


@dataclass(frozen=True, eq=False)
class EncodedMember(Member):
    """A predictor on what the network encodes."""

    kind: ClassVar[str] = "encoded"
    network: NetworkMember  # what encodes
    predictor: Predictor  # what was learned from the sources' z
    is_class: bool  # whether it gives probabilities, which have no units to restore

    @property
    def representation(self) -> Representation:  # type: ignore[override]
        """What the network is given."""
        return self.network.representation

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        represented = self.network.represent(rows, indices)
        predicted = predict_with(self.predictor, represented)
        return predicted if self.is_class else represented.restore(predicted)

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        return self.network.encode(rows, indices)


def _gathered(rows: PlacedRows, parts: list[torch.Tensor]) -> Floats:
    """One piece a domain, (rows of it, size), put back into the order of the rows."""
    result = np.empty((len(rows.inputs), parts[0].shape[-1]))
    for (_, members, _), part in zip(rows.domains, parts):
        result[members] = part.detach().numpy()
    return result


def fit_predictor(
    candidate: Candidate, represented: RepresentedFolds, seed: int, max_rows: int = 20_000
) -> PredictorMember:
    """A candidate's learner on all source rows, balanced by target rows: so many at most."""
    data, rng = represented.data, np.random.default_rng(seed)
    sources, targets = (
        np.sort(rng.permutation(np.flatnonzero(mask))[:max_rows])
        for mask in (data.row_counts, ~data.row_is_source)
    )
    train, goal = represented.rows.part(sources), represented.rows.part(targets)
    none = np.empty(0, dtype=np.int64)
    predictor = learn(candidate, represented, train, goal, sources, none, seed)
    return PredictorMember(represented.representation, predictor, data.classes is not None)


def conformal_factors(
    residuals: Floats, deviations: Floats, weights: Floats, coverage: float = 0.9
) -> Floats:
    """Factors (outputs,) for the deviations, so that they and their intervals hold what they say.

    The residuals (rows, outputs) are of held-out sources. The factor is the larger of two. By the
    first, an interval of probability `coverage` holds that share of them. That says nothing of the
    few large errors of heavy tails: by the second, the deviation is no smaller than the root mean
    square of the errors. For Gaussian errors the two agree.
    """
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
    """Probabilities p(class | x) of the sources, corrected for the shares of a domain.

    p'(c | x) ∝ p(c | x) · share of the domain / share of the sources, where the shares are the
    fixed point of the mean of p' (expectation and maximisation). Right where classes look alike in
    all domains and only their shares differ; used where held-out domains say that it helps.
    """

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
        new = {
            name: estimate_shares(probabilities[members], self.sources)
            for name, members, _ in rows.domains
        }
        return LabelShift(self.sources, {**self.domains, **new})

    def state(self) -> dict[str, Any]:
        shares = np.array(list(self.domains.values())).reshape(-1, len(self.sources))
        return {"sources": self.sources, "names": tuple(self.domains), "shares": shares}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LabelShift:
        names, shares = require_distinct(state["names"]), state["shares"]
        if shares.shape != (len(names), len(state["sources"])):
            raise ValueError("the shares of classes do not fit the domains")
        if not ((shares > 0).all() and (state["sources"] > 0).all()):
            raise ValueError("the shares of classes are no shares")
        return cls(state["sources"], dict(zip(names, shares)))


def estimate_shares(probabilities: Floats, sources: Floats, prior_rows: float = 20.0) -> Floats:
    """(classes,) shares of a domain whose rows have these probabilities under the sources'.

    The sources' shares count for `prior_rows`, so that few rows move little; not tuned.
    """
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
    assert rows.n_classes is not None
    counted = np.bincount(rows.labels, rows.row_weights, minlength=rows.n_classes)
    shares = np.asarray(counted, dtype=np.float64) + 1.0 / len(rows.labels)
    return np.asarray(shares / shares.sum(), dtype=np.float64)


def helps_on_folds(held_out: Floats, rows: HeldOutRows) -> bool:
    """Whether following held-out domains' shares lowers their loss by two standard errors."""
    sources = source_shares(rows)
    followed = np.empty_like(held_out)
    for part in range(len(rows.part_domains)):
        members = rows.parts == part
        shares = estimate_shares(held_out[members], sources)
        followed[members] = reweighted(held_out[members], shares / sources)
    gains = rows.by_domain(rows.by_part(rows.losses(held_out) - rows.losses(followed)))
    if len(gains) < 2:
        return False
    return bool(gains.mean() > 2.0 * gains.std(ddof=1) / np.sqrt(len(gains)))


@dataclass(frozen=True, eq=False)
class Prediction:
    """Probabilities (rows, classes), or values with their deviations, (rows, outputs) each.

    `disagreement` (rows,) is the variance of the members, for values in squared units of spread.
    """

    mean: Floats
    deviation: Floats | None = None
    disagreement: Floats | None = None


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
        """From members' predictions (members, n, outputs) of held-out rows.

        `spread` (n, 1) is that of the rows in the members' representations: errors grow with it.
        """
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

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Prediction:
        parts = np.stack([member.predict(rows, indices) for member in self.members])
        if self.output_range is None:
            parts = np.stack(
                [temper(p, t, self.smoothing) for p, t in zip(parts, self.temperatures)]
            )
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

    def with_domains(self, rows: PlacedRows, indices: FittedIndices) -> Committee:
        """The same committee, knowing the new domains of these rows as it knows the targets."""
        members = tuple(member.with_domains(rows) for member in self.members)
        grown = replace(self, members=members)
        if self.label_shift is None:
            return grown
        plain = replace(grown, label_shift=None).predict(rows, indices).mean
        return replace(grown, label_shift=self.label_shift.with_domains(plain, rows))

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        """What the heaviest member predicts from, (rows, size)."""
        return self.members[0].encode(rows, indices)

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


CLEARLY_APART = 0.05
"""Share of rows, or of the outputs' spread, from which two ways are said to differ. Not tuned."""


def ways_apart(
    committee: Committee, rows: PlacedRows, indices: FittedIndices, predicted: Floats
) -> dict[Hashable | None, float] | None:
    """By domain, how far predictions differ that reach it the other way round.

    `predicted` (rows, columns) are those of the way that was taken. For classes the share of rows
    whose class changes; for values the root mean squared difference in units of spread. 0 among the
    sources and close to them, where one way is in question. None where no member runs along a ring.
    """
    ring = committee.ring
    if ring is None or rows.angles is None:
        return None
    angles = rows.angles
    asked = {one.name for one in rows.domains if bool(ring.in_question(angles[one.name]))}
    apart: dict[Hashable | None, float] = {domain.name: 0.0 for domain in rows.domains}
    if not asked:
        return apart
    there = {domain.name: domain.rows for domain in rows.domains}
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
