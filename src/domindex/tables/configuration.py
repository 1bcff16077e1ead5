"""Settings of an estimator from a TOML file."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from typing import Any

from domindex.data.messages import did_you_mean
from domindex.errors import InputError
from domindex.estimators.vdi import BaseVDI
from domindex.persistence.paths import usable_path
from domindex.training.settings import Network, Training

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

OWN = ("random_state", "verbose")
"""Parameters that the command line sets by options of its own."""

SECTIONS = {"training": Training, "network": Network}
"""Settings that have a table of their own in the file."""


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The table of a TOML file, names and values as they stand there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from domindex.tables import read_settings
    >>> Path("settings.toml").write_text("index_dim = 3")
    13
    >>> read_settings("settings.toml")
    {'index_dim': 3}
    """
    file = usable_path(path)
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}). Name a TOML file of settings."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{file} is not TOML ({error}). Write lines like index_dim = 2, or steps = 500 below "
            "a line [training]."
        ) from None


def check_settings(kind: type[BaseVDI], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an estimator; lists become tuples, and flow = "none" means no flow."""
    checked = _check_names(kind, settings)
    if checked.get("flow") == "none":
        checked["flow"] = None
    for name, section in SECTIONS.items():
        if name in checked:
            if not isinstance(checked[name], Mapping):
                raise InputError(
                    f"{name} is {checked[name]!r}. Give it a table of its own: [{name}], and "
                    "lines like steps = 500 below it."
                )
            checked[name] = section(**_check_names(section, checked[name]))
    return checked


def _check_names(kind: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    known = [name for name in inspect.signature(kind).parameters if name not in OWN]
    for name in settings:
        if name not in known:
            raise InputError(
                f"{kind.__name__} has no setting {name!r}; there are {', '.join(known)}. "
                f"{_advice(name, known)}"
            )
    return {
        name: tuple(value) if isinstance(value, list) and name != "devices" else value
        for name, value in settings.items()
    }


def _advice(name: str, known: list[str]) -> str:
    for title, section in SECTIONS.items():
        if title in known and name in inspect.signature(section).parameters:
            return f"Put it below a line [{title}]."
    return did_you_mean(name, known) or "Spell it as in this list."
