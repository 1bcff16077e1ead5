"""What predicts, once it is fitted: a representation and what was learned on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from domindex.arrays import Floats
from domindex.committee.candidates import Candidate, learn, predict_with
from domindex.committee.folds import RepresentedFolds
from domindex.committee.learners.base import Predictor, predictor_from_state, predictor_state
from domindex.inputs.standardizing import OutputScaler
from domindex.representations import (
    PlacedRows,
    Representation,
    RepresentedRows,
    representation_named,
)
from domindex.vdi.alignments import FlowAlignment
from domindex.vdi.fitted_indices import FittedIndices
from domindex.vdi.module import EncodingModule, Latents


class Member(ABC):
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
        """(rows, 1) in which the representation measures outputs, relative to that of all inputs;
        1 where they stay as they are."""
        return self.representation.apply(rows).spread / self.representation.spread_unit

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that `member_from_state` needs."""

    def with_domains(self, rows: PlacedRows) -> Member:
        """Itself, its representation knowing the new domains of these rows."""
        return replace(self, representation=self.representation.with_domains(rows))  # type: ignore[type-var]

    def _representation_state(self) -> dict[str, Any]:
        return {"name": self.representation.name, "state": self.representation.state()}


@dataclass(frozen=True, eq=False)
class NetworkMember(Member):
    """The variational network.

    Attributes
    ----------
    representation : how rows are represented for the encoder
    module : the averaged networks, on the CPU, in double precision
    outputs : values from the network's scale; None for classes
    """

    kind: ClassVar[str] = "network"
    representation: Representation
    module: EncodingModule
    outputs: OutputScaler | None = None

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
        """z as the features of another predictor, (rows, latent_dim), with the units of outputs in
        what the network is given."""
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

    def state(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "representation": self._representation_state(),
            "module": self.module.state(),
            "outputs": None if self.outputs is None else self.outputs.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> NetworkMember:
        outputs = state["outputs"]
        return cls(
            _representation(state),
            EncodingModule.from_state(state["module"]),
            None if outputs is None else OutputScaler.from_state(outputs),
        )

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
    """A predictor on the rows of a representation.

    Attributes
    ----------
    representation : how rows are represented for it
    predictor : what was learned from the sources
    is_class : whether it gives probabilities, which have no units to restore
    """

    kind: ClassVar[str] = "predictor"
    representation: Representation
    predictor: Predictor
    is_class: bool

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        represented = self.representation.apply(rows)
        predicted = predict_with(self.predictor, represented)
        return predicted if self.is_class else represented.restore(predicted)

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        return self.representation.apply(rows).features

    def state(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "representation": self._representation_state(),
            "predictor": predictor_state(self.predictor),
            "is_class": self.is_class,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> PredictorMember:
        predictor = predictor_from_state(state["predictor"])
        return cls(_representation(state), predictor, bool(state["is_class"]))


@dataclass(frozen=True, eq=False)
class EncodedMember(Member):
    """A predictor on what the network encodes.

    Attributes
    ----------
    network : what encodes
    predictor : what was learned from the sources' z
    is_class : whether it gives probabilities, which have no units to restore
    """

    kind: ClassVar[str] = "encoded"
    network: NetworkMember
    predictor: Predictor
    is_class: bool

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

    def state(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "network": self.network.state(),
            "predictor": predictor_state(self.predictor),
            "is_class": self.is_class,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> EncodedMember:
        predictor = predictor_from_state(state["predictor"])
        return cls(NetworkMember.from_state(state["network"]), predictor, bool(state["is_class"]))


def member_from_state(state: dict[str, Any]) -> Member:
    """What a member's `state` described."""
    kinds = {kind.kind: kind for kind in (NetworkMember, PredictorMember, EncodedMember)}
    return kinds[state["kind"]].from_state(state)


def _representation(state: dict[str, Any]) -> Representation:
    described = state["representation"]
    return representation_named(described["name"]).from_state(described["state"])


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
