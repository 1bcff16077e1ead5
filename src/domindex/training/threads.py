"""Small networks run fastest on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
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
