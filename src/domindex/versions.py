"""What something was made with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from domindex._version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch")


def versions() -> dict[str, str]:
    """Of Python, this library and those that can change its figures."""
    found = {"python": platform.python_version(), "domindex": __version__}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
