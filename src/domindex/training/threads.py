"""Small networks run fastest on one thread; what is fitted beside them may have the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from joblib import cpu_count
from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold torch and the BLAS libraries to one thread inside, and restore them after.

    A step multiplies a few thousand rows by matrices of width 64: handing that to several threads
    costs more than it saves, and far more where other work wants the cores.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


def available_threads() -> int:
    """Threads that compiled code would take by itself: the cores of this process, or fewer where
    OMP_NUM_THREADS or a limit around the call says so. To be asked outside of `one_thread`."""
    return max(1, min(cpu_count(), torch.get_num_threads()))
