"""The map of a fit, taken from its journal where a fit that was cut off had drawn it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domindex.committee.context import FitContext
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.vdi.fitted_indices import FittedIndices
from domindex.vdi.module import IndexModule

MAP, CLOSED_FORM = "map", "closed form"

Drawn = tuple[FittedIndices, DomainGeometry]


def kept_map(context: FitContext, draw: Callable[[], Drawn]) -> Drawn:
    """Indices and geometry, found or drawn and kept, with chance and the record as they were then.

    Networks with a backbone in them, which may be any module, are kept by their training alone.
    """
    journal = context.journal
    found = None if context.backbone is not None else journal.find(MAP)
    if found is not None:
        return _restored(found, context)
    indices, geometry = draw()
    if context.backbone is None:
        journal.keep(
            MAP,
            {
                "geometry": geometry,
                "module": indices.module.state(),
                "rng": context.rng.bit_generator.state,
                "chance": context.chance.state(),
                "history": context.history.state(),
            },
        )
    return indices, geometry


def _restored(found: dict[str, Any], context: FitContext) -> Drawn:
    geometry: DomainGeometry = found["geometry"]
    module = IndexModule.from_state(found["module"])
    context.rng.bit_generator.state = found["rng"]
    context.chance.restore(found["chance"])
    context.history.restore(found["history"])
    return FittedIndices(geometry.scaler, module, geometry.domain_map), geometry
