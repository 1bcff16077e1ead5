"""What every stage of a fit is given beside the data."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from torch import nn

from domindex.committee.parallel import available_threads, one_thread
from domindex.committee.settings import ChoiceSettings
from domindex.inputs import DomainData
from domindex.persistence.stage_cache import StageCache
from domindex.progress import Progress, show_progress
from domindex.vdi.backbones import TrainedBackbone, give_template
from domindex.vdi.rng import TorchRng, preserve_generators
from domindex.vdi.settings import Network, Training, TrainingSettings, find_device
from domindex.vdi.training import Callback, DivergenceAlarm, History, ProgressBar, Trainer
from domindex.versions import source_hash, versions


class Timings:
    """Seconds of named stages, in the order in which they were first entered.

    A stage inside another takes its time out of the outer one, so that the sum is the whole. A
    stage that is entered again goes on.

    Examples
    --------
    >>> from domindex.committee.context import Timings
    >>> ticks = iter([0.0, 1.0, 3.0, 3.5])
    >>> timings = Timings(clock=lambda: next(ticks))
    >>> with timings.stage("mapping"):
    ...     with timings.stage("scaling"):
    ...         pass
    >>> timings.seconds
    {'mapping': 1.5, 'scaling': 2.0}
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[str, float] = {}
        self._clock = clock
        self._open: list[str] = []
        self._since = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside for `name`, also if it ends by an error."""
        self._turn()
        self._open.append(name)
        self.seconds.setdefault(name, 0.0)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def _turn(self) -> None:
        now = self._clock()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def table(self) -> pd.DataFrame:
        """A row a stage, with its seconds."""
        stages = pd.Series(list(self.seconds), dtype=object)
        return pd.DataFrame({"stage": stages, "seconds": list(self.seconds.values())})


@dataclass(frozen=True, eq=False)
class FitContext:
    """Settings, random generators, and what watches the training."""

    network: Network
    trainer: Trainer
    history: History  # of the phases that the trainer ran
    rng: np.random.Generator
    progress: Progress
    choices: ChoiceSettings = field(default_factory=ChoiceSettings)
    timings: Timings = field(default_factory=Timings)
    seed: int = 0  # of folds, draws and predictors
    n_threads: int = 1  # that work beside the networks may be shared among
    backbone: TrainedBackbone | None = None  # before the other networks, where one is trained
    stages: StageCache = field(default_factory=StageCache)  # finished, of a fit that may be cut off
    torch_rng: TorchRng = field(default_factory=lambda: TorchRng(0))

    @property
    def training(self) -> TrainingSettings:
        return self.trainer.settings

    @property
    def device(self) -> torch.device:
        return self.trainer.device

    def store_stage(self, name: str, value: dict[str, Any]) -> None:
        """Store a stage that drew random numbers, with where the generators and the history are."""
        own = {
            "rng": self.rng.bit_generator.state,
            "torch_rng": self.torch_rng.state(),
            "history": self.history.rows,
        }
        self.stages.store(name, {**value, **own})

    def load_stage(self, name: str) -> dict[str, Any] | None:
        """A stage that was stored, with generators and history put to where they were after it."""
        found = self.stages.load(name)
        if found is not None:
            self.rng.bit_generator.state = found["rng"]
            self.torch_rng.restore(found["torch_rng"])
            self.history.rows = found["history"]
            if self.backbone is not None:
                give_template(found, self.backbone.extractor.network)
        return found


@contextmanager
def fit_context(
    data: DomainData,
    network: Network,
    training: Training,
    settings: TrainingSettings,
    seed: int,
    verbose: int,
    choices: ChoiceSettings | None = None,
    backbone: TrainedBackbone | None = None,
    stages: StageCache | None = None,
) -> Iterator[FitContext]:
    """One thread, a seed of the fit's own, and bars; the caller's generators are left as they were.

    The same seed gives the same result. A backbone is trained on as many threads as torch has, and
    on fewer rows of each domain in a step.
    """
    device = find_device(training.device)
    if backbone is not None:
        n_domains = min(data.n_domains, settings.max_domains)
        rows = max(settings.backbone_domain_rows, settings.backbone_rows // n_domains)
        settings = replace(settings, batch_size=min(settings.batch_size, rows))
    history = History(int(np.ceil(np.median(data.domain_sizes) / settings.batch_size)))
    n_threads = available_threads()
    devices = [device] if device.type == "cuda" else []
    threads = one_thread() if backbone is None else nullcontext()
    with threads, preserve_generators(seed, devices), show_progress(verbose) as progress:
        callbacks: list[Callback] = [DivergenceAlarm(), history, ProgressBar(progress)]
        trainer = Trainer(device, settings, callbacks)
        rng = np.random.default_rng(seed)
        choices = choices or ChoiceSettings()
        yield FitContext(
            network,
            trainer,
            history,
            rng,
            progress,
            choices,
            seed=seed,
            n_threads=n_threads,
            backbone=backbone,
            stages=stages or StageCache(),
            torch_rng=TorchRng(seed),
        )


def fit_facts(model: BaseEstimator, data: DomainData, seed: int) -> dict[str, str]:
    """Everything that determines a fit, as texts by the name that a user knows it by.

    Not among them: parameters that change no result, and `random_state`, which the seed stands for.
    """
    parameters = {
        name: _text(value)
        for name, value in sorted(model.get_params(deep=True).items())
        if name not in ("verbose", "n_jobs", "random_state")
    }
    return {
        "the estimator": type(model).__name__,
        "the data": data_checksum(data),
        **parameters,
        "the seed": str(seed),
        "the code of domindex": source_hash(),
        **{f"the version of {name}": number for name, number in versions().items()},
    }


def data_checksum(data: DomainData) -> str:
    """Of rows, labels, domains and weights behind the gate."""
    digest = hashlib.blake2b(digest_size=32)
    for part in fields(data):
        value = getattr(data, part.name)
        digest.update(f"{part.name}:".encode())
        if isinstance(value, np.ndarray) and value.dtype != object:
            digest.update(f"{value.dtype}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            plain = value.tolist() if isinstance(value, np.ndarray) else value
            digest.update(_text(plain).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _text(value: Any) -> str:
    """A value by what it says, without its place in memory; networks by their weights."""
    if isinstance(value, nn.Module):
        digest = hashlib.blake2b(repr(value).encode(), digest_size=32)
        for name, tensor in value.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().float().numpy().tobytes())
        return f"{type(value).__name__} {digest.hexdigest()}"
    if isinstance(value, np.ndarray):
        text = str(value.tolist()).encode(errors="surrogatepass")
        return f"array{value.shape} {hashlib.sha256(text).hexdigest()}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        inner = sorted(value.get_params(deep=False).items())
        return f"{type(value).__name__}({', '.join(f'{n}={_text(one)}' for n, one in inner)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(_text(one) for one in value) + ")"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
