"""The committee as one module: rows and domain numbers to what `predict` gives."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from domindex.committee.committee import Committee
from domindex.committee.learners.estimators import EstimatorPredictor
from domindex.committee.members import EncodedMember, Member, NetworkMember, PredictorMember
from domindex.export.encoding import Encoder, Extracted, Head
from domindex.export.predicting import predictor_module
from domindex.export.representing import representation_module
from domindex.export.tables import NotExportableError, constant
from domindex.inputs.bounds import InputBounds
from domindex.representations import PlacedRows
from domindex.representations.base import DomainRows
from domindex.vdi.backbones import FeatureExtractor
from domindex.vdi.fitted_indices import FittedIndices


@dataclass(frozen=True, eq=False)
class Foreign:
    """A predictor that has no form in torch and is kept by skops.

    Attributes
    ----------
    predictor : itself
    why : it has none
    """

    predictor: EstimatorPredictor
    why: str


class MemberProgram(nn.Module):
    """One member; where its predictor is foreign, up to the features that it is given."""

    def __init__(self, member: Member, places: PlacedRows) -> None:
        super().__init__()
        self.foreign: Foreign | None = None
        self.represented = representation_module(member.representation, places)
        self.spread_unit = float(member.representation.spread_unit)
        self.encoder: Encoder | None = None
        network = member.network if isinstance(member, EncodedMember) else member
        if isinstance(network, NetworkMember):
            self.encoder = Encoder(network, constant(places.index))
        if isinstance(member, NetworkMember):
            self.head: nn.Module = Head(member)
            self.is_class = member.outputs is None
        elif isinstance(member, PredictorMember | EncodedMember):
            self.is_class = member.is_class
            self.head = self._predictor(member)
        else:
            raise NotExportableError(f"a {type(member).__name__} has no form in torch")

    def _predictor(self, member: PredictorMember | EncodedMember) -> nn.Module:
        try:
            return predictor_module(member.predictor)
        except NotExportableError as error:
            if not isinstance(member.predictor, EstimatorPredictor):
                raise
            self.foreign = Foreign(member.predictor, str(error))
            return nn.Identity()

    def features(self, x: Tensor, domain: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What is predicted from, with the level and the spread of outputs."""
        features, level, spread = self.represented(x, domain)
        if self.encoder is not None:
            features = self.encoder(features, domain)
        return features, level, spread

    def forward(
        self, x: Tensor, domain: Tensor, said: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Probabilities or values, and the spread of rows; `said` is a foreign predictor's word."""
        features, level, spread = self.features(x, domain)
        predicted = self.head(features) if said is None else said
        if not self.is_class:
            predicted = level + spread * predicted
        return predicted, spread / self.spread_unit


class _Inputs(nn.Module):
    """Rows of any shape to flat ones, within bounds, through a frozen backbone where there is one.

    Bounds, and what counts where a value lies beyond them, have a row a domain, (domains, inputs).
    """

    low: Tensor
    high: Tensor
    lowest: Tensor
    highest: Tensor

    def __init__(self, extractor: FeatureExtractor | None, bounds: InputBounds | None) -> None:
        super().__init__()
        self.extracted = None if extractor is None else Extracted(extractor)
        self.is_bounded = bounds is not None
        if bounds is not None:
            for name, values in bounds.limits()._asdict().items():
                self.register_buffer(name, constant(values))

    def forward(self, X: Tensor, domain: Tensor) -> Tensor:
        flat = X.flatten(1)
        if self.is_bounded:
            upper = torch.where(flat > self.high[domain], self.highest[domain], flat)
            flat = torch.where(flat < self.low[domain], self.lowest[domain], upper)
        return flat if self.extracted is None else self.extracted(flat)


class Program(nn.Module):
    """`Committee.predict` for known domains.

    Call it with X (n, *input_shape) in double precision, domain numbers (n,), and what foreign
    predictors say, in their order. It gives probabilities, or means and deviations.
    """

    weights: Tensor
    temperatures: Tensor

    def __init__(
        self,
        committee: Committee,
        places: PlacedRows,
        extractor: FeatureExtractor | None,
        bounds: InputBounds | None,
    ) -> None:
        super().__init__()
        self.inputs = _Inputs(extractor, bounds)
        self.members = nn.ModuleList(
            _named_member(number, member, places) for number, member in enumerate(committee.members)
        )
        self.register_buffer("weights", constant(committee.weights))
        self.register_buffer("temperatures", constant(committee.temperatures))
        self.smoothing = float(committee.smoothing)
        self.ending = _Classes(committee, places) if committee.reach is None else _Values(committee)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what it gives."""
        return ("probabilities",) if isinstance(self.ending, _Classes) else ("mean", "deviation")

    @property
    def foreign(self) -> list[Foreign]:
        found = (getattr(member, "foreign", None) for member in self.members)
        return [one for one in found if one is not None]

    def forward(self, X: Tensor, domain: Tensor, *said: Tensor) -> tuple[Tensor, ...]:
        x, words = self.inputs(X, domain), iter(said)
        parts = [
            member(x, domain, None if member.foreign is None else next(words))
            for member in self.members
        ]
        return self.ending(
            [predicted for predicted, _ in parts],
            [spread for _, spread in parts],
            domain,
            self,
        )


class Features(nn.Module):
    """What the foreign predictors of a program are given, one array each."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, X: Tensor, domain: Tensor) -> tuple[Tensor, ...]:
        x = self.program.inputs(X, domain)
        return tuple(
            member.features(x, domain)[0]
            for member in self.program.members
            if isinstance(member, MemberProgram) and member.foreign is not None
        )


class _Classes(nn.Module):
    """Tempered, averaged, and corrected for the shares of classes where that helped.

    In a source, `predict` takes the shares from the rows of each call. A program has no such rows;
    it takes those of all sources together.
    """

    factors: Tensor

    def __init__(self, committee: Committee, places: PlacedRows) -> None:
        super().__init__()
        shift = committee.label_shift
        self.follows_shares = shift is not None
        if shift is None:
            return
        shares = [shift.domains.get(one.name, shift.sources) for one in places.domains]
        self.register_buffer("factors", constant(np.stack(shares) / shift.sources))

    def forward(
        self, parts: list[Tensor], spreads: list[Tensor], domain: Tensor, given: Program
    ) -> tuple[Tensor, ...]:
        mean = torch.zeros_like(parts[0])
        for number, part in enumerate(parts):
            smooth = (1 - given.smoothing) * part + given.smoothing / part.shape[1]
            tempered = torch.softmax(smooth.log() / given.temperatures[number], dim=1)
            mean = mean + given.weights[number] * tempered
        mean = mean / mean.sum(dim=1, keepdim=True)
        if self.follows_shares:
            mean = mean * self.factors[domain]
            mean = mean / mean.sum(dim=1, keepdim=True)
        return (mean,)


class _Values(nn.Module):
    """Kept within reach, averaged, with deviations that grow where members disagree."""

    least: Tensor
    largest: Tensor
    typical: Tensor
    factors: Tensor

    def __init__(self, committee: Committee) -> None:
        super().__init__()
        assert committee.reach is not None
        assert committee.deviations is not None
        shape = len(committee.members), committee.reach.least.shape[-1]
        for end in ("least", "largest"):
            ends = np.broadcast_to(getattr(committee.reach, end), shape)
            self.register_buffer(end, constant(ends))
        self.register_buffer("typical", constant(committee.deviations.typical))
        self.register_buffer("factors", constant(committee.deviations.factors))
        self.least_deviation = float(committee.deviations.least)

    def forward(
        self, parts: list[Tensor], spreads: list[Tensor], domain: Tensor, given: Program
    ) -> tuple[Tensor, ...]:
        ends = zip(self.least, self.largest)
        kept = [part.maximum(least).minimum(most) for part, (least, most) in zip(parts, ends)]
        mean, spread = torch.zeros_like(kept[0]), torch.zeros_like(spreads[0])
        for number, (part, own) in enumerate(zip(kept, spreads)):
            mean = mean + given.weights[number] * part
            spread = spread + given.weights[number] * own
        variance = torch.zeros_like(mean)
        for number, part in enumerate(kept):
            variance = variance + given.weights[number] * (part - mean) ** 2
        raw = torch.sqrt((self.typical * spread) ** 2 + variance)
        return mean, (raw * self.factors).clamp_min(self.least_deviation)


def build_program(
    committee: Committee,
    indices: FittedIndices,
    extractor: FeatureExtractor | None,
    bounds: InputBounds | None = None,
) -> Program:
    """The committee for the domains on the map, by their numbers there."""
    program = copy.deepcopy(Program(committee, known_places(indices), extractor, bounds))
    return program.double().eval().requires_grad_(False)


def known_places(indices: FittedIndices) -> PlacedRows:
    """The known domains, each with a single row that says nothing."""
    index = indices.domain_map.index
    angles = None if index.angles is None else dict(zip(index.domains, index.angles.tolist()))
    domains = tuple(
        DomainRows(name, np.array([number]), place)
        for number, (name, place) in enumerate(zip(index.domains, index.coordinates))
    )
    return PlacedRows(np.zeros((len(domains), 1)), domains, angles)


def _named_member(number: int, member: Member, places: PlacedRows) -> MemberProgram:
    try:
        return MemberProgram(member, places)
    except NotExportableError as error:
        name = member.representation.name
        raise NotExportableError(
            f"member {number + 1}, on {name!r}, cannot be exported: {error}"
        ) from error
