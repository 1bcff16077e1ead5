"""Open what `save` wrote."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from domindex.errors import InputError
from domindex.estimators.classifier import VDIClassifier
from domindex.estimators.regressor import VDIRegressor
from domindex.estimators.vdi import BaseVDI
from domindex.persistence.model_folder import load_model
from domindex.vdi.backbones import Backbone, give_template


def load(path: str | os.PathLike[str], *, backbone: Any = None) -> Any:
    """The estimator that was saved at `path`: a `VDIClassifier` or a `VDIRegressor`.

    It predicts bit for bit what the saved one did. Opening a folder from a stranger runs no code.
    A representation or predictor of your own must be registered first. A backbone of your own is
    given again as `backbone`, the module or the callable that makes it: the folder holds its
    weights, which replace those that the module has.

    Examples
    --------
    >>> import domindex
    >>> model.save("model")
    >>> again = domindex.load("model").predict_proba(data.X, **rows)
    >>> bool((again == model.predict_proba(data.X, **rows)).all())
    True
    """
    kinds = (VDIClassifier, VDIRegressor)
    return load_model(path, {kind.__name__: partial(_revived, kind, backbone) for kind in kinds})


def _revived(kind: type[BaseVDI], backbone: Any, state: dict[str, Any]) -> BaseVDI:
    """From its state, in which a backbone of the user's stands open."""
    try:
        needed = give_template(state, backbone)
        model = kind.from_state(state)
    except ValueError as error:
        if backbone is None or isinstance(error, InputError):
            raise
        raise InputError(
            f"The backbone that was given is not the one that the model was saved with ({error}). "
            "Give the module, or the callable, that it was fitted with."
        ) from error
    if needed:
        given = backbone.module if isinstance(backbone, Backbone) else backbone
        kept = model.backbone
        model.backbone = Backbone(given, frozen=kept.frozen, rate=kept.rate, weights=kept.weights)
    elif backbone is not None:
        raise InputError(
            "backbone was given, but the model was saved without one of your own. Leave it out."
        )
    return model
