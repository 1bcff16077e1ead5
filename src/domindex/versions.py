"""What something was made with: the versions of libraries, and the text of this one."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from domindex._version import __version__


def versions() -> dict[str, str]:
    """Of Python, this library and those that can change its figures."""
    found = {"python": platform.python_version(), "domindex": __version__}
    for name in ("numpy", "scipy", "scikit-learn", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


@cache
def source_hash(folder: Path = Path(__file__).parent) -> str:
    """Git's name of the tree of a folder, by default of this package, computed from its files: any
    change of the code changes it. It is that of `git rev-parse HEAD:src/domindex`."""
    return _tree(folder).hex()


def _tree(folder: Path) -> bytes:
    """The hash of a git tree; hidden files and compiled ones are not part of it."""
    entries = []
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name == "__pycache__" or path.suffix == ".pyc":
            continue
        if not path.is_dir():
            entries.append((path.name, b"100644", _git_object(b"blob", path.read_bytes())))
        elif any(one.is_file() and one.suffix != ".pyc" for one in path.rglob("*")):
            entries.append((f"{path.name}/", b"40000", _tree(path)))
    lines = [b"%b %b\0%b" % (m, n.rstrip("/").encode(), d) for n, m, d in sorted(entries)]
    return _git_object(b"tree", b"".join(lines))


def _git_object(kind: bytes, content: bytes) -> bytes:
    head = kind + b" %d\0" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).digest()
