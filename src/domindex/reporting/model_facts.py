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

from domindex.estimators.fit_record import FitRecord
from domindex.reporting.records import DriverRecord, ForecastRecord, History

MAX_EPOCHS = 400

MEMBER_COLUMNS = ("candidate", "weight", "near_loss", "far_loss")
EXPECTED_COLUMNS = ("expected_accuracy", "expected_error")
"""What is shown of `candidates_`, and what a forecast is called in `forecast_`."""


@dataclass(frozen=True)
class ModelFacts:
    """What was chosen and how it was trained.

    Attributes
    ----------
    representation : what the heaviest member predicts from; None where nothing was chosen
    flow : family of the flow along the map; None where there is none
    members : a row for each candidate that predicts: weight, near and far loss
    summary : sentences on what was chosen and why, and what to expect
    forecasts : name of a target to what is expected there
    history : terms of the training by epoch, thinned
    drivers : columns of the inputs by what predictions rest on
    record : what the fit left; None in models of before there was one
    """

    representation: str | None
    flow: str | None
    members: tuple[dict[str, Any], ...]
    summary: tuple[str, ...]
    forecasts: dict[str, ForecastRecord]
    history: History
    drivers: tuple[DriverRecord, ...] = ()
    record: FitRecord | None = None


def model_facts(model: Any) -> ModelFacts:
    """What a fitted estimator says of itself."""
    flow = getattr(model, "flow_", None)
    family = flow.get("family") if isinstance(flow, dict) else None
    representation = getattr(model, "representation_", None)
    record = getattr(model, "_record", None)
    return ModelFacts(
        representation=None if representation is None else str(representation),
        flow=None if family is None else str(family),
        members=_members(getattr(model, "candidates_", None)),
        summary=tuple(model.summary().splitlines()) if hasattr(model, "summary") else (),
        forecasts=_forecasts(getattr(model, "forecast_", None)),
        history=_history(getattr(model, "history_", None)),
        drivers=() if record is None else _drivers(record.importance),
        record=record,
    )


def _members(frame: pd.DataFrame | None) -> tuple[dict[str, Any], ...]:
    """The candidates that have weight, in the order of the table."""
    if frame is None:
        return ()
    shown = frame.loc[frame["weight"] > 0, list(MEMBER_COLUMNS)]
    return tuple(
        {str(name).replace("_", " "): _cell(value) for name, value in row.items()}
        for row in shown.to_dict("records")
    )


def _forecasts(frame: pd.DataFrame | None) -> dict[str, ForecastRecord]:
    """Forecasts by the name of their domain."""
    if frame is None or not len(frame):
        return {}
    (expected,) = [name for name in EXPECTED_COLUMNS if name in frame.columns]
    ways = frame["two_ways"].tolist() if "two_ways" in frame else [None] * len(frame)
    figures = zip(frame["domain"], frame[expected], frame["low"], frame["high"], ways)
    return {
        str(name): ForecastRecord(float(mean), float(low), float(high), way)
        for name, mean, low, high, way in figures
    }


def _drivers(frame: pd.DataFrame) -> tuple[DriverRecord, ...]:
    figures = zip(frame["column"], frame["importance"], frame["standard_error"])
    return tuple(
        DriverRecord(str(name), float(mean), float(error)) for name, mean, error in figures
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
