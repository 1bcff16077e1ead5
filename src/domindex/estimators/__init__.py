"""The estimators, behind scikit-learn's interface."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domindex.estimators.models import CrossDomainClassifier, CrossDomainRegressor, load
    from domindex.estimators.wrapping import MomentFlow

__all__ = ["CrossDomainClassifier", "CrossDomainRegressor", "MomentFlow", "load"]


def __getattr__(name: str) -> Any:
    """Import on first use: `MomentFlow` starts without torch."""
    if name not in __all__:
        raise AttributeError(f"module 'domindex.estimators' has no attribute {name!r}")
    home = "wrapping" if name == "MomentFlow" else "models"
    return getattr(import_module(f"domindex.estimators.{home}"), name)
