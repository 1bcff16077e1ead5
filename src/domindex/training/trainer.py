"""The training loop, for every objective of the library."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from domindex.errors import TrainingDiverged
from domindex.model.adversarial import Objective, Terms
from domindex.model.batch import Batch
from domindex.networks.alignments import ParameterGroup
from domindex.networks.blocks import shared_statistics
from domindex.networks.chance import Chance
from domindex.networks.feature_extractor import FeatureExtractor
from domindex.networks.shares import Share
from domindex.training.callbacks import Callback, DivergenceAlarm
from domindex.training.plain_fabric import EagerAdam, TrainingFabric
from domindex.training.processes import Processes, Task
from domindex.training.running import Running
from domindex.training.schedules import adversary_ramp, warm_up_and_decay
from domindex.training.settings import TrainingSettings


class Draws(Protocol):
    """Whatever batches are drawn from, and chance with them."""

    @property
    def chance(self) -> Chance:
        """What a step draws from."""

    def draw(self, progress: float) -> Batch:
        """A batch of the domains that have arrived by `progress`."""

    def for_share(self, share: Share) -> Draws:
        """The same batches, of which only a share is drawn."""

    def state(self) -> dict[str, Any]:
        """Where it stands."""

    def resume(self, state: dict[str, Any]) -> None:
        """Go on drawing from where `state` was asked for."""


@dataclass
class Phase:
    """One block of a training.

    Attributes
    ----------
    name : what the record calls it
    objective : its loss
    parameters : what is trained, in groups that move at multiples of the learning rate
    batches : what is drawn from; a callback may put another in its place
    n_steps : how many steps it takes
    learning_rate : its peak
    memory : decay of Adam's second moments
    admission : share of the steps over which targets are admitted, nearest first; 0: all at once
    """

    name: str
    objective: Objective
    parameters: Sequence[ParameterGroup]
    batches: Draws
    n_steps: int
    learning_rate: float
    memory: float = 0.99
    admission: float = 0.0

    def admitted(self, step: int) -> float:
        """How far the admission of targets has come, from 0 to 1 and beyond."""
        return step / self.n_steps / self.admission if self.admission else 1.0


class Trainer:
    """Runs phases, one after the other, and tells its callbacks.

    With several `processes` the one that leads hands every phase to the others. Each takes its
    share of every batch, and all of them step alike.
    """

    def __init__(
        self,
        fabric: TrainingFabric,
        settings: TrainingSettings,
        callbacks: Sequence[Callback],
        processes: Processes | None = None,
    ) -> None:
        self.fabric = fabric
        self.settings = settings
        self.callbacks = list(callbacks)
        self.processes = processes

    def run(self, phase: Phase, *extra: Callback) -> nn.Module:
        """Minimise a phase's objective, in turns with its adversary where it has one.

        Returns the moving average of the objective's module, in training mode. A step whose terms
        are not finite is not taken: the phase goes back and on at smaller rates, a few times at
        most, and then says which term it was.
        """
        callbacks = [*self.callbacks, *extra]
        is_over = any(callback.is_over(phase) for callback in callbacks)
        share = None if is_over else self._share_out(phase, extra)
        objective, optimizer, adversary = self._set_up(phase)
        decay = get_ema_multi_avg_fn(self.settings.average)
        average = AveragedModel(phase.objective.module, multi_avg_fn=decay)
        optimizers = [optimizer] if adversary is None else [optimizer, adversary.optimizer]
        draws_by_itself = any(isinstance(one, FeatureExtractor) for one in objective.modules())
        running = Running(phase, average, optimizers, callbacks, share)
        rollback = running.rollback
        with shared_statistics(phase.objective, share):
            for step in range(running.begin(), phase.n_steps):
                for callback in callbacks:
                    callback.before_step(phase, step)
                batch = phase.batches.draw(phase.admitted(step))
                rate = warm_up_and_decay(step, phase.n_steps, self.settings.warm_up)
                rate *= rollback.calm
                with phase.batches.chance.lent() if draws_by_itself else nullcontext():
                    latents = phase.objective.infer(batch)
                    terms = {}
                    if adversary is not None:
                        terms = adversary.learn(phase, batch, latents, rate)
                    loss, own = objective(batch, latents, adversary_ramp(step / phase.n_steps))
                terms |= own
                if share is not None:
                    terms = share.mean_terms(terms)
                try:
                    for callback in callbacks:
                        callback.on_terms(phase, step, terms)
                except TrainingDiverged:
                    if not rollback.go_back():
                        raise
                    continue
                rollback.keep(step)
                self._descend(objective, optimizer, loss, rate, share)
                average.update_parameters(phase.objective.module)
                for callback in callbacks:
                    callback.after_step(running, step)
        for callback in callbacks:
            callback.on_phase_end(phase)
        return average.module

    def _set_up(self, phase: Phase) -> tuple[nn.Module, Optimizer, _Adversary | None]:
        """The objective on its device with its optimiser, and the same for the adversary."""
        groups = [
            {"params": group.parameters, "lr": phase.learning_rate * group.rate}
            for group in phase.parameters
            if group.parameters
        ]
        optimizer = EagerAdam(groups, lr=phase.learning_rate, betas=(0.9, phase.memory))
        return *self.fabric.setup(phase.objective, optimizer), self._set_up_adversary(phase)

    def _share_out(self, phase: Phase, extra: tuple[Callback, ...]) -> Share | None:
        """This process's share of the phase; the one that leads hands it to the others first."""
        if self.processes is None:
            return None
        share = self.processes.share(self.settings.batch_size)
        if self.processes.leads:
            self.processes.hand_out(TrainingTask(self, phase, extra), self.fabric.device)
        phase.batches = phase.batches.for_share(share)
        return share

    def __getstate__(self) -> dict[str, Any]:
        """For another process: it has a device and a place among the processes of its own."""
        return {**vars(self), "fabric": None, "processes": None, "callbacks": [DivergenceAlarm()]}

    def _set_up_adversary(self, phase: Phase) -> _Adversary | None:
        network = phase.objective.adversary
        if network is None:
            return None
        optimizer = EagerAdam(network.parameters(), lr=phase.learning_rate, betas=(0.5, 0.99))
        return _Adversary(self, *self.fabric.setup(network, optimizer))

    def _descend(
        self,
        module: nn.Module,
        optimizer: Optimizer,
        loss: Tensor,
        rate: float,
        share: Share | None,
    ) -> None:
        """A step down the loss; that of a share, down the mean over all shares."""
        for group in optimizer.param_groups:
            group.setdefault("full_lr", group["lr"])
            group["lr"] = group["full_lr"] * rate
        optimizer.zero_grad()
        self.fabric.backward(loss if share is None else share.weight * loss)
        if share is not None:
            share.mean_gradients(p for group in optimizer.param_groups for p in group["params"])
        self._clip(module, optimizer)
        optimizer.step()

    def _clip(self, module: nn.Module, optimizer: Optimizer) -> None:
        self.fabric.clip_gradients(
            module, optimizer, max_norm=self.settings.clip, error_if_nonfinite=False
        )


@dataclass
class TrainingTask(Task):
    """A phase as it is handed to another process."""

    trainer: Trainer
    phase: Phase
    extra: tuple[Callback, ...]

    def run(self, fabric: TrainingFabric, processes: Processes) -> None:
        """Take part; what comes of it stays with the process that leads."""
        self.trainer.fabric, self.trainer.processes = fabric, processes
        self.trainer.run(self.phase, *self.extra)


@dataclass
class _Adversary:
    """An adversary with its optimiser: it learns on detached tensors in a step of its own."""

    trainer: Trainer
    network: nn.Module
    optimizer: Optimizer

    def learn(self, phase: Phase, batch: Batch, latents: Any, rate: float) -> Terms:
        inputs = phase.objective.adversary_inputs(batch, latents)
        detached = [part.detach() if isinstance(part, torch.Tensor) else part for part in inputs]
        loss = self.network(*detached)
        self.trainer._descend(self.network, self.optimizer, loss, rate, batch.share)
        return {"adversary_own_loss": loss}
