"""Where a row of the record comes from: the code, the libraries, the machine and the day."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

import psutil

from domindex._version import __version__
from domindex.versions import versions

PACKAGE = Path(__file__).parents[1]
OPTIONAL = ("skada",)
"""Packages that are named by the rows of cells that used them."""


@dataclass(frozen=True)
class Provenance:
    """What every row says about its origin.

    Attributes
    ----------
    commit : of the checkout that the code ran from, see `current_commit`
    versions : of Python and the libraries that can change a figure
    cores : of the machine
    date : when the cell ended, in UTC
    """

    commit: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    cores: int | None = None
    date: str = ""

    @classmethod
    def here_and_now(cls) -> Provenance:
        date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(current_commit(PACKAGE), _versions(), psutil.cpu_count(), date)


def _versions() -> dict[str, str]:
    used = {name: sys.modules[name] for name in OPTIONAL if name in sys.modules}
    return versions() | {name: getattr(used[name], "__version__", "unknown") for name in used}


@cache
def current_commit(package: Path) -> str:
    """The commit of the checkout that holds `package`, "-dirty" if its files differ from that.

    A copy that is installed, even below somebody's checkout, has no commit: it says so, and which
    version it is.
    """
    unknown = f"unknown, version {__version__}"
    try:
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(package, "rev-parse", "HEAD")
        changes = _git(package, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return unknown
    return f"{commit}-dirty" if changes else commit


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
