"""Learners by name, what stands for a learner in a parameter, and predictors from their states."""

from __future__ import annotations

from typing import Any, TypeVar

from domindex.committee.learners.base import Learner, Predictor
from domindex.committee.learners.boosted_linear import BoostedLinearLearner, BoostedLinearPredictor
from domindex.committee.learners.convolutional import ConvolutionalLearner, ConvolutionalPredictor
from domindex.committee.learners.estimators import (
    EstimatorLearner,
    EstimatorPredictor,
    boosting,
    check_estimator,
    kernel,
    trees,
)
from domindex.committee.learners.linear import LinearLearner, LinearPredictor
from domindex.committee.learners.neighbours import NeighboursLearner, NeighboursPredictor
from domindex.errors import InputError
from domindex.inputs.domain_data import Task
from domindex.inputs.parameters import Registry

__all__ = [
    "PREDICTORS",
    "Learner",
    "Predictor",
    "learner_for",
    "list_predictors",
    "predictor_from_state",
    "predictor_named",
    "predictor_state",
    "register_predictor",
]

PREDICTORS: Registry[Any] = Registry("predictor")
for _learner in (
    LinearLearner(),
    kernel(),
    trees(),
    boosting(),
    BoostedLinearLearner(),
    ConvolutionalLearner(),
    NeighboursLearner(),
):
    PREDICTORS.add(_learner.name, _learner)

Kind = TypeVar("Kind")

_KINDS: dict[str, type[Predictor]] = {
    kind.kind: kind
    for kind in (
        LinearPredictor,
        EstimatorPredictor,
        BoostedLinearPredictor,
        ConvolutionalPredictor,
        NeighboursPredictor,
    )
}


def register_predictor(learner: Kind) -> Kind:
    """Make a learner known by its `name`; usable as a decorator on a class that is its own.

    Where models are to be saved it also needs `from_state`, as such a class has.

    Examples
    --------
    >>> from domindex import register_predictor
    >>> register_predictor("mean")
    Traceback (most recent call last):
    domindex.errors.InputError: A predictor cannot be registered ...

    See `Predictor` for one that can.
    """
    name = getattr(learner, "name", None)
    if not isinstance(name, str) or not callable(getattr(learner, "fit", None)):
        raise InputError(
            f"A predictor cannot be registered as {learner!r:.80}: it needs a text `name` and "
            "`fit(features, labels, n_classes, seed)`. Estimators of scikit-learn need no "
            "registration: pass them as predictor=."
        )
    PREDICTORS.add(name, learner)
    return learner


def predictor_named(name: str) -> Learner:
    """The learner of that name; refused with the known names where there is none."""
    return PREDICTORS[name]


def list_predictors() -> list[str]:
    """The names that can be asked for, beside the variational network itself.

    Examples
    --------
    >>> from domindex import list_predictors
    >>> {"linear", "trees", "boosting"} <= set(list_predictors())
    True
    """
    return PREDICTORS.names()


def learner_for(predictor: Any, task: Task) -> Learner:
    """The learner that a parameter asks for, by name or by an estimator of the user's."""
    if isinstance(predictor, str):
        return predictor_named(predictor)
    check_estimator(predictor, task)
    return EstimatorLearner(type(predictor).__name__, predictor)


def predictor_state(predictor: Predictor) -> dict[str, Any]:
    """A fitted predictor, with what it takes to find its class again."""
    return {"kind": predictor.kind, "name": predictor.name, "state": predictor.state()}


def predictor_from_state(state: dict[str, Any]) -> Predictor:
    """What `predictor_state` described; a class of the user's must be registered."""
    known: Any = _KINDS[state["kind"]] if state["kind"] else predictor_named(state["name"])
    return known.from_state(state["state"])
