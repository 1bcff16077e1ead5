"""Processes that train together: one leads a fit, and the others take their share of its steps."""

from __future__ import annotations

import gc
import io
import math
import sys
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from domindex.errors import DomindexError, TrainingError
from domindex.vdi.shares import Connection, Share, reached

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

    from domindex.vdi.training import TrainingFabric


PATIENCE = timedelta(minutes=10)
"""How long a process is waited for in the middle of a step. One that was killed is missed at once,
by its closed connection; this is for one that hangs."""

POLL = 0.05
"""Seconds after which a process that waits for work asks again whether there is any."""


class Task(ABC):
    """Something that all processes do together."""

    @abstractmethod
    def run(self, fabric: TrainingFabric, processes: Processes) -> None:
        """Take part in it."""


class Processes:
    """This process's place among those that train together.

    Parameters
    ----------
    store : where they leave word for each other
    rank : of this process; 0 leads
    n : how many there are
    backend : "gloo" or "nccl"
    """

    def __init__(self, store: Store, rank: int, n: int, backend: str) -> None:
        self.rank, self.n = rank, n
        self._store, self._backend = store, backend
        self._connection: Connection | None = None
        self._is_default = False
        self._n_messages = 0

    @property
    def leads(self) -> bool:
        return self.rank == 0

    @property
    def connection(self) -> Connection:
        """To the others; made when it is first needed, which is when all have come so far."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def share(self, whole: int) -> Share:
        """This process's share of batches of `whole` rows a domain."""
        return Share(self.rank, self.n, whole, self.connection)

    def agree(self, what: str, value: str) -> bool:
        """Whether all processes give the same value for something; waits for all of them."""
        self._store.set(f"{what}/{self.rank}", value)
        keys = [f"{what}/{rank}" for rank in range(self.n)]
        try:
            self._store.wait(keys, PATIENCE)
        except RuntimeError as error:
            raise TrainingError(
                f"Not all of the {self.n} processes have called fit ({error}). Call it in every "
                "process, with the same data."
            ) from error
        return all(self._store.get(key).decode() == value for key in keys)

    def hand_out(self, message: Any, device: torch.device) -> None:
        """Give a message to all others, which wait for one, with the state of chance here."""
        buffer = io.BytesIO()
        torch.save((message, _chance(device)), buffer, pickle_module=cloudpickle)
        payload = torch.frombuffer(bytearray(buffer.getbuffer()), dtype=torch.uint8)
        connection = self.connection
        with reached():
            self._store.set(self._next_key(), str(len(payload)))
        connection.send(self._carried(payload))

    def finish(self, outcome: Any) -> None:
        """Send the others home, with what was learned."""
        self.hand_out(outcome, torch.device("cpu"))

    def serve(self, fabric: TrainingFabric) -> Any:
        """Take part in whatever is handed out, until it is no task: that is returned."""
        while True:
            message, chance = self._receive(fabric.device)
            if not isinstance(message, Task):
                return message
            _set_chance(chance, fabric.device)
            try:
                message.run(fabric, self)
            except DomindexError:
                raise  # the others have it too
            except Exception as error:
                self.say_why(error)
                raise

    def say_why(self, error: BaseException) -> None:
        """Leave word of why this process cannot go on, for the others to find."""
        with suppress(RuntimeError):
            self._store.set("failure", f"Process {self.rank}: {type(error).__name__}: {error}")

    def reason(self) -> str | None:
        """What another process left word of, if one did."""
        with suppress(RuntimeError):
            if self._store.check(["failure"]):
                return self._store.get("failure").decode()
        return None

    def close(self, *, in_order: bool) -> None:
        """Part: `in_order` when all have come so far, else at once.

        What holds the group is let go of before it is destroyed, or the end may hang.
        """
        connection, self._connection = self._connection, None
        if connection is None:
            return
        gc.collect()
        if in_order:
            with suppress(TrainingError):
                connection.wait_for_all()
        group = connection.close()
        with suppress(RuntimeError):
            dist.destroy_process_group(None if self._is_default else group)

    def _connect(self) -> Connection:
        """When all are there: so that nobody waits, deaf, for one that will not come."""
        deadline = time.monotonic() + PATIENCE.total_seconds()
        with reached():
            self._store.set(f"ready/{self.rank}", "")
            self._wait_for([f"ready/{rank}" for rank in range(self.n)], deadline)
            if dist.is_initialized():
                return Connection(dist.new_group(timeout=PATIENCE, backend=self._backend))
            hook = sys.excepthook
            dist.init_process_group(
                self._backend,
                store=self._store,
                rank=self.rank,
                world_size=self.n,
                timeout=PATIENCE,
            )
            sys.excepthook = hook  # torch would print every later error of the caller's twice
        self._is_default = True
        assert dist.group.WORLD is not None
        return Connection(dist.group.WORLD)

    def _receive(self, device: torch.device) -> tuple[Any, Any]:
        connection, key = self.connection, self._next_key()
        with reached():
            self._wait_for([key])
            size = int(self._store.get(key))
        payload = connection.send(self._carried(torch.empty(size, dtype=torch.uint8)))
        buffer = io.BytesIO(payload.cpu().numpy().tobytes())
        return torch.load(buffer, map_location=device, weights_only=False)

    def _wait_for(self, keys: list[str], deadline: float = math.inf) -> None:
        """Until all keys are there, or word that they will not be."""
        while not self._store.check(keys):
            failure = self.reason()
            if failure is not None:
                raise TrainingError(f"The fit was given up. {failure}")
            if time.monotonic() > deadline:
                raise TrainingError(f"Not all of the {self.n} processes have come to train.")
            time.sleep(POLL)

    def _carried(self, payload: Tensor) -> Tensor:
        return payload.cuda() if self._backend == "nccl" else payload

    def _next_key(self) -> str:
        self._n_messages += 1
        return f"message/{self._n_messages}"


def _chance(device: torch.device) -> tuple[Any, Any]:
    """The state of torch's generators, as arrays: they stay on the CPU wherever tensors go."""
    on_device = torch.cuda.get_rng_state(device).numpy() if device.type == "cuda" else None
    return torch.get_rng_state().numpy(), on_device


def _set_chance(chance: tuple[Any, Any], device: torch.device) -> None:
    state, on_device = (None if one is None else torch.as_tensor(np.array(one)) for one in chance)
    assert state is not None
    torch.set_rng_state(state)
    if on_device is not None:
        torch.cuda.set_rng_state(on_device, device)
