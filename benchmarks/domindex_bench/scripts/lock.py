"""Every package of the development environment, with the version and the hashes of its archive.

    python -m domindex_bench.scripts.lock            # what pip would install is the lock
    python -m domindex_bench.scripts.lock --check    # whether each archive still is what it was

pip says what it would install into an empty environment, from whatever index it is set to; the lock
names none. It fits the Python and the platform that wrote it: others have other archives. torch is
left out: its builds for processors and for graphics cards share a version, not a hash. Its version
stands in constraints.txt, and `make locked` installs it after everything else is checked.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
LOCK = ROOT / "requirements.lock"
WITHOUT_HASH = ("torch",)
OWN = ("domindex", "domindex-bench")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def here() -> str:
    """What a lock is for, as its first line says it."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"Python {python}, {platform.system()}, {platform.machine()}"


def resolved() -> list[dict[str, Any]]:
    """What pip would install into an empty environment, as it reports it."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        command = [*PIP, "install", "--dry-run", "--ignore-installed", "--report", str(report)]
        wanted = ["-c", "constraints.txt", "-e", ".[dev]"]
        subprocess.run([*command, *wanted], check=True, cwd=ROOT)
        found: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
    return found


def lock_text(packages: list[dict[str, Any]]) -> str:
    """A line a package, by name, without what has no hash that all of us share."""
    lines = []
    for one in packages:
        name = canonical(one["metadata"]["name"])
        if name in (*WITHOUT_HASH, *OWN):
            continue
        digest = one["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={one['metadata']['version']} --hash=sha256:{digest}")
    head = [
        f"# {here()}. Written by `make lock`; `make locked` installs it.",
        f"# Without {', '.join(WITHOUT_HASH)}, whose version stands in constraints.txt.",
    ]
    return "\n".join([*head, *sorted(lines)]) + "\n"


def check() -> int:
    """Fetch every archive of the lock and compare its hash; 1 where one is another."""
    first = LOCK.read_text(encoding="utf-8").splitlines()[0]
    if not first.startswith(f"# {here()}."):
        print(f"This is {here()}, and the lock begins with {first!r}: not checked.")
        return 0
    with tempfile.TemporaryDirectory() as place:
        how = ["--require-hashes", "--no-deps", "--dest", place, "-r", str(LOCK)]
        return subprocess.run([*PIP, "download", *how], check=False).returncode


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        return check()
    LOCK.write_text(lock_text(resolved()), encoding="utf-8")
    print(f"{LOCK.name}: {len(LOCK.read_text(encoding='utf-8').splitlines()) - 2} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
