"""What predicts, once it is fitted: a representation and what was learned on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.committee.predictors import Predictor, predictor_from_state, predictor_state
from domindex.data.standardizing import OutputScaler
from domindex.errors import InputError
from domindex.model.fitted_indices import FittedIndices
from domindex.model.latents import Latents
from domindex.model.module import EncodingModule
from domindex.networks.alignments import FlowAlignment
from domindex.representations import (
    PlacedRows,
    Representation,
    RepresentedRows,
    representation_named,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Probabilities (rows, classes), or values with their deviations, (rows, outputs) each."""

    mean: Floats
    deviation: Floats | None = None


@dataclass(frozen=True, eq=False)
class Deviations:
    """What makes deviations mean what they say: factors (outputs,), and the least there may be."""

    factors: Floats
    least: float

    def apply(self, raw: Floats) -> Floats:
        return np.maximum(raw * self.factors, self.least)

    def state(self) -> dict[str, Any]:
        return {"factors": self.factors, "least": float(self.least)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Deviations:
        return cls(state["factors"], float(state["least"]))


class Member(ABC):
    """A fitted representation and predictor."""

    kind: ClassVar[str]
    representation: Representation

    @abstractmethod
    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Prediction:
        """Deterministic: at posterior means."""

    @abstractmethod
    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        """What predictions are made from, (rows, size)."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that `member_from_state` needs."""

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
    deviations : how they are calibrated; None for classes
    """

    kind: ClassVar[str] = "network"
    representation: Representation
    module: EncodingModule
    outputs: OutputScaler | None = None
    deviations: Deviations | None = None

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Prediction:
        if self.outputs is None:
            parts = [self.module.predict(z.z).probs[0] for z in self._latents(rows, indices)]  # type: ignore[attr-defined]
            probabilities = _gathered(rows, parts)
            return Prediction(probabilities / probabilities.sum(axis=1, keepdims=True))
        predicted = [self.module.predict(z.z) for z in self._latents(rows, indices)]
        mean = _gathered(rows, [part.mean[0] for part in predicted])
        raw = _gathered(rows, [part.stddev[0] for part in predicted])
        represented = self.representation.apply(rows)
        raw = raw * represented.spread * self.outputs.scale
        deviation = raw if self.deviations is None else self.deviations.apply(raw)
        return Prediction(represented.restore(self.outputs.restore(mean)), deviation)

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        return _gathered(rows, [latents.z[0] for latents in self._latents(rows, indices)])

    @property
    def is_straightened(self) -> bool:
        """Whether inputs were bent, and a warp shared by all domains straightens them."""
        alignment = self.module.alignment
        return isinstance(alignment, FlowAlignment) and alignment.is_straightened

    def calibrated(self, deviations: Deviations) -> NetworkMember:
        return replace(self, deviations=deviations)

    def state(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "representation": self._representation_state(),
            "module": self.module.state(),
            "outputs": None if self.outputs is None else self.outputs.state(),
            "deviations": None if self.deviations is None else self.deviations.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> NetworkMember:
        outputs, deviations = state["outputs"], state["deviations"]
        return cls(
            _representation(state),
            EncodingModule.from_state(state["module"]),
            None if outputs is None else OutputScaler.from_state(outputs),
            None if deviations is None else Deviations.from_state(deviations),
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
    deviations : how far values are off in domains that were held out; None for classes
    """

    kind: ClassVar[str] = "predictor"
    representation: Representation
    predictor: Predictor
    deviations: Deviations | None = None

    def predict(self, rows: PlacedRows, indices: FittedIndices) -> Prediction:
        represented = self.representation.apply(rows)
        predicted = self.predictor.predict(represented.features)
        predicted = check_predictions(self.predictor, predicted, represented)
        if self.deviations is None:
            return Prediction(predicted / predicted.sum(axis=1, keepdims=True))
        raw = np.broadcast_to(represented.spread, predicted.shape)
        return Prediction(represented.restore(predicted), self.deviations.apply(raw))

    def encode(self, rows: PlacedRows, indices: FittedIndices) -> Floats:
        return self.representation.apply(rows).features

    def state(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "representation": self._representation_state(),
            "predictor": predictor_state(self.predictor),
            "deviations": None if self.deviations is None else self.deviations.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> PredictorMember:
        predictor, deviations = state["predictor"], state["deviations"]
        return cls(
            _representation(state),
            predictor_from_state(predictor),
            None if deviations is None else Deviations.from_state(deviations),
        )


def check_predictions(predictor: Predictor, predicted: Any, rows: RepresentedRows) -> Floats:
    """One finite row of outputs for every row; anyone may register a predictor."""
    array = np.asarray(predicted, dtype=np.float64)
    if array.ndim != 2 or len(array) != len(rows.features):
        raise InputError(
            f"The predictor {predictor.name!r} returned shape {array.shape} for "
            f"{len(rows.features)} rows. Return (rows, classes) or (rows, outputs)."
        )
    if not np.isfinite(array).all():
        raise InputError(
            f"The predictor {predictor.name!r} returned NaN or infinity. "
            "Look for extreme values in X, or choose another predictor."
        )
    return array


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
