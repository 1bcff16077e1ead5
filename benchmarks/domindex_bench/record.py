"""Cells of the benchmark and their results: one JSON line each, on disk the moment it is known.

Every row says where it comes from. What a figure depends on is hashed by machine, as the tree of
`src/domindex`: a row of another tree is marked in every table.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import psutil

import domindex
from domindex.errors import DomindexError, InputError
from domindex.versions import versions

PACKAGE = Path(domindex.__file__).parent
RECORD_NAME = "record.jsonl"

Status = Literal["done", "failed", "not applicable"]
Key = tuple[str, str, str, int]


@cache
def source_tree(folder: Path = PACKAGE) -> str:
    """Git's hash of a folder as it is on disk, with or without git.

    Of a clean checkout this is `git rev-parse HEAD:src/domindex`; a changed file changes it.
    """
    return _tree(folder).hex()


def _tree(folder: Path) -> bytes:
    entries = []
    for path in folder.iterdir():
        if path.name == "__pycache__":
            continue
        if path.is_dir():
            entries.append((f"{path.name}/", b"40000", _tree(path)))
        else:
            mode = b"100755" if os.access(path, os.X_OK) else b"100644"
            entries.append((path.name, mode, _git_hash(b"blob", path.read_bytes())))
    content = b"".join(
        mode + b" " + name.rstrip("/").encode() + b"\0" + digest
        for name, mode, digest in sorted(entries)
    )
    return _git_hash(b"tree", content)


def _git_hash(kind: bytes, content: bytes) -> bytes:
    return hashlib.sha1(kind + b" %d\0" % len(content) + content).digest()


@cache
def current_commit(folder: Path = PACKAGE) -> str:
    """The commit of the checkout that holds `folder`, "-dirty" if files there differ from it.

    An installed copy, even below somebody's checkout, has none: it says which version it is.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return f"unknown, version {domindex.__version__}"
    return f"{commit}-dirty" if changes else commit


def short_commit(commit: str) -> str:
    """A commit as people write it, with what follows it."""
    name, dash, state = commit.partition("-")
    return commit if " " in commit else f"{name[:10]}{dash}{state}"


def origin() -> dict[str, Any]:
    """What every result says about where it comes from: code, libraries, machine and time."""
    optional = {
        name: getattr(sys.modules[name], "__version__", "unknown")
        for name in ("skada",)
        if name in sys.modules
    }
    return {
        "tree": source_tree(),
        "commit": current_commit(),
        "versions": versions() | optional,
        "cores": psutil.cpu_count(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


@dataclass(frozen=True)
class Cell:
    """One method on one dataset of a suite, with one seed."""

    suite: str
    dataset: str
    method: str
    seed: int

    @property
    def key(self) -> Key:
        return self.suite, self.dataset, self.method, self.seed

    def ended(self, status: Status, **measured: Any) -> CellResult:
        """The row of this cell, which ended here and now."""
        return CellResult(**asdict(self), status=status, **measured, **origin())

    def __str__(self) -> str:
        return f"{self.suite}: {self.dataset} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class CellResult:
    """What one cell measured, or why it did not: a row of the record.

    Attributes
    ----------
    suite, dataset, method, seed : of the cell; the seed is that of data and method
    status : "done", "failed" or "not applicable"
    figures : what the suite's figures found, by name
    fit_seconds, predict_seconds : wall-clock time
    peak_mb : the most memory that the process of this cell held, imports and data included
    fit_mb : the part of it above what the process held just before the fit
    note : the error of a failed cell, the reason of one that is not applicable
    tree : hash of the tree of `src/domindex`, see `source_tree`
    commit, versions, cores, date : see `origin`
    """

    suite: str
    dataset: str
    method: str
    seed: int
    status: Status
    figures: Mapping[str, float | str] = field(default_factory=dict)
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    peak_mb: float | None = None
    fit_mb: float | None = None
    note: str = ""
    tree: str = ""
    commit: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    cores: int | None = None
    date: str = ""

    @property
    def cell(self) -> Cell:
        return Cell(self.suite, self.dataset, self.method, self.seed)

    def __str__(self) -> str:
        """A finished cell on one line."""
        if self.status != "done":
            return f"{self.cell}: {self.status}: {self.note}"
        figures = ", ".join(
            f"{name.replace('_', ' ')} {value:.4g}"
            for name, value in self.figures.items()
            if isinstance(value, float) and "level" not in name
        )
        memory = "" if self.peak_mb is None else f", {self.peak_mb:.0f} MB"
        return f"{self.cell}: {figures}; fit {self.fit_seconds:.1f} s{memory}"

    @classmethod
    def from_json(cls, row: Any) -> CellResult:
        """The result in a decoded line; ValueError where it is something else."""
        try:
            result = cls(**row)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if result.status not in get_args(Status):
            raise ValueError(f"status is {result.status!r}")
        return result


class Record:
    """The file of all suites' rows. One process writes; a line is synced before the next begins."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path) -> Record:
        """Ready to append: folders made, the right to write proven, a torn last line cut off."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab"):
                pass
        except OSError as error:
            raise InputError(
                f"Results cannot be written to {path} ({error.strerror}). "
                "Name a folder that can be written to as out (--out DIR)."
            ) from error
        record = cls(path)
        record.read()
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)
        return record

    def read(self) -> dict[Key, CellResult]:
        """The last word on every cell; a torn last line, left by a kill, is passed over."""
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1]
        except OSError as error:
            raise InputError(
                f"There is no record to read at {self.path} ({error.strerror}). Name the folder "
                "that `domindex-bench run` wrote to as out (--out DIR), or measure first."
            ) from error
        found = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                result = CellResult.from_json(json.loads(line))
            except ValueError as error:
                raise InputError(
                    f"Line {number} of {self.path} is not a result of this benchmark ({error}). "
                    "Remove that line, or name another folder as out (--out DIR)."
                ) from None
            found[result.cell.key] = result
        return found

    def append(self, result: CellResult) -> None:
        """Add a line, and return once it is safe from a kill and a power cut."""
        line = json.dumps(asdict(result), ensure_ascii=False) + "\n"
        try:
            with self.path.open("ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DomindexError(
                f"{result.cell} could not be added to {self.path} ({error.strerror}). "
                "Results before it are kept; make room and run the same command again."
            ) from error
