"""Where the processes of a training come from: none, a launcher's, or helpers of our own."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from torch.distributed import PrefixStore  # type: ignore[attr-defined]

from domindex.errors import InputError, TrainingError
from domindex.inputs import DomainData
from domindex.vdi.helpers import Helpers
from domindex.vdi.places import Places
from domindex.vdi.processes import Processes

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store


_fits = itertools.count()
"""Every fit leaves word for the other processes under a number of its own."""


@contextmanager
def joined_processes(places: Places, data: DomainData) -> Iterator[Processes | None]:
    """The processes that train together, as this one sees them; None where there is but one.

    An error on the way ends all of them, and each says why.
    """
    if places.is_launched:
        with _launched_processes(places, data) as processes:
            yield processes
    elif places.n_processes > 1:
        with Helpers(places) as helpers:
            yield helpers.processes
    else:
        yield None


def is_leading() -> bool:
    """Whether this process writes files for those that a launcher started beside it."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def _launched_processes(places: Places, data: DomainData) -> Iterator[Processes]:
    store, rank, n_processes = _launchers_store()
    store = PrefixStore(f"domindex/{next(_fits)}", store)
    processes = Processes(store, rank, n_processes, places.backend)
    if not processes.agree("data", _digest(data)):
        raise InputError(
            f"The {n_processes} processes that a launcher started gave fit different data. Give "
            "all of it to each: a process takes its share of every batch by itself."
        )
    try:
        yield processes
    except BaseException as error:
        reason = processes.reason()
        processes.say_why(error)
        processes.close(in_order=False)
        if isinstance(error, TrainingError) and reason is not None:
            raise TrainingError(f"The fit was given up. {reason}") from error
        raise
    processes.close(in_order=True)


@lru_cache(maxsize=1)
def _launchers_store() -> tuple[Store, int, int]:
    """Where processes of one launcher leave word for each other, with rank and their number."""
    from torch.distributed.rendezvous import rendezvous

    return next(iter(rendezvous("env://")))


def _digest(data: DomainData) -> str:
    """Of all that a fit reads: equal where the data are."""
    digest = hashlib.blake2b(repr((data.domains, data.inputs.shape, data.task)).encode())
    for array in (data.inputs, data.labels, data.row_domains, data.is_source):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
