"""Two names of one disk exchanged in one step, where the system can."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

AT_FDCWD = -100
RENAME_EXCHANGE = 2
"""As Linux numbers them in <fcntl.h> and <linux/fs.h>."""


def exchange_names(first: Path, second: Path) -> bool:
    """Whether what was `first` is now `second` and the other way round; False: nothing was done."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = os.fsencode(first), os.fsencode(second)
    return rename(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0
