"""What the map of a report can be coloured by: columns of the user, predictions, inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from domindex.reporting.aggregates import Columns, aggregate_columns, aggregate_inputs
from domindex.reporting.packing import most_columns

MAX_CLASSES = 8
"""Classes and outputs whose predictions become columns to colour by."""


def report_columns(
    model: Any,
    X: Any,
    names: Sequence[Hashable],
    extra: Any,
    domains: list[str],
    notes: list[str],
) -> Columns:
    """The user's columns, what the model predicts, and the inputs."""
    given = {} if extra is None else aggregate_columns(extra, names, domains)
    predicted = aggregate_columns(_predictions(model, X, names), names, domains)
    labels = getattr(model, "feature_names_in_", None)
    inputs, left_out = aggregate_inputs(X, names, domains, None if labels is None else list(labels))
    ours = predicted | inputs
    every = given | {name: values for name, values in ours.items() if name not in given}
    most = most_columns(len(domains))
    left_out += max(0, len(every) - most)
    if left_out:
        notes.append(f"{left_out} of the columns are not offered for colouring the map.")
    return dict(list(every.items())[:most])


def _predictions(model: Any, X: Any, names: Sequence[Hashable]) -> dict[str, Any]:
    if is_classifier(model):
        chances = model.predict_proba(X, sample_domain=names)
        likeliest = chances.argmax(axis=1)
        shown = range(len(model.classes_))[:MAX_CLASSES]
        if len(model.classes_) == 2:
            shown = range(1, 2)
        shares = {
            f"predicted share of class {model.classes_[number]}": likeliest == number
            for number in shown
        }
        return shares | {"mean confidence": chances.max(axis=1)}
    values = np.asarray(model.predict(X, sample_domain=names)).reshape(len(names), -1)
    if values.shape[1] == 1:
        return {"mean prediction": values[:, 0]}
    return {
        f"mean prediction, output {number + 1}": column
        for number, column in enumerate(values.T[:MAX_CLASSES])
    }
