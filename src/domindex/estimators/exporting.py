"""What of a fitted estimator its exported program is made from."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.export.exporting import Source
from domindex.networks.backbone_alignment import BackboneAlignment

if TYPE_CHECKING:
    from domindex.estimators.vdi import BaseVDI


def exported_source(model: BaseVDI) -> Source:
    """InputError where rows go through more than numbers before they are predicted from."""
    if model._preparation is not None:
        raise InputError(
            "The model was fitted on a data frame with texts or gaps, whose preparation is no part "
            "of an exported program. Fit on numbers, or keep the model with model.save(path)."
        )

    def predict(X: NDArray, names: list[Hashable]) -> tuple[NDArray, ...]:
        said = model._predict(model._behind_gate(X, names), names)
        return (said.mean,) if said.deviation is None else (said.mean, said.deviation)

    network = model._committee.network
    trained = network is not None and isinstance(network.module.alignment, BackboneAlignment)
    return Source(
        model._committee,
        model._indices,
        model._extractor,
        model._bounds,
        tuple(model._input_shape),
        model.classes_.tolist() if hasattr(model, "classes_") else None,
        model._single_output,
        predict,
        model._extractor is not None or trained,
    )
