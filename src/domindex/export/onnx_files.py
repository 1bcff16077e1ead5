"""ONNX, an extra: written by torch's own exporter, run by onnxruntime."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError

NEEDED = ("onnx", "onnxscript", "onnxruntime")
INPUTS = ("X", "domain")


def require_onnx(needed: tuple[str, ...] = NEEDED) -> None:
    """InputError that says what to install."""
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise InputError(
            f"ONNX needs {', '.join(missing)}, which is not installed. "
            "Run pip install 'domindex[onnx]'."
        )


def write_onnx(exported: Any, path: Path, outputs: tuple[str, ...]) -> None:
    """An exported program as one ONNX file, weights inside."""
    import torch

    with _quiet():
        torch.onnx.export(
            exported,
            (),
            path,
            input_names=list(INPUTS),
            output_names=list(outputs),
            external_data=False,
            dynamo=True,
            verbose=False,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch says about its own exporter and about packages that are not needed."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def run_onnx(path: Path, X: NDArray, numbers: NDArray[np.int64]) -> tuple[NDArray, ...]:
    """What the file gives for rows and domain numbers."""
    return tuple(onnx_session(path).run(None, dict(zip(INPUTS, (X, numbers)))))


def onnx_session(path: Path) -> Any:
    require_onnx(("onnxruntime",))
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
