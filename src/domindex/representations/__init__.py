"""Rows represented so that a rule carries over between domains. NumPy, no torch, no labels."""

from domindex.representations.base import (
    PlacedRows,
    Raw,
    Representation,
    RepresentedRows,
    WithIndex,
    WithoutConstants,
    list_representations,
    register_representation,
    representation_label,
    representation_named,
)
from domindex.representations.flow import FlowAligned, GridFlowAligned
from domindex.representations.normalised import (
    Coral,
    DomainCentred,
    DomainScaled,
    DomainStandardised,
    DomainWhitened,
    RowCentred,
    RowStandardised,
    WithMeans,
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

# The built-in ones: where several are equally good, the first comes first.
for kind in (
    Raw,
    WithIndex,
    WithMeans,
    WithoutConstants,
    RowCentred,
    RowStandardised,
    DomainScaled,
    DomainCentred,
    DomainStandardised,
    DomainWhitened,
    Coral,
    FlowAligned,
    GridFlowAligned,
):
    register_representation(kind)
