"""What predicts in known domains as one torch module: all that depends on a domain is a row of a
table, by its number. What scikit-learn fitted is no part of it: it is asked between
`CommitteeProgram.before`, which gives its features, and `after`, which is given its answers."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from domindex.arrays import Ints
from domindex.committee.alignments import BackboneAlignment
from domindex.committee.committee import (
    Committee,
    EncodedMember,
    Member,
    NetworkMember,
    PredictorMember,
)
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.learners.estimators import EstimatorPredictor
from domindex.inputs.bounds import InputBounds
from domindex.inputs.standardizing import OutputScaler
from domindex.neural.backbones import FeatureExtractor
from domindex.neural.layers import Whitening
from domindex.representations.base import DomainRows, PlacedRows, Representation
from domindex.vdi.alignments import Alignment
from domindex.vdi.model import AffineEncoding, VariationalModel

Network = TypeVar("Network", bound=nn.Module)


class NotExportableError(Exception):
    """A part that no program can stand for; the message says which, and why."""


def _constant(array: Any) -> Tensor:
    """In double precision, as predictions are made."""
    return torch.tensor(np.asarray(array), dtype=torch.float64).contiguous()


def _scale(scaler: Any) -> tuple[Tensor, Tensor]:
    return _constant(scaler.offset), _constant(scaler.scale)


class _Represented(nn.Module):
    """The arithmetic of a `KnownDomainForm`: features, and level and spread of outputs (n, 1)."""

    def __init__(self, given: Representation, places: PlacedRows) -> None:
        super().__init__()
        form = None
        try:
            if "known_form" in vars(
                type(given)
            ):  # an inherited one may not fit what the class does
                form = given.known_form(places)
        except KeyError as error:
            raise NotExportableError(f"{given.name} does not know the domain {error}") from error
        if form is None:
            raise NotExportableError(f"the representation {given.name!r} has no form in torch")
        self.row_level, self.min_row_spread = form.row_level, form.min_row_spread
        self.scales = [_scale(one) for one in (form.scaler, form.outputs) if one is not None]
        self.matrix = None if form.matrix is None else _constant(form.matrix)
        names = ("levels", "offsets", "scales", "matrices", "shifts", "beside")
        known = [name for name in names if getattr(form, name) is not None]
        self.tables = {name: _constant(getattr(form, name)) for name in known}
        if form.uses_matrix is not None:
            self.tables["uses_matrix"] = torch.tensor(form.uses_matrix[:, None])

    def forward(self, x: Tensor, domain: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        of_domain = {name: table[domain] for name, table in self.tables.items()}
        if "levels" in of_domain:
            level, spread = of_domain["levels"][:, :1], of_domain["levels"][:, 1:]
        else:
            level = x.mean(dim=1, keepdim=True) if self.row_level else torch.zeros_like(x[:, :1])
            spread = torch.ones_like(level)
            if self.min_row_spread is not None:
                variance = ((x - level) ** 2).mean(dim=1, keepdim=True)
                spread = variance.sqrt().clamp_min(self.min_row_spread)
        (offset, scale), *more = self.scales
        z = ((x - level) / spread - offset) / scale
        if "offsets" in of_domain:
            z = z - of_domain["offsets"]
        if "scales" in of_domain:
            z = z / of_domain["scales"]
        if self.matrix is not None:
            moved, uses = z @ self.matrix, of_domain.get("uses_matrix")
            z = moved if uses is None else torch.where(uses, moved, z)
        if "matrices" in of_domain:
            n_moving = of_domain["matrices"].shape[1]
            moved = (z[:, None, :n_moving] @ of_domain["matrices"]).squeeze(1)
            z = torch.cat([moved, z[:, n_moving:]], dim=1)
        if "shifts" in of_domain:
            z = z + of_domain["shifts"]
        for offset, scale in more:
            z = (z - offset) / scale
        if "beside" in of_domain:
            z = torch.cat([z, of_domain["beside"]], dim=1)
        return z, level, spread


def _without_whitening(module: Network) -> Network:
    """A copy that multiplies by a matrix where the module solves equations."""
    twin = copy.deepcopy(module)
    for part in list(twin.modules()):
        for name, child in part.named_children():
            if isinstance(child, Whitening):
                setattr(part, name, child.as_linear())
    return twin


class _Encoder(nn.Module):
    """Represented rows to the mean of q(z|x,u,β). β is the place of the domain, so that all that it
    decides is a table; the mean does not depend on u."""

    def __init__(self, alignment: Alignment, places: Tensor) -> None:
        super().__init__()
        self.alignment = _without_whitening(alignment)
        with torch.no_grad():
            maps = alignment.maps(places)
        self.tables = [one.clone(memory_format=torch.contiguous_format) for one in maps]

    def forward(self, features: Tensor, domain: Tensor) -> Tensor:
        maps = [table[domain] for table in self.tables]
        return self.alignment.aligned(features[:, None], *maps)[1][:, 0]


class _Head(nn.Module):
    """p(y|z): probabilities, or values in the units of the representation."""

    def __init__(self, member: NetworkMember) -> None:
        super().__init__()
        self.predictor = copy.deepcopy(member.module.predictor)
        self.scale = None if member.outputs is None else _scale(member.outputs)

    def forward(self, z: Tensor) -> Tensor:
        predicted = self.predictor(z)
        if self.scale is None:
            return predicted.probs / predicted.probs.sum(dim=1, keepdim=True)
        return predicted.mean * self.scale[1] + self.scale[0]


class MemberProgram(nn.Module):
    """One member: what it predicts without `estimators`, the factor and features of these."""

    def __init__(self, member: Member, places: PlacedRows) -> None:
        super().__init__()
        self.represented = _Represented(member.representation, places)
        self.spread_unit = float(member.representation.spread_unit)
        self.estimators: list[EstimatorPredictor] = []
        self.heads = nn.ModuleList()
        network = member.network if isinstance(member, EncodedMember) else member
        self.encoder = None
        if isinstance(network, NetworkMember):
            self.encoder = _Encoder(network.module.alignment, _constant(places.index))
        if isinstance(member, NetworkMember):
            self.is_class = member.outputs is None
            self.heads.append(_Head(member))
            return
        assert isinstance(member, PredictorMember | EncodedMember)
        self.is_class = member.is_class
        for part in member.predictor.summands():
            if isinstance(part, EstimatorPredictor):
                self.estimators.append(part)
            elif (head := part.torch_module()) is not None:
                self.heads.append(head)
            else:
                raise NotExportableError(f"the predictor {part.name!r} has no form in torch")

    def forward(self, x: Tensor, domain: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        features, level, spread = self.represented(x, domain)
        if self.encoder is not None:
            features = self.encoder(features, domain)
        if self.is_class:
            level, spread = torch.zeros_like(level), torch.ones_like(spread)
        return sum((spread * head(features) for head in self.heads), level), spread, features


class Program(nn.Module):
    """What is predicted of X (n, *input_shape) in domains by number (n,).

    Attributes
    ----------
    is_class : whether it gives probabilities, or means and deviations
    uses_single : whether a network in single precision is part of it
    steady : numbers of the domains in which a prediction depends on its own row alone
    """

    is_class: bool

    def __init__(
        self,
        n_domains: int,
        extractor: FeatureExtractor | None,
        bounds: InputBounds | None,
        columns: Ints | None,
    ) -> None:
        super().__init__()
        self.columns = None if columns is None else torch.tensor(columns)
        self.extractor = copy.deepcopy(extractor)
        limits = {} if bounds is None else bounds.limits()._asdict()
        self.limits = {name: _constant(value) for name, value in limits.items()}
        self.uses_single = extractor is not None
        self.steady = list(range(n_domains))

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("probabilities",) if self.is_class else ("mean", "deviation")

    @property
    def estimators(self) -> list[EstimatorPredictor]:
        """What scikit-learn fitted, in the order in which it is asked."""
        return []

    def behind_gate(self, X: Tensor, domain: Tensor) -> Tensor:
        """Flat rows within the bounds of their domains, or a frozen backbone's features of them."""
        x = X.flatten(1)
        if self.limits:
            of_row = {name: table[domain] for name, table in self.limits.items()}
            inside = torch.where(x > of_row["high"], of_row["highest"], x)
            x = torch.where(x < of_row["low"], of_row["lowest"], inside)
        x = x if self.extractor is None else self.extractor(x)
        return x if self.columns is None else x.index_select(1, self.columns)


class VariationalProgram(Program):
    """The paper's model: u, β and z at their means, then p(y|z)."""

    def __init__(
        self,
        module: VariationalModel,
        outputs: OutputScaler | None,
        indices: FittedIndices,
        extractor: FeatureExtractor | None,
        bounds: InputBounds | None,
        columns: Ints | None,
    ) -> None:
        places = _constant(known_places(indices).index)
        super().__init__(len(places), extractor, bounds, columns)
        self.module, self.places = _without_whitening(module), places
        self.scale, self.is_class = _scale(indices.scaler), outputs is None
        self.output_scale = None if outputs is None else _scale(outputs)
        encoder = self.module.data_encoder
        self.maps: tuple[Tensor, ...] = ()
        if isinstance(encoder, AffineEncoding):
            with torch.no_grad():  # ONNX has no exponential of a matrix
                self.maps = encoder.alignment.maps(places)

    def forward(self, X: Tensor, domain: Tensor) -> tuple[Tensor, ...]:
        """Every row as a batch of one, at the index of its domain."""
        offset, scale = self.scale
        x = ((self.behind_gate(X, domain) - offset) / scale)[:, None]
        encoder = self.module.data_encoder
        if isinstance(encoder, AffineEncoding):
            z = encoder.alignment.aligned(x, *(one[domain] for one in self.maps))[0][:, 0]
        else:
            found = self.module.infer_indices(x, self.places[domain], sample=False)
            z = encoder(x, found.u, found.beta).mean[:, 0]
        predicted: Any = self.module.predict(z)
        if self.output_scale is None:
            return (predicted.probs / predicted.probs.sum(dim=1, keepdim=True),)
        level, spread = self.output_scale
        return predicted.mean * spread + level, predicted.stddev * spread


class CommitteeProgram(Program):
    """`Committee.predict`.

    In a source, `predict` takes the shares of classes from the rows of each call; a program takes
    those of all sources together.
    """

    def __init__(
        self,
        committee: Committee,
        places: PlacedRows,
        extractor: FeatureExtractor | None,
        bounds: InputBounds | None,
        columns: Ints | None,
    ) -> None:
        super().__init__(len(places.domains), extractor, bounds, columns)
        if committee.target_labels is not None:
            raise NotExportableError(
                "labels of targets correct its predictions, and a program holds no labelled rows"
            )
        self.members = nn.ModuleList()
        for number, member in enumerate(committee.members, start=1):
            try:
                self.members.append(MemberProgram(member, places))
            except NotExportableError as error:
                where = f"member {number}, on {member.representation.name!r}"
                raise NotExportableError(f"{where}, cannot be exported: {error}") from error
        self.weights = committee.weights.tolist()
        self.temperatures = committee.temperatures.tolist()
        self.smoothing, self.is_class = float(committee.smoothing), committee.output_range is None
        shift, deviations = committee.label_shift, committee.deviations
        self.shares = torch.ones(len(places.domains), 1, dtype=torch.float64)
        if shift is not None:
            rows = [shift.domains.get(one.name, shift.sources) for one in places.domains]
            self.shares = _constant(np.stack(rows) / shift.sources)
            known = enumerate(places.domains)
            self.steady = [number for number, one in known if one.name in shift.domains]
        network = committee.network
        if network is not None and isinstance(network.module.alignment, BackboneAlignment):
            self.uses_single = True
        ends = committee.output_range
        if ends is None:
            return
        assert deviations is not None
        shape = len(committee.members), ends.least.shape[-1]
        self.least = _constant(np.broadcast_to(ends.least, shape))
        self.largest = _constant(np.broadcast_to(ends.largest, shape))
        self.typical, self.factors = _constant(deviations.typical), _constant(deviations.factors)
        self.least_deviation = float(deviations.least)

    @property
    def estimators(self) -> list[EstimatorPredictor]:
        return [one for member in self._programs for one in member.estimators]

    @property
    def _programs(self) -> list[MemberProgram]:
        return cast("list[MemberProgram]", list(self.members))

    def forward(self, X: Tensor, domain: Tensor) -> tuple[Tensor, ...]:
        return self.after(*self.before(X, domain))

    def before(self, X: Tensor, domain: Tensor) -> tuple[Tensor, ...]:
        """What `after` needs, and last the features that each of `estimators` is given."""
        x = self.behind_gate(X, domain)
        context, features = [], []
        for member in self._programs:
            known, spread, given = member(x, domain)
            context += [known, spread]
            features += [given] * len(member.estimators)
        if self.is_class:
            context.append(self.shares[domain])
        return (*context, *features)

    def after(self, *given: Tensor) -> tuple[Tensor, ...]:
        """Predictions, from what `before` gave but the features, and the answers in their place."""
        answers = iter(given[2 * len(self.members) + self.is_class :])
        parts, spreads = [], []
        for number, member in enumerate(self._programs):
            known, spread = given[2 * number : 2 * number + 2]
            for _ in member.estimators:
                known = known + spread * next(answers)
            parts.append(known)
            spreads.append(spread / member.spread_unit)
        if self.is_class:
            return (self._probabilities(parts, given[2 * len(self.members)]),)
        return self._values(parts, spreads)

    def _probabilities(self, parts: list[Tensor], shares: Tensor) -> Tensor:
        """Tempered, averaged, and corrected for the shares of classes where that helped."""
        smooth = [(1 - self.smoothing) * one + self.smoothing / one.shape[1] for one in parts]
        pairs = zip(smooth, self.temperatures)
        mean = self._mean([torch.softmax(one.log() / warm, dim=1) for one, warm in pairs])
        mean = mean / mean.sum(dim=1, keepdim=True) * shares
        return mean / mean.sum(dim=1, keepdim=True)

    def _values(self, parts: list[Tensor], spreads: list[Tensor]) -> tuple[Tensor, ...]:
        """Kept within their range, averaged, with deviations that grow where members disagree."""
        ends = zip(self.least, self.largest)
        kept = [part.maximum(least).minimum(most) for part, (least, most) in zip(parts, ends)]
        mean, spread = self._mean(kept), self._mean(spreads)
        variance = self._mean([(part - mean) ** 2 for part in kept])
        raw = torch.sqrt((self.typical * spread) ** 2 + variance)
        return mean, (raw * self.factors).clamp_min(self.least_deviation)

    def _mean(self, parts: list[Tensor]) -> Tensor:
        return torch.stack([w * part for w, part in zip(self.weights, parts)]).sum(dim=0)


class Half(nn.Module):
    """`before` or `after` of a committee's program, alone."""

    def __init__(self, program: CommitteeProgram, name: str) -> None:
        super().__init__()
        self.program, self.name = program, name

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        return getattr(self.program, self.name)(*given)


def exported_program(module: nn.Module, given: Sequence[Tensor]) -> Any:
    """As torch.export has it, for any number of rows; a module but `Program` takes `*given`."""
    rows: Any = tuple({0: torch.export.Dim("rows")} for _ in given)
    shapes = rows if isinstance(module, Program) else (rows,)
    return torch.export.export(module, tuple(given), dynamic_shapes=shapes, strict=False)


def ask(estimators: Sequence[EstimatorPredictor], features: Iterable[Tensor]) -> list[Tensor]:
    """The answers of each, for the features that it is given."""
    pairs = zip(estimators, features, strict=True)
    return [torch.tensor(one.predict(part.detach().numpy())) for one, part in pairs]


def build_program(
    committee: Committee,
    indices: FittedIndices,
    extractor: FeatureExtractor | None,
    bounds: InputBounds | None = None,
    columns: Ints | None = None,
) -> CommitteeProgram:
    """The committee for the domains on the map, by their numbers there."""
    program = CommitteeProgram(committee, known_places(indices), extractor, bounds, columns)
    return program.eval().requires_grad_(False)


def build_variational_program(
    module: VariationalModel,
    outputs: OutputScaler | None,
    indices: FittedIndices,
    extractor: FeatureExtractor | None,
    bounds: InputBounds | None,
    columns: Ints | None = None,
) -> VariationalProgram:
    """The paper's model for the domains on the map, by their numbers there."""
    program = VariationalProgram(module, outputs, indices, extractor, bounds, columns)
    return program.eval().requires_grad_(False)


def known_places(indices: FittedIndices) -> PlacedRows:
    """The known domains, each with a single row that says nothing."""
    index = indices.domain_map.index
    angles = None if index.angles is None else dict(zip(index.domains, index.angles.tolist()))
    domains = tuple(
        DomainRows(name, np.array([number]), place)
        for number, (name, place) in enumerate(zip(index.domains, index.coordinates))
    )
    return PlacedRows(np.zeros((len(domains), 1)), domains, angles)
