"""Methods to compare with, on the same networks, data path and training loop."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domindex.estimators.baselines.adda import ADDA
    from domindex.estimators.baselines.cdann import CDANN
    from domindex.estimators.baselines.cida import CIDA
    from domindex.estimators.baselines.d2v import D2V
    from domindex.estimators.baselines.dann import DANN
    from domindex.estimators.baselines.grda import GRDA
    from domindex.estimators.baselines.mdd import MDD
    from domindex.estimators.baselines.plain import PlainBaseline
    from domindex.estimators.baselines.sentry import SENTRY
    from domindex.estimators.baselines.source_only import SourceOnly

_HOMES = {
    "ADDA": "adda",
    "CDANN": "cdann",
    "CIDA": "cida",
    "D2V": "d2v",
    "DANN": "dann",
    "GRDA": "grda",
    "MDD": "mdd",
    "PlainBaseline": "plain",
    "SENTRY": "sentry",
    "SourceOnly": "source_only",
}
__all__ = [
    "ADDA",
    "CDANN",
    "CIDA",
    "D2V",
    "DANN",
    "GRDA",
    "MDD",
    "PlainBaseline",
    "SENTRY",
    "SourceOnly",
]


def __getattr__(name: str) -> Any:
    """Import on first use: `MomentFlow` starts without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'domindex.estimators.baselines' has no attribute {name!r}")
    return getattr(import_module(f"domindex.estimators.baselines.{_HOMES[name]}"), name)
