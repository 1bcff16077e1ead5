"""Small networks run fastest on one thread; what is fitted beside them may have the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from joblib import cpu_count
from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_n_inside = 0
_to_restore = ExitStack()


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold torch and the BLAS libraries to one thread inside, and restore them after.

    A step multiplies a few thousand rows by matrices of width 64: handing that to several threads
    costs more than it saves, and far more where other work wants the cores.

    The limits of BLAS libraries are the process's, those of OpenMP the calling thread's. Where
    several threads are inside at the same time, the former stay until the last has left: none is
    given more in the middle of its work, which would change the order of its sums.
    """
    global _n_inside
    with _lock:
        before = torch.get_num_threads()
        if _n_inside == 0:
            _to_restore.callback(torch.set_num_threads, before)
            _to_restore.enter_context(threadpool_limits(limits=1, user_api="blas"))
        own = threadpool_limits(limits=1, user_api="openmp")  # restores the others' 1 as well
        torch.set_num_threads(1)
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            own.restore_original_limits()
            if _n_inside == 0:
                _to_restore.close()


def available_threads() -> int:
    """Threads that compiled code would take by itself: the cores of this process, or fewer where
    OMP_NUM_THREADS or a limit around the call says so. To be asked outside of `one_thread`."""
    return max(1, min(cpu_count(), torch.get_num_threads()))
