"""Representations by name."""

from __future__ import annotations

from domindex.inputs.parameters import Registry
from domindex.representations.base import Representation
from domindex.representations.coral import Coral
from domindex.representations.domain_normalised import (
    DomainCentred,
    DomainScaled,
    DomainStandardised,
    WithMeans,
)
from domindex.representations.domain_whitened import DomainWhitened
from domindex.representations.flow import FlowAligned
from domindex.representations.grid_flow import GridFlowAligned
from domindex.representations.raw import Raw, WithIndex
from domindex.representations.row_normalised import RowCentred, RowStandardised

REPRESENTATIONS: Registry[type[Representation]] = Registry("representation")

for kind in (
    Raw,
    WithIndex,
    WithMeans,
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
    REPRESENTATIONS.add(kind.name, kind)


def register_representation(kind: type[Representation]) -> type[Representation]:
    """Make a representation known by its `name`; usable as a decorator.

    Examples
    --------
    >>> from domindex import Representation, register_representation
    >>> class Nameless(Representation):
    ...     name = "auto"
    >>> register_representation(Nameless)
    Traceback (most recent call last):
    domindex.errors.InputError: A representation cannot be named 'auto'. ...

    With a name of its own it is known from then on; see `Representation` for one.
    """
    return REPRESENTATIONS.add(kind.name, kind)


def representation_named(name: str) -> type[Representation]:
    """The class of that name; refused with the known names where there is none.

    Examples
    --------
    >>> from domindex.representations import representation_named
    >>> representation_named("raw").name
    'raw'
    """
    return REPRESENTATIONS[name]


def representation_label(name: str) -> str:
    """What sentences call the representation of that name: the name itself where it has no label.

    Examples
    --------
    >>> from domindex.representations import representation_label
    >>> representation_label("my own")
    'my own'
    """
    return (REPRESENTATIONS[name].label if name in REPRESENTATIONS else "") or name


def list_representations() -> list[str]:
    """The names that can be asked for.

    Examples
    --------
    >>> from domindex import list_representations
    >>> "domain_standardised" in list_representations()
    True
    """
    return REPRESENTATIONS.names()
