"""The random numbers of one fit in torch, from generators of its own.

torch draws from one generator for the whole process unless it is given another, so two fits in two
threads would take numbers from each other. Whatever draws in a training is therefore given a
generator. What cannot be given one, because it draws by itself (the first weights of a layer, the
dropout of a user's backbone), does so inside of `TorchRng.as_default`, which is the calling
thread's alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import TorchDispatchMode

State = dict[str, NDArray[np.uint8]]


class TorchRng:
    """Generators seeded alike, one for every kind of device that is drawn on.

    A seed gives the numbers that `torch.manual_seed` would. In another process, or restored, it
    goes on where it was.

    Examples
    --------
    >>> import torch
    >>> first, second = (torch.randn(3, generator=TorchRng(7).on("cpu")) for _ in range(2))
    >>> bool((first == second).all())
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generators: dict[str, torch.Generator] = {}
        self._to_restore: State = {}
        self.on("cpu")

    def on(self, device: torch.device | str) -> torch.Generator:
        """The generator for tensors on a device."""
        device = torch.device(device)
        if device.type not in self._generators:
            generator = torch.Generator(device).manual_seed(self.seed)
            if device.type in self._to_restore:
                generator.set_state(torch.tensor(self._to_restore.pop(device.type)))
            self._generators[device.type] = generator
        return self._generators[device.type]

    @contextmanager
    def as_default(self) -> Iterator[None]:
        """Inside, this thread draws from here whatever it draws without a generator."""
        with _DefaultGenerator(self):
            yield

    def state(self) -> State:
        """Where every generator is: arrays of bytes by kind of device."""
        own = {kind: one.get_state().numpy().copy() for kind, one in self._generators.items()}
        return {**self._to_restore, **own}

    def restore(self, state: Mapping[str, NDArray[np.uint8]]) -> None:
        """Go back to where `state` was taken."""
        self._to_restore = {kind: np.array(one) for kind, one in state.items()}
        for kind in list(self._generators):
            if kind in self._to_restore:
                self._generators[kind].set_state(torch.tensor(self._to_restore.pop(kind)))
            else:  # was not drawn from yet
                del self._generators[kind]

    def __getstate__(self) -> dict[str, Any]:
        return {"seed": self.seed, "state": self.state()}

    def __setstate__(self, held: dict[str, Any]) -> None:
        self.__init__(held["seed"])  # type: ignore[misc]
        self.restore(held["state"])


class _DefaultGenerator(TorchDispatchMode):
    """Hands a generator to every operation that draws and was given none."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing here is compiled; saying so to torch's compiler would import it, for a second."""
        return False

    def __init__(self, chance: TorchRng) -> None:
        super().__init__()
        self._chance = chance

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded not in func.tags or given.get("generator") is not None:
            return func(*args, **given)
        device = _device(args, given)
        drawing = _with_generator(func)
        if drawing is None or device.type == "meta":
            return func(*args, **given)
        return drawing(*args, **{**given, "generator": self._chance.on(device)})


def _with_generator(func: Any) -> Any:
    """The same operation, as it takes a generator; None where there is no such form."""
    if any(one.name == "generator" for one in func._schema.arguments):
        return func
    name = func._overloadname
    form = "generator" if name == "default" else f"{name}_generator"
    return getattr(func.overloadpacket, form, None)


def _device(args: tuple[Any, ...], given: Mapping[str, Any]) -> torch.device:
    named = given.get("device")
    held = next((one.device for one in args if isinstance(one, torch.Tensor)), None)
    return torch.device(named) if named is not None else held or torch.device("cpu")


_lock = threading.RLock()
_n_inside = 0
_before: tuple[Any, ...] = ()


@contextmanager
def generators_kept(seed: int, devices: Sequence[torch.device] = ()) -> Iterator[None]:
    """torch's own generators, seeded inside, and after it as they were before.

    For code of a user's that draws from them in the middle of a fit, such as a predictor on torch.
    Of several at the same time the first seeds and the last puts back: what draws from a generator
    of the process in several threads has no order in any case.
    """
    global _n_inside, _before
    with _lock:
        if _n_inside == 0:
            _before = torch.get_rng_state(), [torch.cuda.get_rng_state(one) for one in devices]
            torch.manual_seed(seed)
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0:
                torch.set_rng_state(_before[0])
                for device, state in zip(devices, _before[1]):
                    torch.cuda.set_rng_state(state, device)


@contextmanager
def alone_with_torch(seed: int) -> Iterator[None]:
    """torch's own generator, seeded, for one thread at a time: for a user's code that makes a
    network, and may seed or draw as it likes."""
    with _lock, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
