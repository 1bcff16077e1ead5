"""Candidates, pairs of a representation and a learner, and their trials on held-out sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.committee.folds import HeldOutRows, RepresentedFolds, temper
from domindex.committee.learners.base import Learner, Predictor
from domindex.committee.learners.boosted_linear import BoostedLinearLearner
from domindex.committee.learners.convolutional import ConvolutionalLearner
from domindex.committee.learners.estimators import KernelLearner
from domindex.committee.learners.linear import LinearLearner
from domindex.committee.learners.neighbours import NeighboursLearner
from domindex.committee.learners.registry import learner_for, predictor_named
from domindex.committee.settings import ChoiceSettings
from domindex.errors import PredictorError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.neighbors import PointDistances
from domindex.inputs import DomainData
from domindex.inputs.layout import InputLayout
from domindex.representations import (
    Representation,
    RepresentedRows,
    list_representations,
    representation_named,
)
from domindex.representations.flow import FlowAligned
from domindex.representations.raw import Raw, WithIndex

NETWORK = "network"
"""The variational network by name: a predictor that aligns rows itself."""

ENCODED = "encoded"
"""What the network encodes, by name: z as the features of another predictor. No `Representation`,
because it has seen labels: it is there where a network was trained without those held out."""

ENCODED_PREDICTORS = ("linear", "trees")
"""Predictors that are tried on what the network encodes, where the network itself is tried: one
that continues beyond what it has seen and one that bends. For time, not tuned."""

MANY_CELLS = 256
"""Cells of a picture or a signal beyond which boosting and balancing are not tried. For time, not
tuned."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """What may become a member of the committee.

    Attributes
    ----------
    representation : by name; where the network is in play, what the network is given
    learner : what is fitted on it; None stands for the variational network
    balanced : whether source rows are weighted to look like the targets'
    self_trained : whether it also learns from its own labels of unlabelled domains, nearest first
    encoded : whether the learner is fitted on what the network makes of the representation
    """

    representation: str
    learner: Learner | None
    balanced: bool = False
    self_trained: bool = False
    encoded: bool = False

    @property
    def features(self) -> str:
        """What its predictor is given, by name."""
        return ENCODED if self.encoded else self.representation

    @property
    def needs_network(self) -> bool:
        """Whether the network has to be trained for it."""
        return self.learner is None or self.encoded

    @property
    def predictor(self) -> str:
        return NETWORK if self.learner is None else self.learner.name

    @property
    def name(self) -> str:
        prefix = "balanced " if self.balanced else "self-trained " if self.self_trained else ""
        return f"{prefix}{self.predictor} on {self.features}"

    @property
    def in_threads(self) -> bool:
        """Whether its learner may be fitted in threads: a user's own is not asked to stand that."""
        return bool(getattr(self.learner, "in_threads", False))

    @property
    def follows_domains(self) -> bool:
        """Whether some of its features name the domain, so that a rule may follow the domains."""
        return representation_named(self.representation).separability_of is not None

    @property
    def is_plain(self) -> bool:
        """Whether a user without domains in mind would have tried it."""
        adapted = self.balanced or self.self_trained or self.needs_network
        return self.representation == Raw.name and not adapted


def list_candidates(
    requested: Sequence[tuple[str, Any]] | None,
    representation: str,
    predictor: Any,
    data: DomainData,
    geometry: DomainGeometry,
    settings: ChoiceSettings,
    *,
    has_backbone: bool = False,
) -> list[Candidate]:
    """Pairs that were asked for, or every predictor on every representation that makes sense.

    A linear rule stands there once for each penalty: the folds mix them. The network is tried along
    the flow; with a backbone, which needs rows of the inputs' shape, on raw inputs, or on the
    representation that was asked for.
    """
    given_to_network = _network_representation(geometry, has_backbone)
    if requested is not None:
        pairs = [(name, _learner(choice, data)) for name, choice in requested]
        named = [name for name, learner in pairs if learner is None]
        given = [c for name, one in pairs for c in _with_penalties(name, one, settings)]
        return _settled([*named, given_to_network][0], given, geometry)
    names = [representation]
    if representation == "auto":
        kinds = map(representation_named, list_representations())
        names = [
            kind.name
            for kind in kinds
            if not (kind.mixes_cells and data.layout.is_grid) and kind.serves(data, geometry)
        ]
    if predictor != "auto":
        learner = _learner(predictor, data)
        if learner is None and representation == "auto":
            names = [given_to_network]
        if isinstance(learner, ConvolutionalLearner) and representation == "auto":
            names = [name for name in names if representation_named(name).keeps_grid]
        given = [c for name in names for c in _with_penalties(name, learner, settings)]
        return _settled(given_to_network, given, geometry)
    given = _all_of(names, settings, data)
    if has_backbone and representation not in ("auto", ENCODED):
        given_to_network = representation
    if has_backbone or (representation == "auto" and FlowAligned.name in names):
        given.append(Candidate(given_to_network, None))
        for learner in map(predictor_named, ENCODED_PREDICTORS):
            given += _with_penalties(ENCODED, learner, settings)
    return _settled(given_to_network, given, geometry)


def check_representation(name: Any) -> None:
    """Refuse what nobody knows by that name."""
    if not (isinstance(name, str) and name == ENCODED):
        representation_named(name)


def _settled(
    given_to_network: str, candidates: list[Candidate], geometry: DomainGeometry
) -> list[Candidate]:
    """Those on what the network encodes with what the network is given; linear rules beside β told
    which of their features are a point of the map."""
    together = WithIndex.n_places(geometry)
    settled = []
    for one in candidates:
        if one.representation == ENCODED:
            settled.append(replace(one, representation=given_to_network, encoded=True))
        elif one.representation == WithIndex.name:
            settled.append(replace(one, learner=_beside_places(one.learner, together)))
        else:
            settled.append(one)
    return settled


def _beside_places(learner: Learner | None, together: int) -> Learner | None:
    if isinstance(learner, LinearLearner):
        return replace(learner, together=together)
    if isinstance(learner, BoostedLinearLearner):
        return replace(learner, linear=replace(learner.linear, together=together))
    return learner


def _all_of(names: list[str], settings: ChoiceSettings, data: DomainData) -> list[Candidate]:
    layout = data.layout
    learners = ["linear", "kernel", "trees"]
    if not _has_many_cells(layout):
        learners += ["boosting"] if data.classes is not None else ["boosting", "boosted_linear"]
    linear, *others = (_on_grid(predictor_named(name), layout) for name in learners)
    result = []
    for name in names:
        kind = Representation if name == ENCODED else representation_named(name)
        rules = _with_penalties(name, linear, settings)
        result += [*rules, *(Candidate(name, other) for other in others)]
        if layout.is_grid and kind.keeps_grid:
            result.append(Candidate(name, ConvolutionalLearner(layout)))
            result.append(Candidate(name, NeighboursLearner()))
        if kind.may_balance and not _has_many_cells(layout):
            result += [replace(rule, balanced=True) for rule in rules]
    return result


def _has_many_cells(layout: InputLayout) -> bool:
    return layout.is_grid and prod(layout.shape) > MANY_CELLS


def _learner(choice: Any, data: DomainData) -> Learner | None:
    if isinstance(choice, str) and choice == NETWORK:
        return None
    learner = learner_for(choice, data.task)
    if isinstance(learner, ConvolutionalLearner):
        return learner.for_layout(data.layout)
    return _on_grid(learner, data.layout)


def _on_grid(learner: Learner, layout: InputLayout) -> Learner:
    """Cells of pictures and signals share their units, and learners that can shall leave it so."""
    if layout.is_grid and isinstance(learner, LinearLearner | KernelLearner):
        return replace(learner, same_units=True)
    return learner


def _network_representation(geometry: DomainGeometry, has_backbone: bool) -> str:
    return FlowAligned.name if geometry.has_flow and not has_backbone else Raw.name


def _with_penalties(
    name: str, learner: Learner | None, settings: ChoiceSettings
) -> list[Candidate]:
    if isinstance(learner, LinearLearner):
        rules = [replace(learner, penalty=penalty) for penalty in settings.penalties]
        return [Candidate(name, rule) for rule in rules]
    return [Candidate(name, learner)]


def fit_candidate(
    candidate: Candidate,
    train: RepresentedRows,
    rows: NDArray[np.int64],
    data: DomainData,
    seed: int,
    weights: Floats | None,
) -> Predictor:
    """The candidate's learner on represented rows, which are the given rows of the data."""
    assert candidate.learner is not None
    labels, n_classes = data.labels[rows], None
    if data.classes is not None:
        n_classes = len(data.classes)
    else:
        labels = train.normalize(labels)
    extra = {} if weights is None else {"weights": weights}
    return candidate.learner.fit(train.features, labels, n_classes, seed, **extra)


def predict_with(predictor: Predictor, rows: RepresentedRows) -> Floats:
    """One finite row of outputs for every row; anyone may bring a predictor."""
    array = np.asarray(predictor.predict(rows.features), dtype=np.float64)
    if array.ndim != 2 or len(array) != len(rows.features):
        raise PredictorError(
            f"The predictor {predictor.name!r} returned shape {array.shape} for "
            f"{len(rows.features)} rows. Return (rows, classes) or (rows, outputs)."
        )
    if not np.isfinite(array).all():
        raise PredictorError(
            f"The predictor {predictor.name!r} returned NaN or infinity. "
            "Look for extreme values in X, or choose another predictor."
        )
    return array


@dataclass(frozen=True, eq=False)
class Trial:
    """What a candidate predicted in the folds, and what that cost.

    Attributes
    ----------
    candidate : the candidate
    predicted : (n, columns) for the held-out rows, calibrated, in the user's units
    temperature : by which its probabilities are softened; 1 for values
    losses : (parts,) mean loss of every held-out domain, near and far
    """

    candidate: Candidate
    predicted: Floats
    temperature: float
    losses: Floats

    @classmethod
    def of(cls, candidate: Candidate, predicted: Floats, rows: HeldOutRows) -> Trial:
        """Scored after calibration: probabilities that are too sure are a fault of scale."""
        temperature = 1.0
        if rows.n_classes is not None:
            temperature = rows.temperature(predicted)
            predicted = temper(predicted, temperature, rows.smoothing)
        return cls(candidate, predicted, temperature, rows.by_part(rows.losses(predicted)))

    def near(self, rows: HeldOutRows) -> float:
        return float(self.losses[~rows.is_far].mean())

    def far(self, rows: HeldOutRows) -> float:
        """NaN where there are no far folds."""
        return float(self.losses[rows.is_far].mean()) if rows.is_far.any() else np.nan

    def loss(self, rows: HeldOutRows) -> float:
        return float(rows.part_weights @ self.losses)


STAGES = 4
"""Groups of domains that are admitted in turn; for time, not tuned."""

STAGE_ROWS = 1500
"""Pseudo-labelled rows that a stage adds, at most; for time, not tuned."""


def arrival_groups(
    distances: PointDistances, is_known: NDArray[np.bool_], others: Ints
) -> list[Ints]:
    """The other domains in at most `STAGES` groups, those next to what is known first.

    `distances` are those of the map; a domain that has arrived is known to those
    after it.
    """
    if not len(others):
        return []
    nearest = distances.to_nearest(others, np.flatnonzero(is_known))
    has_arrived = np.zeros(len(others), dtype=bool)
    order = np.empty(len(others), dtype=np.int64)
    for place in range(len(others)):
        first = int(np.argmin(nearest))
        order[place], has_arrived[first] = others[first], True
        nearest = np.minimum(nearest, distances.row(order[place])[others])
        nearest[has_arrived] = np.inf
    groups = np.array_split(order, min(STAGES, len(order)))
    return [group for group in groups if len(group)]


def self_trained(
    candidate: Candidate,
    train: RepresentedRows,
    known: Ints,
    represented: RepresentedFolds,
    held_out: Ints,
    seed: int,
    weights: Floats | None,
) -> Predictor:
    """The candidate's learner on known rows and on what it says itself of unlabelled domains.

    `train` are the known rows as represented, `known` their numbers. Unlabelled are the targets
    and, in a fold, the domains that are held out.
    """
    data, rng = represented.data, np.random.default_rng(seed)
    assert candidate.learner is not None
    assert data.classes is not None
    is_known = np.zeros(data.n_domains, dtype=bool)
    is_known[np.unique(data.row_domains[known])] = True
    others = np.union1d(np.flatnonzero(~data.is_source), held_out)
    distances = PointDistances.of(represented.geometry.domain_map.coordinates)
    features, labels, counts = train.features, data.labels[known], weights
    predictor = fit_candidate(candidate, train, known, data, seed, weights)
    for group in arrival_groups(distances, is_known, others):
        rows = rng.permutation(np.flatnonzero(np.isin(data.row_domains, group)))[:STAGE_ROWS]
        added = represented.rows.part(np.sort(rows))
        guessed = predict_with(predictor, added).argmax(axis=1)
        features = np.vstack([features, added.features])
        labels = np.concatenate([labels, guessed])
        extra = {}
        if counts is not None:
            counts = np.concatenate([counts, np.full(len(rows), counts.mean())])
            extra = {"weights": counts}
        predictor = candidate.learner.fit(features, labels, len(data.classes), seed, **extra)
    return predictor


def learn(
    candidate: Candidate,
    represented: RepresentedFolds,
    train: RepresentedRows,
    goal: RepresentedRows,
    known: Ints,
    held_out: Ints,
    seed: int,
) -> Predictor:
    """The candidate on known rows, for rows that look like `goal`.

    `train` are the known rows as represented, `known` their numbers, and `held_out` the domains
    that a fold puts in the targets' role.
    """
    data = represented.data
    weights = None if data.weights is None else data.weights[known]
    if candidate.balanced and len(goal.features):
        balanced = represented.balancing(train, goal, known, held_out)
        weights = balanced if weights is None else balanced * weights
    if candidate.self_trained:
        return self_trained(candidate, train, known, represented, held_out, seed, weights)
    return fit_candidate(candidate, train, known, data, seed, weights)
