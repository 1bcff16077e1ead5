"""Methods to compare with, on the same networks, data path and training loop."""

from importlib import import_module
from typing import Any

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
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import on first use, for torch takes a second."""
    if name not in _HOMES:
        raise AttributeError(f"module 'domindex.baselines' has no attribute {name!r}")
    return getattr(import_module(f"domindex.baselines.{_HOMES[name]}"), name)
