"""domindex: a map of your data's domains, and predictions in the ones without labels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from domindex._version import __version__ as __version__

if TYPE_CHECKING:
    from domindex.committee.learners.base import Predictor, list_predictors, register_predictor
    from domindex.datasets import load_dataset
    from domindex.estimators import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, load
    from domindex.estimators.indexer import DomainIndexer
    from domindex.estimators.vdi import VDIClassifier, VDIRegressor
    from domindex.export import load_exported
    from domindex.neural.backbones import Backbone
    from domindex.neural.settings import Training
    from domindex.representations import (
        Representation,
        list_representations,
        register_representation,
    )
    from domindex.vdi.settings import Network


_HOMES = {
    "Backbone": "domindex.neural.backbones",
    "CrossDomainClassifier": "domindex.estimators",
    "CrossDomainRegressor": "domindex.estimators",
    "DomainIndexer": "domindex.estimators.indexer",
    "MomentFlow": "domindex.estimators",
    "Network": "domindex.vdi.settings",
    "Predictor": "domindex.committee.learners.base",
    "Representation": "domindex.representations",
    "Training": "domindex.neural.settings",
    "VDIClassifier": "domindex.estimators.vdi",
    "VDIRegressor": "domindex.estimators.vdi",
    "list_predictors": "domindex.committee.learners.base",
    "list_representations": "domindex.representations",
    "load": "domindex.estimators",
    "load_dataset": "domindex.datasets",
    "load_exported": "domindex.export",
    "register_predictor": "domindex.committee.learners.base",
    "register_representation": "domindex.representations",
}
_ROOMS = ("datasets", "errors", "evaluation", "geometry", "inputs", "reporting", "tables")
"""What users import from by name, opened on first use as well."""

__all__ = [
    "Backbone",
    "CrossDomainClassifier",
    "CrossDomainRegressor",
    "DomainIndexer",
    "MomentFlow",
    "Network",
    "Predictor",
    "Representation",
    "Training",
    "VDIClassifier",
    "VDIRegressor",
    "list_predictors",
    "list_representations",
    "load",
    "load_dataset",
    "load_exported",
    "register_predictor",
    "register_representation",
]


def __getattr__(name: str) -> Any:
    """Import on first use: the geometry and the datasets start without torch."""
    if name in _ROOMS:
        return import_module(f"domindex.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'domindex' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS, "__version__"])
