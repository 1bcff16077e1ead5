"""A Dask cluster that joblib and data frames are spread over, and a word where it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from domindex.errors import ClusterError, InputError

PATIENCE = 10.0  # seconds that a scheduler has to answer, and to show a worker


@contextmanager
def connected(address: str, *, as_default: bool = False) -> Iterator[Any]:
    """A client of the scheduler at `address`, which must answer and have a worker. `as_default`
    makes it the one that joblib's backend and Dask's frames use."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "A cluster needs Dask distributed, which is not installed. "
            "Install it with: pip install 'domindex[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=as_default)
    except Exception as error:
        raise InputError(
            f"No Dask scheduler answers at {address!r} ({type(error).__name__}). "
            "Start one with `dask scheduler` and give the address it prints, "
            "for example tcp://10.0.0.1:8786."
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise InputError(
                f"The Dask scheduler at {address!r} has no workers. "
                f"Start some with `dask worker {address}`."
            ) from None
        yield client


@contextmanager
def spread_over(address: str | None) -> Iterator[None]:
    """Whatever goes through joblib in the block, on the workers of a cluster, if one is named."""
    if address is None:
        yield
        return
    from joblib import parallel_config

    with (
        cluster_errors(),
        connected(address, as_default=True) as client,
        parallel_config(backend="dask", client=client),
    ):
        yield


@contextmanager
def on_this_machine() -> Iterator[None]:
    """What an estimator of scikit-learn does through joblib, in threads of its process: a cluster
    is sent folds, not every tree of a forest with all its rows, as joblib would, n_jobs=1 or not.
    """
    from joblib import parallel_config
    from joblib.parallel import get_active_backend

    is_spread = type(get_active_backend()[0]).__name__ == "DaskDistributedBackend"
    with parallel_config(backend="threading") if is_spread else nullcontext():
        yield


@contextmanager
def cluster_errors() -> Iterator[None]:
    """What Dask raises when it has lost its scheduler or too many workers, as a `ClusterError`."""
    try:
        yield
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        named = {"KilledWorker", "CommClosedError", "CancelledError", "SchedulerStillAlive"}
        if not kinds & named and not type(error).__module__.startswith("distributed"):
            raise
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}".rstrip(": ")
        raise ClusterError(
            f"The Dask cluster went away before the work was done ({said}). Start it again with "
            "enough memory for its workers and repeat the command: nothing was written."
        ) from error
