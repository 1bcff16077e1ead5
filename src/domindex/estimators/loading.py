"""Open what `save` wrote."""

from __future__ import annotations

import os
from typing import Any

from domindex.estimators.classifier import VDIClassifier
from domindex.estimators.regressor import VDIRegressor
from domindex.estimators.vdi import BaseVDI
from domindex.persistence.model_folder import load_model

SAVED_ESTIMATORS: dict[str, type[BaseVDI]] = {
    "VDIClassifier": VDIClassifier,
    "VDIRegressor": VDIRegressor,
}


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that was saved at `path`: a `VDIClassifier` or a `VDIRegressor`.

    It predicts bit for bit what the saved one did. Opening a folder from a stranger runs no code.
    A representation or predictor of your own must be registered first.
    """
    return load_model(path, {name: kind.from_state for name, kind in SAVED_ESTIMATORS.items()})
