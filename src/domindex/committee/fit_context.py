"""What every stage of a fit is given beside the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from domindex.committee.choice_settings import ChoiceSettings
from domindex.data import DomainData
from domindex.progress import Progress, show_progress
from domindex.timings import Timings
from domindex.training.callbacks import DivergenceAlarm, ProgressBar
from domindex.training.history import History
from domindex.training.settings import Network, Training, TrainingSettings
from domindex.training.threads import one_thread
from domindex.training.trainer import Trainer

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True, eq=False)
class FitContext:
    """Settings, chance, and who looks on.

    Attributes
    ----------
    network : sizes of the networks and weights of their objective
    trainer : runs the phases of a training
    history : the record of what they ran
    rng : the fit's own chance
    progress : bars, perhaps silent
    timings : seconds by stage
    choices : every threshold by which something is chosen
    """

    network: Network
    trainer: Trainer
    history: History
    rng: np.random.Generator
    progress: Progress
    choices: ChoiceSettings = field(default_factory=ChoiceSettings)
    timings: Timings = field(default_factory=Timings)

    @property
    def training(self) -> TrainingSettings:
        return self.trainer.settings

    @property
    def fabric(self) -> Fabric:
        return self.trainer.fabric


@contextmanager
def fit_context(
    data: DomainData,
    network: Network,
    training: Training,
    settings: TrainingSettings,
    seed: int,
    verbose: int,
    choices: ChoiceSettings | None = None,
) -> Iterator[FitContext]:
    """One thread, a seed of the fit's own, and bars; the caller's generators are left as they were.

    The same seed gives the same result.
    """
    from lightning_fabric import Fabric  # here: it takes seconds, and predicting needs none

    fabric = Fabric(
        accelerator=training.accelerator,
        devices=training.devices,
        strategy=training.strategy,
        precision=training.precision,
    )
    history = History(int(np.ceil(np.median(data.domain_sizes) / settings.batch_size)))
    devices = [fabric.device] if fabric.device.type == "cuda" else []
    with one_thread(), torch.random.fork_rng(devices), show_progress(verbose) as progress:
        torch.manual_seed(seed)
        trainer = Trainer(fabric, settings, [DivergenceAlarm(), history, ProgressBar(progress)])
        rng = np.random.default_rng(seed)
        yield FitContext(network, trainer, history, rng, progress, choices or ChoiceSettings())
