"""The committee for known domains as one torch module: rows and domain numbers to predictions.

A known domain is a number, and all that depends on it is a row of a table: nothing of the map, of
transport or of placing is left. What scikit-learn fitted is no part of the module. It is asked
between `Program.before`, which gives its features, and `Program.after`, which is given its answers.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from domindex.committee.committee import (
    Committee,
    EncodedMember,
    Member,
    NetworkMember,
    PredictorMember,
)
from domindex.committee.learners.estimators import EstimatorPredictor
from domindex.inputs.bounds import InputBounds
from domindex.representations.base import DomainRows, KnownDomainForm, PlacedRows, Representation
from domindex.vdi.alignments import Alignment
from domindex.vdi.backbones import FeatureExtractor
from domindex.vdi.fitted_indices import FittedIndices
from domindex.vdi.networks import Whitening


class NotExportableError(Exception):
    """A part that no program can stand for; the message says which, and why."""


def _constant(array: Any) -> Tensor:
    """In double precision, as predictions are made."""
    return torch.tensor(np.asarray(array), dtype=torch.float64).contiguous()


class _Represented(nn.Module):
    """The arithmetic of a `KnownDomainForm`: features, and level and spread of outputs (n, 1)."""

    def __init__(self, form: KnownDomainForm) -> None:
        super().__init__()
        self.form = form
        names = ("levels", "offsets", "scales", "matrix", "matrices", "shifts", "beside")
        known = [name for name in names if getattr(form, name) is not None]
        self.tables = {name: _constant(getattr(form, name)) for name in known}
        self.scales = [_scale(one) for one in (form.scaler, form.outputs) if one is not None]
        if form.uses_matrix is not None:
            self.tables["uses_matrix"] = torch.tensor(form.uses_matrix[:, None])

    def forward(self, x: Tensor, domain: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        tables = self.tables.items()
        of_domain = {name: one if name == "matrix" else one[domain] for name, one in tables}
        level, spread = self._level_and_spread(x, of_domain.get("levels"))
        z = ((x - level) / spread - self.scales[0][0]) / self.scales[0][1]
        if "offsets" in of_domain:
            z = z - of_domain["offsets"]
        if "scales" in of_domain:
            z = z / of_domain["scales"]
        if "matrix" in of_domain:
            moved = z @ of_domain["matrix"]
            uses = of_domain.get("uses_matrix")
            z = moved if uses is None else torch.where(uses, moved, z)
        if "matrices" in of_domain:
            n_moving = of_domain["matrices"].shape[1]
            moved = (z[:, None, :n_moving] @ of_domain["matrices"]).squeeze(1)
            z = torch.cat([moved, z[:, n_moving:]], dim=1)
        if "shifts" in of_domain:
            z = z + of_domain["shifts"]
        for offset, scale in self.scales[1:]:
            z = (z - offset) / scale
        if "beside" in of_domain:
            z = torch.cat([z, of_domain["beside"]], dim=1)
        return z, level, spread

    def _level_and_spread(self, x: Tensor, levels: Tensor | None) -> tuple[Tensor, Tensor]:
        if levels is not None:
            return levels[:, :1], levels[:, 1:]
        level = x.mean(dim=1, keepdim=True) if self.form.row_level else torch.zeros_like(x[:, :1])
        if self.form.min_row_spread is None:
            return level, torch.ones_like(level)
        variance = ((x - level) ** 2).mean(dim=1, keepdim=True)
        return level, variance.sqrt().clamp_min(self.form.min_row_spread)


def _scale(scaler: Any) -> tuple[Tensor, Tensor]:
    return _constant(scaler.offset), _constant(scaler.scale)


def _represented(given: Representation, places: PlacedRows) -> _Represented:
    form = None
    if "known_form" in vars(type(given)):  # one that is inherited may not fit what the class does
        try:
            form = given.known_form(places)
        except KeyError as error:
            raise NotExportableError(f"{given.name} does not know the domain {error}") from error
    if form is None:
        raise NotExportableError(f"the representation {given.name!r} has no form in torch")
    return _Represented(form)


class _Encoder(nn.Module):
    """Represented rows to the mean of q(z|x,u,β). β is the place of the domain, so that all that it
    decides is a table; the mean does not depend on u."""

    def __init__(self, alignment: Alignment, places: Tensor) -> None:
        super().__init__()
        self.alignment = copy.deepcopy(alignment)
        for part in list(self.alignment.modules()):
            for name, child in part.named_children():
                if isinstance(child, Whitening):
                    setattr(part, name, child.as_linear())
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
    """One member, up to what scikit-learn fitted of it.

    Gives what the rest predicts in the user's units, what answers of `estimators` are multiplied
    with before they are added to it, and the features that these are given.
    """

    def __init__(self, member: Member, places: PlacedRows) -> None:
        super().__init__()
        self.represented = _represented(member.representation, places)
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
        known = level
        for head in self.heads:
            known = known + spread * head(features)
        return known, spread, features


class Program(nn.Module):
    """`Committee.predict` for known domains: probabilities, or means and deviations.

    X is (n, *input_shape) in double precision, domain holds numbers (n,). In a source, `predict`
    takes the shares of classes from the rows of each call. A program has no such rows; it takes
    those of all sources together.
    """

    def __init__(
        self,
        committee: Committee,
        places: PlacedRows,
        extractor: FeatureExtractor | None,
        bounds: InputBounds | None,
    ) -> None:
        super().__init__()
        self.extractor = copy.deepcopy(extractor)
        limits = {} if bounds is None else bounds.limits()._asdict()
        self.limits = {name: _constant(value) for name, value in limits.items()}
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
        ends = committee.output_range
        if ends is None:
            shares = np.ones((len(places.domains), 1))
            if shift is not None:
                names = [one.name for one in places.domains]
                rows = [shift.domains.get(name, shift.sources) for name in names]
                shares = np.stack(rows) / shift.sources
            self.shares = _constant(shares)
            return
        assert deviations is not None
        shape = len(committee.members), ends.least.shape[-1]
        self.least = _constant(np.broadcast_to(ends.least, shape))
        self.largest = _constant(np.broadcast_to(ends.largest, shape))
        self.typical, self.factors = _constant(deviations.typical), _constant(deviations.factors)
        self.least_deviation = float(deviations.least)

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("probabilities",) if self.is_class else ("mean", "deviation")

    @property
    def estimators(self) -> list[EstimatorPredictor]:
        """What scikit-learn fitted, in the order in which it is asked."""
        return [one for member in self._programs for one in member.estimators]

    @property
    def _programs(self) -> list[MemberProgram]:
        return cast("list[MemberProgram]", list(self.members))

    def forward(self, X: Tensor, domain: Tensor) -> tuple[Tensor, ...]:
        return self.after(*self.before(X, domain))

    def before(self, X: Tensor, domain: Tensor) -> tuple[Tensor, ...]:
        """What `after` needs, and last the features that each of `estimators` is given."""
        x = X.flatten(1)
        if self.limits:
            of_row = {name: table[domain] for name, table in self.limits.items()}
            inside = torch.where(x > of_row["high"], of_row["highest"], x)
            x = torch.where(x < of_row["low"], of_row["lowest"], inside)
        if self.extractor is not None:
            x = self.extractor(x)
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
        mean = torch.zeros_like(parts[0])
        for part, weight, temperature in zip(parts, self.weights, self.temperatures):
            smooth = (1 - self.smoothing) * part + self.smoothing / part.shape[1]
            mean = mean + weight * torch.softmax(smooth.log() / temperature, dim=1)
        mean = mean / mean.sum(dim=1, keepdim=True) * shares
        return mean / mean.sum(dim=1, keepdim=True)

    def _values(self, parts: list[Tensor], spreads: list[Tensor]) -> tuple[Tensor, ...]:
        """Kept within their range, averaged, with deviations that grow where members disagree."""
        ends = zip(self.least, self.largest)
        kept = [part.maximum(least).minimum(most) for part, (least, most) in zip(parts, ends)]
        mean = _weighted(self.weights, kept)
        spread = _weighted(self.weights, spreads)
        variance = _weighted(self.weights, [(part - mean) ** 2 for part in kept])
        raw = torch.sqrt((self.typical * spread) ** 2 + variance)
        return mean, (raw * self.factors).clamp_min(self.least_deviation)


def _weighted(weights: list[float], parts: list[Tensor]) -> Tensor:
    return torch.stack([weight * part for weight, part in zip(weights, parts)]).sum(dim=0)


class Half(nn.Module):
    """`before` or `after` of a program, alone."""

    def __init__(self, program: Program, name: str) -> None:
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
) -> Program:
    """The committee for the domains on the map, by their numbers there."""
    program = Program(committee, known_places(indices), extractor, bounds)
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
