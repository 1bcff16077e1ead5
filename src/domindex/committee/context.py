"""What every stage of a fit is given beside the data, and how its jobs are run in parallel."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import joblib
import numpy as np
import pandas as pd
import torch
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits
from torch import nn

from domindex.cluster import cluster_errors
from domindex.committee.settings import ChoiceSettings
from domindex.inputs import DomainData
from domindex.neural.backbones import TrainedBackbone, give_template
from domindex.neural.rng import TorchRng, preserve_generators
from domindex.neural.settings import Training, TrainingSettings, find_device
from domindex.neural.training import Callback, DivergenceAlarm, History, ProgressBar, Trainer
from domindex.persistence.stage_cache import StageCache
from domindex.progress import Progress, show_progress
from domindex.vdi.settings import Network
from domindex.versions import source_hash, versions

Result = TypeVar("Result")


@dataclass(frozen=True)
class Workers:
    """How independent jobs are run; the results are the same in any way."""

    n_jobs: int | None = None  # processes, as in joblib
    n_threads: int = 1  # of this process, used where `n_jobs` is None; each job gets one

    @property
    def has_threads(self) -> bool:
        """Whether work may be shared among threads: not where a number of processes was named."""
        alone = self.n_jobs is None and effective_n_jobs(None) == 1
        return alone and self.n_threads > 1

    def run(
        self,
        function: Callable[..., Result],
        arguments: Sequence[tuple[Any, ...]],
        *,
        in_threads: bool = False,
    ) -> Iterator[Result]:
        """The results in the order of the arguments, as they are known.

        `in_threads` says that the work may be done in threads: it changes nothing that is shared,
        draws from no generator that is, and gains by it. Beyond 4 threads they would wait for the
        interpreter's lock, which trees need between their splits.
        """
        n_threads = min(self.n_threads, 4, len(arguments))
        if not (in_threads and self.has_threads and n_threads > 1):
            jobs = (delayed(function)(*given) for given in arguments)
            with cluster_errors():
                yield from Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)
            return
        threads = Parallel(n_jobs=n_threads, backend="threading", return_as="generator")
        with warnings.catch_warnings():  # threads swap the filters of warnings: ours come back
            show = warnings.showwarning

            def shown(message: Warning | str, *given: Any, **named: Any) -> None:
                # Forests believe filters lost that another thread is just replacing.
                if "sklearn.utils.parallel.delayed" not in str(message):
                    show(message, *given, **named)

            warnings.showwarning = shown
            yield from threads(delayed(_on_one_thread)(function, given) for given in arguments)


def _on_one_thread(function: Callable[..., Result], given: tuple[Any, ...]) -> Result:
    """A new thread does not inherit the limit of the one that it was started from."""
    with threadpool_limits(limits=1):
        return function(*given)


_lock = threading.Lock()
_n_inside = 0
_to_restore = ExitStack()


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold torch and the BLAS libraries to one thread inside, and restore them after: the matrices
    of a step are small, and several threads would cost more than they save.

    The limits of BLAS libraries are the process's, those of OpenMP the calling thread's. The former
    stay until the last of several threads inside has left: more in the middle of its work would
    change the order of its sums.
    """
    global _n_inside
    with _lock:
        before = torch.get_num_threads()
        if _n_inside == 0:
            _to_restore.callback(torch.set_num_threads, before)
            _to_restore.enter_context(threadpool_limits(limits=1, user_api="blas"))
        own = threadpool_limits(limits=1, user_api="openmp")  # restores the others' 1 as well
        torch.set_num_threads(1)
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            own.restore_original_limits()
            if _n_inside == 0:
                _to_restore.close()


def available_threads() -> int:
    """Threads that compiled code would take by itself, asked outside of `one_thread`."""
    return max(1, min(cpu_count(), torch.get_num_threads()))


class Timings:
    """Seconds of named stages, in the order in which they were first entered. A stage inside
    another takes its time out of the outer one, so that the sum is the whole."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[str, float] = {}
        self._clock = clock

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside for `name`, also if it ends by an error."""
        start, before = self._clock(), sum(self.seconds.values())
        self.seconds.setdefault(name, 0.0)
        try:
            yield
        finally:
            within = sum(self.seconds.values()) - before  # of stages inside
            self.seconds[name] += self._clock() - start - within

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
        drawn = {"rng": self.rng.bit_generator.state, "torch_rng": self.torch_rng.state()}
        self.stages.store(name, {**value, **drawn, "history": self.history.rows})

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
    A backbone is trained on as many threads as torch has, on fewer rows of a domain in a step."""
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
        yield FitContext(
            network,
            Trainer(device, settings, callbacks),
            history,
            np.random.default_rng(seed),
            progress,
            choices or ChoiceSettings(),
            seed=seed,
            n_threads=n_threads,
            backbone=backbone,
            stages=stages or StageCache(),
            torch_rng=TorchRng(seed),
        )


def fit_facts(model: BaseEstimator, data: DomainData, seed: int) -> dict[str, str]:
    """Everything that determines a fit, as texts by the name that a user knows it by: no parameter
    that changes no result, and the seed for `random_state`."""
    parameters = {
        name: _text(value)
        for name, value in sorted(model.get_params(deep=True).items())
        if name not in ("verbose", "n_jobs", "random_state")
    }
    parts = [getattr(data, one.name) for one in fields(data)]
    return {
        "the estimator": type(model).__name__,
        "the data": f"with the checksum {joblib.hash(parts)}",
        **parameters,
        "the seed": str(seed),
        "the code of domindex": source_hash(),
        **{f"the version of {name}": number for name, number in versions().items()},
    }


def _text(value: Any) -> str:
    """A value by what it says, without its place in memory; networks by their weights."""
    if isinstance(value, nn.Module):
        weights = [one.detach().cpu().float().numpy() for one in value.state_dict().values()]
        return f"{type(value).__name__} with the weights {joblib.hash([repr(value), weights])}"
    if isinstance(value, np.ndarray):
        return f"array{value.shape} with the checksum {joblib.hash(value.tolist())}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        inner = sorted(value.get_params(deep=False).items())
        return f"{type(value).__name__}({', '.join(f'{n}={_text(one)}' for n, one in inner)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(_text(one) for one in value) + ")"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
