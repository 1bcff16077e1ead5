"""Candidates, pairs of a representation and a learner, and their trials on held-out sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.committee.folds import Fold, HeldOutRows, RepresentedFolds, temper
from domindex.committee.learners.base import PREDICTORS, Learner, Predictor
from domindex.committee.learners.estimators import learner_for
from domindex.committee.settings import ChoiceSettings
from domindex.errors import InputError, PredictorError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.neighbors import PointDistances
from domindex.inputs import DomainData
from domindex.representations import (
    Representation,
    RepresentedRows,
    list_representations,
    representation_named,
)
from domindex.representations.base import Raw
from domindex.representations.flow import FlowAligned

NETWORK = "network"  # a predictor that aligns rows itself
BOOSTERS = "boosters"  # beside the default's candidates, what needs a package that is an extra
ENCODED = "encoded"  # z of the network as features: no `Representation`, for it has seen labels


@dataclass(frozen=True, eq=False)
class Candidate:
    """What may become a member of the committee."""

    representation: str  # by name; where the network is in play, what the network is given
    learner: Learner | None  # what is fitted on it; None stands for the variational network
    balanced: bool = False  # whether source rows are weighted to look like the targets'
    self_trained: bool = False  # also on its own labels of unlabelled domains, nearest first
    encoded: bool = False  # on what the network makes of the representation

    @property
    def features(self) -> str:
        """What its predictor is given, by name."""
        return ENCODED if self.encoded else self.representation

    @property
    def needs_network(self) -> bool:
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
        return self.learner is not None and self.learner.in_threads

    @property
    def is_plain(self) -> bool:
        """Whether a user without domains in mind would have tried it."""
        adapted = self.balanced or self.self_trained or self.needs_network
        return representation_named(self.representation).is_plain and not adapted

    @property
    def is_family(self) -> bool:
        """Whether it stands for its family in the equal mean of plain rules."""
        return self.is_plain and self.learner is not None and self.learner.is_family


def list_candidates(
    requested: Sequence[tuple[str, Any]] | str | None,
    representation: str,
    predictor: Any,
    data: DomainData,
    geometry: DomainGeometry,
    settings: ChoiceSettings,
    *,
    has_backbone: bool = False,
) -> list[Candidate]:
    """Pairs that were asked for, or every predictor on every representation that makes sense; with
    `BOOSTERS` those too that need an extra, where it is installed.

    The network is tried along the flow; with a backbone, which needs rows of the inputs' shape, on
    raw inputs or what was asked for.
    """
    given_to_network = Raw.name if has_backbone else FlowAligned.name
    if requested is not None and not isinstance(requested, str):
        pairs = [(name, _learner(choice, data)) for name, choice in requested]
        named = [name for name, learner in pairs if learner is None]
        given = [Candidate(name, learner) for name, learner in pairs]
        return _settled(given, [*named, given_to_network][0], geometry, settings)
    names, is_open = [representation], representation == "auto"
    if is_open:
        kinds = map(representation_named, list_representations())
        allowed = [kind for kind in kinds if not (kind.mixes_cells and data.layout.is_grid)]
        names = [kind.name for kind in allowed if kind.serves(data, geometry)]
    if predictor != "auto":
        learner = _learner(predictor, data)
        if is_open and learner is None:
            names = [given_to_network]
        elif is_open and learner is not None and learner.needs_grid:
            names = [name for name in names if representation_named(name).keeps_grid]
        given = [Candidate(name, learner) for name in names]
        return _settled(given, given_to_network, geometry, settings)
    given = _all_of(names, settings, data, with_extras=requested == BOOSTERS)
    if has_backbone and representation not in ("auto", ENCODED):
        given_to_network = representation
    if has_backbone or (is_open and FlowAligned.name in names):
        given.append(Candidate(given_to_network, None))
        given += [Candidate(ENCODED, one) for one in _known_learners() if one.on_encoding]
    return _settled(given, given_to_network, geometry, settings)


def check_representation(name: Any) -> None:
    """Refuse what nobody knows by that name."""
    if not (isinstance(name, str) and name == ENCODED):
        representation_named(name)


def check_boosters() -> None:
    """Refuse the wish for those that need an extra where none of them is installed."""
    needed = [one for one in _known_learners() if one.package is not None]
    if not any(one.is_installed for one in needed):
        names = " nor ".join(str(one.package) for one in needed)
        raise InputError(
            f"candidates is {BOOSTERS!r}, and neither {names} is installed. "
            "Run pip install 'domindex[boosting]', or leave candidates out."
        )


def _known_learners() -> list[Learner]:
    known = [PREDICTORS[name] for name in PREDICTORS.names()]
    return [one for one in known if isinstance(one, Learner)]


def _settled(
    given: list[Candidate], to_network: str, geometry: DomainGeometry, settings: ChoiceSettings
) -> list[Candidate]:
    """The same with every penalty, what the network is given, and which features are a place."""
    settled = []
    for one in given:
        if one.representation == ENCODED:
            one = replace(one, representation=to_network, encoded=True)
        elif one.learner is not None:
            count = representation_named(one.representation).n_places(geometry)
            one = replace(one, learner=one.learner.with_map_coordinates(count)) if count else one
        learners = [None] if one.learner is None else one.learner.variants(settings.penalties)
        settled += [replace(one, learner=learner) for learner in learners]
    return settled


def _all_of(
    names: list[str], settings: ChoiceSettings, data: DomainData, *, with_extras: bool
) -> list[Candidate]:
    """What the default tries: every learner where it says that it is of use."""
    layout = data.layout
    is_small = not layout.is_grid or prod(layout.shape) <= settings.max_cells
    learners = [
        one.for_layout(layout)
        for one in _known_learners()
        if one.rounds
        and (one.package is None or (with_extras and one.is_installed))
        and one.task in (None, data.task)
        and {"all": True, "small": is_small, "only": layout.is_grid}[one.grids]
    ]
    result = []
    for name in names:
        kind = Representation if name == ENCODED else representation_named(name)
        tried = [one for one in learners if one.grids != "only" or kind.keeps_grid]
        if kind.separability_of is not None:  # what stands still beyond its domains gains nothing
            tried = [one for one in tried if one.extrapolates]
        result += [Candidate(name, one) for one in tried]
        if kind.may_balance and is_small and not data.is_source.all():
            result += [Candidate(name, one, balanced=True) for one in tried if one.may_balance]
    return result


def _learner(choice: Any, data: DomainData) -> Learner | None:
    if isinstance(choice, str) and choice == NETWORK:
        return None
    return learner_for(choice, data.task).for_layout(data.layout)


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
    """What a candidate predicted in the folds, and what that cost."""

    candidate: Candidate  # the candidate
    predicted: Floats  # (n, columns) for the held-out rows, calibrated, in the user's units
    temperature: float  # by which its probabilities are softened; 1 for values
    losses: Floats  # (parts,) mean loss of every held-out domain, near and far

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


def arrival_groups(
    distances: PointDistances, is_known: NDArray[np.bool_], others: Ints, max_groups: int = 4
) -> list[Ints]:
    """The other domains in a few groups, those next on the map to what has arrived first."""
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
    groups = np.array_split(order, min(max_groups, len(order)))
    return [group for group in groups if len(group)]


def learn(candidate: Candidate, represented: RepresentedFolds, fold: Fold, seed: int) -> Predictor:
    """The candidate on the rows that a fold learns from, for rows like those that it holds out.

    A self-trained one also learns from what it says itself of targets and held-out domains, the
    nearest on the map first, 1500 rows of a group at most.
    """
    data, learner = represented.data, candidate.learner
    assert learner is not None
    train, goal = represented.of(fold)
    weights = None if data.weights is None else data.weights[fold.train]
    if candidate.balanced and len(goal.features):
        balanced = represented.balancing(fold)
        weights = balanced if weights is None else balanced * weights
    features, labels = train.features, data.labels[fold.train]
    if data.classes is None:
        return learner.fit(features, train.normalize(labels), None, seed, weights)
    n_classes, rng = len(data.classes), np.random.default_rng(seed)
    predictor = learner.fit(features, labels, n_classes, seed, weights)
    if not candidate.self_trained:
        return predictor
    is_known = np.zeros(data.n_domains, dtype=bool)
    is_known[np.unique(data.row_domains[fold.train])] = True
    others = np.union1d(np.flatnonzero(~data.is_source), fold.domains)
    distances = PointDistances(represented.geometry.domain_map.coordinates)
    for group in arrival_groups(distances, is_known, others):
        rows = rng.permutation(np.flatnonzero(np.isin(data.row_domains, group)))[:1500]
        added = represented.rows.part(np.sort(rows))
        labels = np.concatenate([labels, predict_with(predictor, added).argmax(axis=1)])
        features = np.vstack([features, added.features])
        if weights is not None:
            weights = np.concatenate([weights, np.full(len(rows), weights.mean())])
        predictor = learner.fit(features, labels, n_classes, seed, weights)
    return predictor
