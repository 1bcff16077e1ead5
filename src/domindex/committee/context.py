"""What every stage of a fit is given beside the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from domindex.committee.parallel import available_threads, one_thread
from domindex.committee.settings import ChoiceSettings
from domindex.inputs import DomainData
from domindex.persistence.stage_cache import StageCache
from domindex.progress import Progress, show_progress
from domindex.timings import Timings
from domindex.vdi.backbones import TrainedBackbone, give_template
from domindex.vdi.rng import TorchRng, preserve_generators
from domindex.vdi.settings import Network, Training, TrainingSettings, find_device
from domindex.vdi.training import (
    Callback,
    DivergenceAlarm,
    History,
    ProgressBar,
    Trainer,
)


@dataclass(frozen=True, eq=False)
class FitContext:
    """Settings, random generators, and what watches the training.

    Attributes
    ----------
    network : sizes of the networks and weights of their objective
    trainer : runs the phases of a training
    history : the record of what they ran
    rng : random numbers of NumPy, for this fit alone
    progress : bars, perhaps silent
    timings : seconds by stage
    seed : of folds, draws and predictors
    choices : every threshold by which something is chosen
    n_threads : threads that work beside the networks may be shared among
    backbone : a network before the others, where one is trained
    stages : finished stages of the fit, stored where it may be cut off
    torch_rng : random numbers of torch, for this fit alone
    """

    network: Network
    trainer: Trainer
    history: History
    rng: np.random.Generator
    progress: Progress
    choices: ChoiceSettings = field(default_factory=ChoiceSettings)
    timings: Timings = field(default_factory=Timings)
    seed: int = 0
    n_threads: int = 1
    backbone: TrainedBackbone | None = None
    stages: StageCache = field(default_factory=StageCache)
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
