"""Independent jobs of a fit in parallel, and one thread where that is fastest."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from domindex.cluster import cluster_errors

Result = TypeVar("Result")


@dataclass(frozen=True)
class Workers:
    """How independent jobs are run; the results are the same in any way.

    Attributes
    ----------
    n_jobs : processes, as in joblib
    n_threads : threads of this process, used where `n_jobs` is None: for work that spends its
        time in compiled code which lets others run. Each job gets one, so that jobs need not
        wait for each other, as they would inside of every tree. Beyond `max_threads` they wait for
        the interpreter's lock, which trees need between their splits.
    """

    max_threads: ClassVar[int] = 4

    n_jobs: int | None = None
    n_threads: int = 1

    @property
    def has_threads(self) -> bool:
        """Whether work may be shared among threads: not where a number of processes was named."""
        alone = self.n_jobs is None and effective_n_jobs(None) == 1
        return alone and self.n_threads > 1

    def run(
        self,
        function: Callable[..., Result],
        arguments: Sequence[tuple[Any, ...]],
        *,
        in_threads: bool = False,
    ) -> Iterator[Result]:
        """The results in the order of the arguments, as they are known.

        `in_threads` says that the work may be done in threads: it changes nothing that is shared,
        draws from no generator that is, and gains by it.
        """
        n_threads = min(self.n_threads, self.max_threads, len(arguments))
        if not (in_threads and self.has_threads and n_threads > 1):
            jobs = (delayed(function)(*given) for given in arguments)
            with cluster_errors():
                yield from Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)
            return
        threads = Parallel(n_jobs=n_threads, backend="threading", return_as="generator")
        with warnings.catch_warnings():  # threads swap the filters of warnings: ours come back
            warnings.showwarning = _without_false_alarms(warnings.showwarning)
            yield from threads(delayed(_on_one_thread)(function, given) for given in arguments)


def _without_false_alarms(show: Callable[..., None]) -> Callable[..., None]:
    """Warnings as ever, but for one of scikit-learn's.

    Its forests hand the filters of warnings from thread to thread, and take them to be lost where
    another thread has just emptied them to put its own in place: then it warns for every tree.
    """

    def shown(message: Warning | str, *given: Any, **named: Any) -> None:
        if "sklearn.utils.parallel.delayed" not in str(message):
            show(message, *given, **named)

    return shown


def _on_one_thread(function: Callable[..., Result], given: tuple[Any, ...]) -> Result:
    """A new thread does not inherit the limit of the one that it was started from."""
    with threadpool_limits(limits=1):
        return function(*given)


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
