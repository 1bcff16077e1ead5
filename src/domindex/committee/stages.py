"""The stages of a fit that are stored, so that one that was cut off need not repeat them."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from torch import nn

from domindex.arrays import Floats
from domindex.committee.candidates import Candidate
from domindex.committee.committee import PredictorMember
from domindex.committee.context import FitContext
from domindex.committee.folds import RepresentedFolds
from domindex.committee.learners.base import Predictor
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData
from domindex.persistence.stage_cache import StageCache
from domindex.representations import PlacedRows, Representation
from domindex.vdi.fitted_indices import FittedIndices
from domindex.vdi.module import IndexModule
from domindex.versions import source_hash, versions


def load_map(context: FitContext) -> tuple[FittedIndices, DomainGeometry] | None:
    """Indices and geometry, where they were stored."""
    found = context.load_stage("map")
    if found is None:
        return None
    geometry, module = found["geometry"], IndexModule.from_state(found["module"])
    return FittedIndices(geometry.scaler, module, geometry.domain_map), geometry


def store_map(context: FitContext, indices: FittedIndices, geometry: DomainGeometry) -> None:
    context.store_stage("map", {"geometry": geometry, "module": indices.module.state()})


class CandidateStages:
    """What candidates predicted and learned.

    Candidates come in the same order in a fit that is started again: they are known by their names,
    and by how many of that name were asked for before. What took less than `min_seconds` is not
    stored: to write the trees of a forest and read them again takes a good part of that.
    """

    min_seconds = 0.5

    def __init__(self, cache: StageCache) -> None:
        self._cache = cache
        self._names: dict[Candidate, str] = {}
        self._counts: dict[str, int] = {}

    def held_out(self, candidate: Candidate) -> Floats | None:
        """(n, columns) what it predicted of held-out rows, if that was stored."""
        return self._cache.load(f"held out {self._name(candidate)}")

    def store_held_out(self, candidate: Candidate, predicted: Floats) -> None:
        self._cache.store(f"held out {self._name(candidate)}", predicted)

    def member(self, candidate: Candidate, represented: RepresentedFolds) -> PredictorMember | None:
        """What it learned from all sources, if that was stored."""
        state = self._cache.load(f"predictor {self._name(candidate)}")
        if state is None:
            return None
        is_class = represented.data.classes is not None
        return PredictorMember(represented.representation, Predictor.from_entry(state), is_class)

    def store_member(self, candidate: Candidate, member: PredictorMember, seconds: float) -> None:
        """Where it took long, and can be written without pickle."""
        if self._cache.folder is None or seconds < self.min_seconds or not member.predictor.kind:
            return
        try:
            state = member.predictor.entry()
        except InputError:  # an estimator of the user's that skops does not know
            return
        self._cache.store(f"predictor {self._name(candidate)}", state)

    def represented(
        self, kind: type[Representation], data: DomainData, geometry: DomainGeometry, is_cut: bool
    ) -> RepresentedFolds:
        """All rows in a representation, which is stored where it took long."""
        name = f"representation {kind.name}"
        state = self._cache.load(name)
        if state is not None:
            representation = kind.from_state(state)
            rows = representation.apply(PlacedRows.of_map(data, geometry.domain_map))
            return RepresentedFolds(data, geometry, representation, rows, is_cut)
        made, seconds = timed(RepresentedFolds.fit, kind, data, geometry, is_cut)
        if seconds >= self.min_seconds and kind.__module__.startswith("domindex."):
            self._cache.store(name, made.representation.state())
        return made

    def _name(self, candidate: Candidate) -> str:
        if candidate not in self._names:
            number = self._counts[candidate.name] = self._counts.get(candidate.name, -1) + 1
            self._names[candidate] = f"{candidate.name} {number}"
        return self._names[candidate]


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a function returns, and the seconds that it took."""
    start = time.monotonic()
    result = function(*arguments)
    return result, time.monotonic() - start


def fit_facts(model: BaseEstimator, data: DomainData, seed: int) -> dict[str, str]:
    """Everything that determines a fit, as texts by the name that a user knows it by.

    Not among them: parameters that change no result, and `random_state`, which the seed stands for.
    """
    parameters = {
        name: _text(value)
        for name, value in sorted(model.get_params(deep=True).items())
        if name not in ("verbose", "n_jobs", "random_state")
    }
    return {
        "the estimator": type(model).__name__,
        "the data": data_checksum(data),
        **parameters,
        "the seed": str(seed),
        "the code of domindex": source_hash(),
        **{f"the version of {name}": number for name, number in versions().items()},
    }


def data_checksum(data: DomainData) -> str:
    """Of rows, labels, domains and weights behind the gate."""
    digest = hashlib.blake2b(digest_size=32)
    for field in fields(data):
        value = getattr(data, field.name)
        digest.update(f"{field.name}:".encode())
        if isinstance(value, np.ndarray) and value.dtype != object:
            digest.update(f"{value.dtype}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            plain = value.tolist() if isinstance(value, np.ndarray) else value
            digest.update(_text(plain).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _text(value: Any) -> str:
    """A value by what it says, without its place in memory; networks by their weights."""
    if isinstance(value, nn.Module):
        digest = hashlib.blake2b(repr(value).encode(), digest_size=32)
        for name, tensor in value.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().float().numpy().tobytes())
        return f"{type(value).__name__} {digest.hexdigest()}"
    if isinstance(value, np.ndarray):
        text = str(value.tolist()).encode(errors="surrogatepass")
        return f"array{value.shape} {hashlib.sha256(text).hexdigest()}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        inner = sorted(value.get_params(deep=False).items())
        return f"{type(value).__name__}({', '.join(f'{n}={_text(one)}' for n, one in inner)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(_text(one) for one in value) + ")"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
