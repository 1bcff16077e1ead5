"""On how many devices, and on which, the networks of a fit are trained."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from domindex.errors import InputError
from domindex.vdi.settings import Training
from domindex.vdi.training import PlainFabric, TrainingFabric

SHARING = ("auto", "ddp")
"""Strategies under which processes share batches."""

_LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_FABRIC_RUN = ("LT_CLI_USED", "LT_STRATEGY", "LT_DEVICES", "LT_NUM_NODES")


@dataclass(frozen=True)
class Places:
    """What was asked for, fitted to what there is.

    Attributes
    ----------
    training : accelerator, devices, strategy and precision as they were asked for
    n_processes : on this machine, one a device
    is_launched : whether a launcher has started them; each then calls `fit`
    """

    training: Training
    n_processes: int
    is_launched: bool

    @classmethod
    def of(cls, training: Training) -> Places:
        """`InputError` where what was asked for cannot be had.

        A launcher's processes share where more than one device or "ddp" was asked for, and always
        under `fabric run`; else each fits by itself.
        """
        n_devices = _count_devices(training)
        shares = n_devices > 1 or training.strategy == "ddp" or "LT_CLI_USED" in os.environ
        is_launched = shares and all(name in os.environ for name in _LAUNCHED)
        if (is_launched or n_devices > 1) and training.strategy not in SHARING:
            raise InputError(
                f"strategy is {training.strategy!r}, for {n_devices} devices. Choose one of "
                f"{SHARING}, under which processes share batches."
            )
        if is_launched:
            started = int(os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"]))
            if n_devices not in (1, started):
                raise InputError(
                    f"devices is {training.devices!r}, and the launcher started {started} "
                    f"processes on this machine. Start as many, or choose devices={started}."
                )
            return cls(training, started, is_launched=True)
        if n_devices > 1 and dist.is_initialized():
            raise InputError(
                "torch.distributed is already set up in this process, but not by torchrun or "
                f"fabric run, so that devices={training.devices!r} cannot be had. Choose devices=1."
            )
        return cls(training, n_devices, is_launched=False)

    @property
    def are_shared(self) -> bool:
        return self.is_launched or self.n_processes > 1

    @property
    def backend(self) -> str:
        """Through which processes reach each other."""
        return "nccl" if self._on_gpus else "gloo"

    def fabric(self, local_rank: int | None = None) -> TrainingFabric:
        """Device and precision of this process, or of one of that rank on this machine."""
        asked = self.training
        if not self.are_shared and PlainFabric.serves(asked):
            return PlainFabric()
        from lightning_fabric import Fabric  # here: it takes seconds, and most need none

        if not self.are_shared:
            strategy = "auto" if asked.strategy == "ddp" else asked.strategy
            with _naming_what_was_asked(asked):
                return Fabric(
                    accelerator=asked.accelerator,
                    devices=asked.devices,
                    strategy=strategy,
                    precision=asked.precision,
                )
        if local_rank is None:
            local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        devices: Any = 1
        if self._on_gpus:
            listed = asked.devices if isinstance(asked.devices, list) else range(self.n_processes)
            devices = [listed[local_rank]]
        with _fabric_run_hidden(), _naming_what_was_asked(asked):
            fabric = Fabric(
                accelerator=asked.accelerator, devices=devices, precision=asked.precision
            )
        if fabric.device.type == "cuda":
            torch.cuda.set_device(fabric.device)
        return fabric

    @property
    def _on_gpus(self) -> bool:
        accelerator = os.environ.get("LT_ACCELERATOR", self.training.accelerator)
        return accelerator in ("gpu", "cuda", "auto") and torch.cuda.is_available()


def _count_devices(training: Training) -> int:
    """How many `devices` asks for; `InputError` where it asks for none."""
    devices = training.devices
    if devices in (-1, "-1", "auto"):
        on_gpus = training.accelerator in ("gpu", "cuda", "auto")
        return max(1, torch.cuda.device_count()) if on_gpus else 1
    if isinstance(devices, str) and devices.replace(",", "").isdigit():
        return len(devices.split(",")) if "," in devices else _at_least_one(int(devices), devices)
    if isinstance(devices, list):
        return _at_least_one(len(devices), devices)
    if isinstance(devices, int) and not isinstance(devices, bool):
        return _at_least_one(devices, devices)
    raise InputError(f"devices is {devices!r}. Choose a number, a list of GPUs, or 'auto'.")


def _at_least_one(count: int, devices: Any) -> int:
    if count < 1:
        raise InputError(f"devices is {devices!r}. Choose 1 or more, or 'auto'.")
    return count


@contextmanager
def _naming_what_was_asked(training: Training) -> Iterator[None]:
    """`InputError` where Fabric cannot give what was asked for; its own words are repeated."""
    try:
        yield
    except Exception as error:
        raise InputError(
            f"There is no accelerator {training.accelerator!r} with devices={training.devices!r}, "
            f"strategy={training.strategy!r} and precision={training.precision!r} here "
            f"({type(error).__name__}: {error}). Choose accelerator='cpu', devices=1, "
            "strategy='auto' and precision='32-true', which are everywhere."
        ) from error


@contextmanager
def _fabric_run_hidden() -> Iterator[None]:
    """`fabric run` tells Fabric, by the environment, to set up processes: that is done here."""
    hidden = {name: os.environ.pop(name) for name in _FABRIC_RUN if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
