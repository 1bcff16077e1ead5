"""How much memory this process holds, and ever held."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_mb() -> float | None:
    """The most that this process ever held, None where the system does not tell.

    Linux keeps it with the process image. `getrusage`, used elsewhere, also counts what the parent
    held when it started this process, and so may say too much, never too little.
    """
    known = _status("VmHWM")
    if known is not None:
        return known
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def resident_mb() -> float | None:
    """What this process holds now; its peak so far where only that is known."""
    known = _status("VmRSS")
    return peak_mb() if known is None else known


def _status(field: str) -> float | None:
    """A field of /proc/self/status in MB, None on systems without it."""
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) / 2**10
    return None
