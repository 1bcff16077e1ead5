"""What predicts, once it is fitted: a representation and what was learned on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.committee.learning import predict_with
from domindex.committee.predictors import Predictor, predictor_from_state, predictor_state
from domindex.data.standardizing import OutputScaler
from domindex.model.fitted_indices import FittedIndices
from domindex.model.latents import Latents
from domindex.model.module import EncodingModule
from domindex.networks.alignments import FlowAlignment
from domindex.representations import PlacedRows, Representation, representation_named

Floats = NDArray[np.float64]


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


def member_from_state(state: dict[str, Any]) -> Member:
    """What a member's `state` described."""
    kinds = {kind.kind: kind for kind in (NetworkMember, PredictorMember)}
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
