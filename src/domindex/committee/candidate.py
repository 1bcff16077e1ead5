"""A representation and a learner, as a hypothesis on how a rule carries over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from domindex.committee.boosted_linear_learner import BoostedLinearLearner
from domindex.committee.choice_settings import ChoiceSettings
from domindex.committee.convolutional_learner import ConvolutionalLearner
from domindex.committee.learner import Learner
from domindex.committee.linear_learner import LinearLearner
from domindex.committee.neighbours_learner import NeighboursLearner
from domindex.committee.predictors import learner_for, predictor_named
from domindex.committee.standard_learners import KernelLearner
from domindex.data import DomainData
from domindex.data.layout import InputLayout
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.representations import list_representations, representation_named
from domindex.representations.raw import Raw, WithIndex

NETWORK = "network"
"""The variational network by name: a predictor that aligns rows itself."""

ENCODED = "encoded"
"""What the network encodes, by name: z as the features of another predictor. No `Representation`,
because it has seen labels: it is there where a network was trained without those held out."""

ENCODED_PREDICTORS = ("linear", "trees")
"""Predictors that are tried on what the network encodes, where the network itself is tried: one
that continues beyond what it has seen and one that bends. For time, not tuned."""

BALANCED = ("raw", "row_centred", "row_standardised", "domain_scaled", "domain_standardised")
"""Representations on which a linear rule is also tried with balancing weights: it is cheap there,
and their features are the rows' own."""

KEEPS_GRID = ("raw", "grid_flow")
"""Representations whose rows are still pictures or signals: what convolutions and nearest
neighbours are tried on."""

MIXES_CELLS = ("with_means", "domain_whitened", "coral")
"""Representations that are not tried on pictures and signals: they make features of many cells at
once, so that neither a neighbour nor a motion means anything there, and on 28 × 28 they take
minutes. On held-out domains next to the others they can look best all the same. Left out below
`MANY_CELLS` too since the target scores of digits that grow were seen."""

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
        left_out = MIXES_CELLS if data.layout.is_grid else ()
        names = [
            kind.name for kind in kinds if kind.name not in left_out and kind.serves(data, geometry)
        ]
    if predictor != "auto":
        learner = _learner(predictor, data)
        if learner is None and representation == "auto":
            names = [given_to_network]
        if isinstance(learner, ConvolutionalLearner) and representation == "auto":
            names = [name for name in names if name in KEEPS_GRID]
        given = [c for name in names for c in _with_penalties(name, learner, settings)]
        return _settled(given_to_network, given, geometry)
    given = _all_of(names, settings, data)
    if has_backbone and representation not in ("auto", ENCODED):
        given_to_network = representation
    if has_backbone or (representation == "auto" and "flow" in names):
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
        rules = _with_penalties(name, linear, settings)
        result += [*rules, *(Candidate(name, other) for other in others)]
        if layout.is_grid and name in KEEPS_GRID:
            result.append(Candidate(name, ConvolutionalLearner(layout)))
            result.append(Candidate(name, NeighboursLearner()))
        if name in BALANCED and not _has_many_cells(layout):
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
    return "flow" if geometry.has_flow and not has_backbone else Raw.name


def _with_penalties(
    name: str, learner: Learner | None, settings: ChoiceSettings
) -> list[Candidate]:
    if isinstance(learner, LinearLearner):
        rules = [replace(learner, penalty=penalty) for penalty in settings.penalties]
        return [Candidate(name, rule) for rule in rules]
    return [Candidate(name, learner)]
