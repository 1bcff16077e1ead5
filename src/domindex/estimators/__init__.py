"""The estimators, behind scikit-learn's interface."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domindex.estimators.classifier import VDIClassifier
    from domindex.estimators.loading import load
    from domindex.estimators.moment_flow import MomentFlow
    from domindex.estimators.regressor import VDIRegressor

_HOMES = {
    "MomentFlow": "moment_flow",
    "VDIClassifier": "classifier",
    "VDIRegressor": "regressor",
    "load": "loading",
}
__all__ = ["MomentFlow", "VDIClassifier", "VDIRegressor", "load"]


def __getattr__(name: str) -> Any:
    """Import on first use: `MomentFlow` starts without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'domindex.estimators' has no attribute {name!r}")
    return getattr(import_module(f"domindex.estimators.{_HOMES[name]}"), name)
