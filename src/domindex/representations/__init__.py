"""Rows represented so that a rule carries over between domains. NumPy, no torch, no labels."""

from domindex.representations.base import PlacedRows, Representation, RepresentedRows
from domindex.representations.registry import (
    list_representations,
    register_representation,
    representation_label,
    representation_named,
)

__all__ = [
    "PlacedRows",
    "Representation",
    "RepresentedRows",
    "list_representations",
    "register_representation",
    "representation_label",
    "representation_named",
]
