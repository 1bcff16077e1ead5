"""One cell in a process of its own.

A fresh process makes the peak of memory that cell's alone, keeps cells from influencing each
other, and turns a crash or the system's out-of-memory killer into one failed cell.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

from domindex_bench.cells import Cell, CellResult
from domindex_bench.suites import settings_now

MODULE = "domindex_bench.measuring"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Cells share the cores by running side by side, not by threads that get in each other's way."""

LAST_WORDS = 300
"""Characters of a crashed process's complaint that are kept."""


def run_cell(cell: Cell, data_home: str | None = None) -> CellResult:
    """Measure `cell` in a new process; whatever goes wrong there is in the result.

    The process holds on to a pipe from this one and ends when that closes, so that it does not
    outlive us even where we are killed.
    """
    home = [data_home] if data_home else []
    arguments = [cell.suite, cell.dataset, cell.method, str(cell.seed), *home]
    where_to_import = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": where_to_import},
    )
    with process:
        try:
            output, complaint = _read_until_end(process)
        except BaseException:
            process.kill()
            raise
    try:
        return CellResult.from_json(json.loads(output))
    except ValueError:
        last = " ".join(complaint.decode(errors="replace").split())[-LAST_WORDS:]
        note = f"its process ended with code {process.returncode}. {last}".strip()
        return cell.ended("failed", settings_now(cell), note=note)


def _read_until_end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What the process writes; unlike `communicate`, this leaves its input open until it ends."""
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[bytes] = []
    reader = threading.Thread(target=lambda pipe: errors.append(pipe.read()), args=[process.stderr])
    reader.start()
    output = process.stdout.read()
    process.wait()
    reader.join()
    return output, errors[0]
