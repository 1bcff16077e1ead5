"""Settings of an estimator from a TOML file."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from domindex.data.messages import did_you_mean
from domindex.errors import InputError
from domindex.estimators.base import BaseVDI

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

OWN = ("random_state", "verbose")
"""Parameters that the command line sets by options of its own."""


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The table of a TOML file, names and values as they stand there."""
    file = Path(path).expanduser()
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}). Name a TOML file of settings."
        ) from error
    except ValueError as error:
        raise InputError(f"{file} is not TOML ({error}). Write lines like steps = 500.") from None


def check_settings(kind: type[BaseVDI], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an estimator; lists become tuples, and flow = "none" means no flow."""
    known = [name for name in inspect.signature(kind).parameters if name not in OWN]
    for name in settings:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(
                f"{kind.__name__} has no setting {name!r}; there are {', '.join(known)}. "
                f"{hint or 'Spell it as in this list.'}"
            )
    checked = {
        name: tuple(value) if isinstance(value, list) and name != "devices" else value
        for name, value in settings.items()
    }
    if checked.get("flow") == "none":
        checked["flow"] = None
    return checked
