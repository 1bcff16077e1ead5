"""Parameters of an estimator checked before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from domindex.committee.candidates import (
    ENCODED,
    NETWORK,
    check_representation,
)
from domindex.committee.learners.estimators import learner_for
from domindex.errors import InputError
from domindex.inputs.layout import check_inputs_kind
from domindex.inputs.parameters import MOST_DIMENSIONS, check_running, require_counts, require_texts
from domindex.vdi.backbones import as_backbone
from domindex.vdi.settings import Network, Training

if TYPE_CHECKING:
    from domindex.estimators.vdi import BaseVDI

EFFORTS = ("full", "quick")


def check_parameters(model: BaseVDI) -> None:
    """Refuse parameters that cannot be used, before any work."""
    check_running(model)
    require_texts(model, "inputs", "representation", "effort")
    require_texts(model, "flow", none_too=True)
    check_inputs_kind(model.inputs)
    if model.flow not in ("auto", None):
        raise InputError(f"flow is {model.flow!r}. Choose 'auto', or None for no flow.")
    require_counts(model, "index_dim", most=MOST_DIMENSIONS)
    if model.local_dim is not None:
        require_counts(model, "local_dim", most=MOST_DIMENSIONS)
    if model.representation != "auto":
        check_representation(model.representation)
        _check_encoded(model.representation, model.predictor)
    if model.flow is None and model.representation == "flow":
        raise InputError(
            "flow is None, so there is no flow for representation='flow' to follow. "
            "Choose flow='auto', or another representation."
        )
    if model.effort not in EFFORTS:
        raise InputError(f"effort is {model.effort!r}. Choose one of {EFFORTS}.")
    _check_predictor(model, model.predictor)
    _check_candidates(model)
    for name, kind in (("network", Network), ("training", Training)):
        given = getattr(model, name)
        if given is not None and not isinstance(given, kind):
            raise InputError(
                f"{name} is {given!r:.60}. Pass a domindex.{kind.__name__}, or None for defaults."
            )
    (model.network or Network()).check()
    (model.training or Training()).check()
    as_backbone(model.backbone)


def _check_predictor(model: BaseVDI, predictor: Any) -> None:
    if not (isinstance(predictor, str) and predictor in ("auto", NETWORK)):
        learner_for(predictor, model._task)


def _check_encoded(representation: str, predictor: Any) -> None:
    if representation == ENCODED and isinstance(predictor, str) and predictor == NETWORK:
        raise InputError(
            "The network is asked for on what the network encodes. Choose another predictor "
            "for 'encoded', or another representation for the network."
        )


def _check_candidates(model: BaseVDI) -> None:
    """Pairs of a representation by name and a predictor, if any are given."""
    if model.candidates is None:
        return
    pairs = list(model.candidates) if isinstance(model.candidates, (list, tuple)) else []
    if not pairs or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise InputError(
            f"candidates is {model.candidates!r:.80}. Pass a list of pairs (representation, "
            "predictor), such as [('raw', 'boosting'), ('domain_standardised', 'linear')]."
        )
    if (model.representation, model.predictor) != ("auto", "auto"):
        raise InputError(
            "candidates is given, and representation or predictor too. Give one or the other."
        )
    for representation, predictor in pairs:
        check_representation(representation)
        _check_predictor(model, predictor)
        _check_encoded(representation, predictor)
    if sum(isinstance(one, str) and one == NETWORK for _, one in pairs) > 1:
        raise InputError("candidates names the network twice. Name it once.")
