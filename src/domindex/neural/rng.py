"""The random numbers of one fit in torch, from generators of its own.

torch draws from one generator for the whole process unless it is given another, so two fits in two
threads would take numbers from each other. Whatever draws in a training is therefore given a
generator. What cannot be given one, because it draws by itself (the first weights of a layer, the
dropout of a user's backbone), does so inside `TorchRng.as_default`, for the calling thread alone.
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


class TorchRng:
    """Generators of one seed, one for every kind of device; as `torch.manual_seed` would draw.

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
        self.on("cpu")

    def on(self, device: torch.device | str) -> torch.Generator:
        """The generator for tensors on a device."""
        device = torch.device(device)
        if device.type not in self._generators:
            self._generators[device.type] = torch.Generator(device).manual_seed(self.seed)
        return self._generators[device.type]

    @contextmanager
    def as_default(self) -> Iterator[None]:
        """Inside, this thread draws from here whatever it draws without a generator."""
        with _DefaultGenerator(self):
            yield

    def state(self) -> dict[str, NDArray[np.uint8]]:
        """Where every generator is: arrays of bytes by kind of device."""
        return {kind: one.get_state().numpy().copy() for kind, one in self._generators.items()}

    def restore(self, state: Mapping[str, NDArray[np.uint8]]) -> None:
        """Go back to where `state` was taken."""
        self._generators.clear()
        for kind, one in state.items():
            self.on(kind).set_state(torch.tensor(one))


class _DefaultGenerator(TorchDispatchMode):
    """Hands a generator to every operation that draws and was given none."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing here is compiled; saying so to torch's compiler would import it, for a second."""
        return False

    def __init__(self, rng: TorchRng) -> None:
        super().__init__()
        self._rng = rng

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
        held = next((one.device for one in args if isinstance(one, torch.Tensor)), "cpu")
        device = torch.device(given.get("device") or held)
        drawing = _with_generator(func)
        if drawing is None or device.type == "meta":
            return func(*args, **given)
        return drawing(*args, **{**given, "generator": self._rng.on(device)})


def _with_generator(func: Any) -> Any:
    """The same operation, as it takes a generator; None where there is no such form."""
    if any(one.name == "generator" for one in func._schema.arguments):
        return func
    name = func._overloadname
    form = "generator" if name == "default" else f"{name}_generator"
    return getattr(func.overloadpacket, form, None)


_lock = threading.RLock()
_n_inside = 0
_before: tuple[Any, ...] = ()


@contextmanager
def preserve_generators(seed: int, devices: Sequence[torch.device] = ()) -> Iterator[None]:
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
def seeded_torch(seed: int) -> Iterator[None]:
    """torch's own generator, seeded, for one thread at a time: for a user's code that makes a
    network, and may seed or draw as it likes."""
    with _lock, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
