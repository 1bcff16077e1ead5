"""Methods to compare with, on the same networks, data path and training loop."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domindex.baselines.adda import ADDA
    from domindex.baselines.cdann import CDANN
    from domindex.baselines.cida import CIDA
    from domindex.baselines.d2v import D2V
    from domindex.baselines.dann import DANN
    from domindex.baselines.grda import GRDA
    from domindex.baselines.mdd import MDD
    from domindex.baselines.plain import PlainBaseline
    from domindex.baselines.sentry import SENTRY
    from domindex.baselines.source_only import SourceOnly

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
        raise AttributeError(f"module 'domindex.baselines' has no attribute {name!r}")
    return getattr(import_module(f"domindex.baselines.{_HOMES[name]}"), name)
