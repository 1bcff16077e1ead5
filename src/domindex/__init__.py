"""domindex: a map of your data's domains, and predictions in the ones without labels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from domindex._version import __version__ as __version__

if TYPE_CHECKING:
    from domindex.baselines import MomentFlow
    from domindex.datasets import load_dataset
    from domindex.estimators import VDIClassifier, VDIRegressor
    from domindex.estimators.saving import load


_HOMES = {
    "MomentFlow": "domindex.baselines",
    "VDIClassifier": "domindex.estimators",
    "VDIRegressor": "domindex.estimators",
    "load": "domindex.estimators.saving",
    "load_dataset": "domindex.datasets",
}
__all__ = ["MomentFlow", "VDIClassifier", "VDIRegressor", "load", "load_dataset"]


def __getattr__(name: str) -> Any:
    """Import on first use: the geometry and the datasets start without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'domindex' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
