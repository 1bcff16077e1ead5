"""What a report takes from a fitted estimator beyond its predictions and its map.

All attributes and parameters that only some estimators have are read here, and nowhere else in
reporting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from domindex.reporting.report_data import History
from domindex.training.settings import Training

MAX_EPOCHS = 400

INDEX_STEPS = 20
STEPS, STEPS_WITHOUT_FLOW = 120, 300
"""Training of a quick refit at most: enough to be of the same kind. A flow starts aligned; without
one, the alignment itself has to be found."""


@dataclass(frozen=True)
class ModelFacts:
    """What was chosen and how it was trained.

    Attributes
    ----------
    representation : in which terms rows are compared; None where nothing was chosen
    flow : family of the flow along the map; None where there is none
    candidates : a row for each that was compared, with its weight
    history : terms of the training by epoch, thinned
    """

    representation: str | None
    flow: str | None
    candidates: tuple[dict[str, Any], ...]
    history: History


@dataclass(frozen=True)
class QuickTraining:
    """Parameters that make a refit of an estimator quick, and how many steps it then trains."""

    parameters: dict[str, Any]
    steps: int


def model_facts(model: Any) -> ModelFacts:
    """What a fitted estimator says of itself."""
    flow = getattr(model, "flow_", None)
    family = flow.get("family") if isinstance(flow, dict) else None
    representation = getattr(model, "representation_", None)
    return ModelFacts(
        representation=None if representation is None else str(representation),
        flow=None if family is None else str(family),
        candidates=_records(getattr(model, "candidates_", None)),
        history=_history(getattr(model, "history_", None)),
    )


def quick_training(model: Any) -> QuickTraining:
    """A refit in seconds: no more training than the model had, and little of it."""
    most = STEPS_WITHOUT_FLOW if model.flow is None else STEPS
    training = clone(model.training or Training())
    steps = min(most, training.steps or most)
    index_steps = min(INDEX_STEPS, training.index_steps)
    training.set_params(index_steps=index_steps, steps=steps, starts=1)
    return QuickTraining({"training": training, "verbose": 0}, steps)


def _records(frame: pd.DataFrame | None) -> tuple[dict[str, Any], ...]:
    if frame is None:
        return ()
    return tuple(
        {str(name).replace("_", " "): _cell(value) for name, value in row.items()}
        for row in frame.to_dict("records")
    )


def _history(frame: pd.DataFrame | None) -> History:
    if frame is None or not len(frame):
        return History()
    rows = np.unique(np.linspace(0, len(frame) - 1, min(len(frame), MAX_EPOCHS)).astype(int))
    thinned = frame.iloc[rows]
    terms = {
        str(name): tuple(_number(value) for value in thinned[name])
        for name in thinned.columns
        if name not in ("phase", "step")
    }
    return History(phases=tuple(str(phase) for phase in thinned["phase"]), terms=terms)


def _cell(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | float | np.number):
        return _number(value)
    return str(value)


def _number(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
