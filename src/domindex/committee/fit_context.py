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
from domindex.training.places import Places
from domindex.training.processes import Processes
from domindex.training.settings import Network, Training, TrainingSettings
from domindex.training.threads import available_threads, one_thread
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
    n_threads : threads that work beside the networks may be shared among
    """

    network: Network
    trainer: Trainer
    history: History
    rng: np.random.Generator
    progress: Progress
    choices: ChoiceSettings = field(default_factory=ChoiceSettings)
    timings: Timings = field(default_factory=Timings)
    n_threads: int = 1

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
    processes: Processes | None = None,
) -> Iterator[FitContext]:
    """One thread, a seed of the fit's own, and bars; the caller's generators are left as they were.

    The same seed gives the same result. Where there are several `processes`, this one leads them.
    """
    fabric = Places.of(training).fabric()
    history = History(int(np.ceil(np.median(data.domain_sizes) / settings.batch_size)))
    n_threads = available_threads()
    devices = [fabric.device] if fabric.device.type == "cuda" else []
    with one_thread(), torch.random.fork_rng(devices), show_progress(verbose) as progress:
        torch.manual_seed(seed)
        onlookers = [DivergenceAlarm(), history, ProgressBar(progress)]
        trainer = Trainer(fabric, settings, onlookers, processes)
        rng = np.random.default_rng(seed)
        choices = choices or ChoiceSettings()
        yield FitContext(network, trainer, history, rng, progress, choices, n_threads=n_threads)
