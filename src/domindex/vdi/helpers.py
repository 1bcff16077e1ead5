"""Processes started for the length of a fit, that help the one that fits to train."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from torch.distributed import TCPStore  # type: ignore[attr-defined]

from domindex.errors import TrainingError
from domindex.vdi.places import Places
from domindex.vdi.processes import Processes

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store


HOST = "127.0.0.1"
WATCH = 0.2
GRACE = 2.0
"""Seconds: between two looks at the helpers; until one that was lost should have been missed."""

LAST_WAIT = 10.0
"""Seconds for a helper to end when all is done, before it is made to."""

LAST_WORDS = 2000
"""Characters of what a helper wrote that an error repeats."""


class HelperLost(BaseException):
    """Raised in the thread that fits, wherever it is; a `TrainingError` once it is out of there.

    No plain `Exception`, which a predictor that fails may raise and a committee goes on without.
    """


@dataclass
class Helper:
    """A process that helps, and the file that it writes its errors to."""

    rank: int
    process: subprocess.Popen
    errors: IO[bytes]

    def fate(self) -> str:
        """What became of it."""
        code = self.process.wait()
        if code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
            advice = "Look whether memory ran out, and fit again"
        else:
            how, advice = f"ended with code {code}", "Fit again, or with devices=1"
        self.errors.seek(0)
        words = self.errors.read().decode(errors="replace").strip()[-LAST_WORDS:]
        said = f" Its last words:\n{words}" if words else ""
        return f"Process {self.rank} of the training {how} before the fit was over. {advice}.{said}"


class Helpers:
    """The helpers of one fit: inside `with`, they are there, and after it, gone.

    Where one of them ends too early, the fit ends with a `TrainingError` that says how, whatever it
    was doing at that time.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._lost: str | None = None
        self._over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Helpers:
        store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
        n = self._places.n_processes
        self.processes = _LeadingProcesses(store, 0, n, self._places.backend, self)
        self._helpers = [_start(self._places, store.port, rank) for rank in range(1, n)]
        arguments = (threading.get_ident(),)
        self._watcher = threading.Thread(target=self._watch, args=arguments, daemon=True)
        self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop_watching()
        is_lost = isinstance(error, (HelperLost, TrainingError)) and self._look(GRACE)
        self.processes.close(in_order=error is None)
        for helper in self._helpers:
            if error is None:
                try:
                    helper.process.wait(LAST_WAIT)
                except subprocess.TimeoutExpired:
                    helper.process.kill()
            else:
                helper.process.kill()
            helper.process.wait()
            helper.errors.close()
        if is_lost:
            raise TrainingError(self._lost) from None

    def lost(self) -> str | None:
        """What became of a helper that was lost, if one was."""
        return self._lost if self._look() else None

    def _look(self, patience: float = 0.0) -> bool:
        """Whether a helper was lost, or is within some seconds."""
        deadline = time.monotonic() + patience
        while self._lost is None:
            ended = [one for one in self._helpers if one.process.poll() is not None]
            if ended:
                self._lost = ended[0].fate()
            elif time.monotonic() >= deadline:
                return False
            else:
                time.sleep(WATCH)
        return True

    def _watch(self, thread: int) -> None:
        while not self._over.wait(WATCH):
            if not self._look():
                continue
            for helper in self._helpers:  # whoever waits for the lost one waits no longer
                helper.process.kill()
            self._over.wait(GRACE)
            while _is_importing(thread) and not self._over.is_set():
                time.sleep(WATCH)
            with self._lock:
                if not self._over.is_set():
                    _raise_in(thread, HelperLost)
            return

    def _stop_watching(self) -> None:
        try:
            with self._lock:
                self._over.set()
            self._watcher.join()
        except HelperLost:  # on its way since before the lock was taken
            self._over.set()


class _LeadingProcesses(Processes):
    def __init__(self, store: Store, rank: int, n: int, backend: str, to: Helpers) -> None:
        super().__init__(store, rank, n, backend)
        self._helpers = to

    def reason(self) -> str | None:
        return self._helpers.lost() or super().reason()

    def finish(self, outcome: Any) -> None:
        """Helpers have no use for what was learned."""
        super().finish(None)


def _start(places: Places, port: int, rank: int) -> Helper:
    """A new interpreter that finds what this one can import, and nothing else."""
    asked = {
        name: value
        for name, value in places.training.get_params().items()
        if name in ("accelerator", "devices", "precision")
    }
    task = json.dumps({"port": port, "rank": rank, "n": places.n_processes, "training": asked})
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the helper
    process = subprocess.Popen(
        [sys.executable, "-c", "from domindex.vdi.helper import main; main()", task],
        env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,  # an interrupt is for the process that fits
    )
    return Helper(rank, process, errors)


def _is_importing(thread: int) -> bool:
    """Whether a thread is in the middle of an import, which would stay half done."""
    frame = sys._current_frames().get(thread)
    while frame is not None and "importlib" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an exception in another thread, when it next comes back to Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
