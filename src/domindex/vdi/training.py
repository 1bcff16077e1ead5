"""The training loop, for every objective of the library, with its callbacks."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from inspect import unwrap
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Adam, Optimizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from domindex.errors import TrainingDiverged
from domindex.persistence.journal import Journal
from domindex.progress import Progress
from domindex.vdi.adversary import Batch
from domindex.vdi.alignments import ParameterGroup
from domindex.vdi.backbones import FeatureExtractor
from domindex.vdi.objectives import Objective, Terms
from domindex.vdi.rng import TorchRng
from domindex.vdi.settings import TrainingSettings


class EagerAdam(Adam):
    """Adam that is never compiled: the same steps, to the bit.

    torch wraps methods of its optimisers to tell its compiler what not to compile, and these
    wrappers import it; they are left out here.
    """

    def __init__(self, params: Iterable[Any], lr: float, betas: tuple[float, float]) -> None:
        super().__init__(params, lr=lr, betas=betas)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        unwrap(Adam.add_param_group)(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        unwrap(Adam.zero_grad)(self, set_to_none)

    def step(self, closure: Any = None) -> Any:
        with torch.no_grad():
            return unwrap(Adam.step)(self, closure)


ADVICE = {
    "adversary": "Lower adversary_weight or learning_rate.",
    "smoothness": "Lower learning_rate.",
    "label_prediction": "Lower learning_rate, and look for extreme values in X.",
}


class Callback:
    """Told of every phase and step; does nothing unless a subclass does."""

    def on_phase_start(self, phase: Phase) -> None:
        """Before the first step of a phase."""

    def first_step(self, running: Running) -> int:
        """Where to begin: past steps that were done before, with everything as it was then."""
        return 0

    def before_step(self, phase: Phase, step: int) -> None:
        """Before a batch is drawn; may change what the phase draws from."""

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        """Once the terms of a step are known, before the networks move."""

    def after_step(self, running: Running, step: int) -> None:
        """Once the networks have moved."""

    def on_phase_end(self, phase: Phase) -> None:
        """After the last step of a phase."""

    def state(self) -> dict[str, Any]:
        """What it gathered so far, in plain values and arrays, for a training that is resumed."""
        return {}

    def resume(self, phase: Phase, step: int, state: dict[str, Any]) -> None:
        """Go on at `step` of a phase, from what `state` gave then."""


class ProgressBar(Callback):
    """One bar a phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps: Iterator[int] = iter(())

    def on_phase_start(self, phase: Phase) -> None:
        self._steps = iter(self._progress.track(phase.name, phase.n_steps))

    def before_step(self, phase: Phase, step: int) -> None:
        next(self._steps)

    def resume(self, phase: Phase, step: int, state: dict[str, Any]) -> None:
        for _ in range(step):
            next(self._steps)

    def on_phase_end(self, phase: Phase) -> None:
        next(self._steps, None)  # past the last step the bar is closed


class DivergenceAlarm(Callback):
    """Raises `TrainingDiverged`, naming the term, where one is not a finite number."""

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        for name, value in terms.items():
            number = float(value.detach())
            if not math.isfinite(number):
                raise TrainingDiverged(
                    f"The term {name!r} became {number} at step {step + 1} of the "
                    f"{phase.name} phase. "
                    f"{ADVICE.get(name, 'Lower learning_rate, and look for extreme values in X.')}"
                )


class History(Callback):
    """Collects the terms of each step and averages them over an epoch."""

    def __init__(self, steps_per_epoch: int) -> None:
        self._steps_per_epoch = max(1, steps_per_epoch)
        self._rows: list[dict[str, float | str | int]] = []
        self._open: dict[str, list[float]] = defaultdict(list)
        self._last: tuple[str, int] = "", 0

    def on_phase_start(self, phase: Phase) -> None:
        self._close_epoch()

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        for name, value in terms.items():
            self._open[name].append(float(value.detach()))
        self._last = phase.name, step + 1
        if (step + 1) % self._steps_per_epoch == 0:
            self._close_epoch()

    def on_phase_end(self, phase: Phase) -> None:
        self._close_epoch()

    def state(self) -> dict[str, Any]:
        return {"rows": self._rows, "open": dict(self._open), "last": self._last}

    def resume(self, phase: Phase, step: int, state: dict[str, Any]) -> None:
        self.restore(state)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self._rows = [dict(row) for row in state["rows"]]
        self._open = defaultdict(list, state["open"])
        self._last = state["last"]

    def __len__(self) -> int:
        """Epochs so far."""
        return len(self._rows)

    def recent(self, term: str, since: int = 0, n_epochs: int = 10) -> float:
        """Mean of a term over the last epochs that have it, none of them before `since`."""
        values = [float(row[term]) for row in self._rows[since:] if term in row][-n_epochs:]
        return sum(values) / len(values)

    def drop(self, epochs: slice) -> None:
        """Forget epochs: those of a start that was not kept."""
        del self._rows[epochs]

    def to_frame(self) -> pd.DataFrame:
        """One row an epoch: phase, step, and a column per term, empty where a phase lacks it."""
        return pd.DataFrame(self._rows)

    def _close_epoch(self) -> None:
        if self._open:
            means = {name: sum(values) / len(values) for name, values in self._open.items()}
            phase, step = self._last
            self._rows.append({"phase": phase, "step": step, **means})
            self._open.clear()


def adversary_ramp(progress: float) -> float:
    """2 / (1 + exp(−10 p)) − 1: an adversary at full weight from the start collapses z."""
    return 2.0 / (1.0 + math.exp(-10.0 * progress)) - 1.0


def warm_up_and_decay(step: int, n_steps: int, warm_up: int, floor: float = 0.05) -> float:
    """Linear warm-up, a plateau for the first half, then a cosine down to `floor`."""
    rise = min(1.0, (step + 1) / max(warm_up, 1))
    late = max(0.0, 2.0 * step / max(n_steps, 1) - 1.0)
    fall = floor + (1.0 - floor) * 0.5 * (1.0 + math.cos(math.pi * late))
    return rise * fall


Weights = dict[str, NDArray]
Moments = list[dict[str, NDArray] | None]

STEP = "step"
"""What Adam counts its steps by: a number in single precision, on the CPU whatever it trains."""


def weights_of(network: nn.Module) -> Weights:
    """Parameters and buffers by name."""
    return {name: _array(tensor) for name, tensor in network.state_dict().items()}


def set_weights(network: nn.Module, weights: Weights) -> None:
    """In place: optimisers and averages hold on to the very tensors."""
    network.load_state_dict({name: torch.as_tensor(one) for name, one in weights.items()})


def moments_of(optimizer: Optimizer) -> Moments:
    """Of every parameter, in the order of the groups; None where it never had a gradient."""
    held = optimizer.state
    return [
        {name: _array(value) for name, value in held[one].items()} if one in held else None
        for one in _parameters(optimizer)
    ]


def set_moments(optimizer: Optimizer, moments: Moments) -> None:
    """In the table that is there; `moments` stay as they are."""
    for parameter, values in zip(_parameters(optimizer), moments, strict=True):
        if values is None:
            optimizer.state.pop(parameter, None)
        else:
            optimizer.state[parameter] = {
                name: torch.tensor(value) if name == STEP else torch.tensor(value).to(parameter)
                for name, value in values.items()
            }


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [one for group in optimizer.param_groups for one in group["params"]]


def _array(tensor: Tensor) -> NDArray:
    """A copy, which later steps leave alone; a shorter float exactly, as a longer one."""
    detached = tensor.detach().cpu()
    if detached.dtype in (torch.bfloat16, torch.float16):
        detached = detached.float()
    return np.array(detached.numpy())


KEPT_EVERY = 25
"""Steps between two states that are kept to go back to: for time, a copy costs less than a step."""

MOST_RETURNS = 3
CALMER = 0.3
"""How often a phase may go back, and the factor on its learning rates whenever it does. Far from
where any of the benchmark's trainings is, none of which goes back; not tuned."""


class Rollback:
    """Weights and optimisers of a phase as they last were when all terms were finite.

    Going back is no part of an ordinary training: as long as every term is finite, nothing here
    changes a number.

    Attributes
    ----------
    calm : factor on the learning rates; 1 until the first return
    """

    def __init__(self, modules: Sequence[nn.Module], optimizers: Sequence[Optimizer]) -> None:
        self._modules, self._optimizers = list(modules), list(optimizers)
        self._kept: dict[str, list[Any]] | None = None
        self._n_returns = 0
        self.calm = 1.0

    @classmethod
    def of(
        cls, objective: Objective, average: nn.Module, optimizers: Sequence[Optimizer]
    ) -> Rollback:
        """Of a phase: what it trains, the moving average of that, and the adversary, if any."""
        adversary = objective.adversary
        return cls([objective, average, *([] if adversary is None else [adversary])], optimizers)

    def keep(self, step: int) -> None:
        """Called in every step whose terms are finite, before the networks move."""
        if step % KEPT_EVERY == 0 or self._kept is None:
            self._kept = {
                "modules": [weights_of(one) for one in self._modules],
                "optimizers": [moments_of(one) for one in self._optimizers],
            }

    def go_back(self) -> bool:
        """Back to what was kept, and calmer from there; False where that has not helped."""
        if self._kept is None or self._n_returns == MOST_RETURNS:
            return False
        self._n_returns += 1
        self.calm *= CALMER
        for module, weights in zip(self._modules, self._kept["modules"]):
            set_weights(module, weights)
        for optimizer, moments in zip(self._optimizers, self._kept["optimizers"]):
            set_moments(optimizer, moments)
        return True

    def state(self) -> dict[str, Any]:
        """What was kept, and how often it was gone back to."""
        return {"kept": self._kept, "n_returns": self._n_returns, "calm": self.calm}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        self._kept, self._n_returns = state["kept"], state["n_returns"]
        self.calm = state["calm"]


@dataclass(eq=False)
class Running:
    """A phase in training.

    Attributes
    ----------
    phase : with its objective, its adversary and what it draws from
    average : of the objective's module
    optimizers : the objective's, and the adversary's where there is one
    callbacks : all who look on
    rollback : what it goes back to when a step leaves the finite numbers
    """

    phase: Phase
    average: nn.Module
    optimizers: Sequence[Optimizer]
    callbacks: Sequence[Callback]
    rollback: Rollback = field(init=False)

    def __post_init__(self) -> None:
        self.rollback = Rollback.of(self.phase.objective, self.average, self.optimizers)

    def begin(self) -> int:
        """Tell all who look on; returns the first step that is left to take."""
        for callback in self.callbacks:
            callback.on_phase_start(self.phase)
        return max((callback.first_step(self) for callback in self.callbacks), default=0)

    def state(self, step: int) -> dict[str, Any]:
        """Before `step`; once the last step was taken, without what only another would need."""
        phase = self.phase
        state: dict[str, Any] = {
            "step": step,
            "objective": weights_of(phase.objective),
            "average": weights_of(self.average),
            "batches": phase.batches.state(),
            "chance": phase.batches.chance.state(),
            "callbacks": [one.state() for one in self.callbacks],
        }
        if step < phase.n_steps:
            adversary = phase.objective.adversary
            state["adversary"] = None if adversary is None else weights_of(adversary)
            state["optimizers"] = [moments_of(one) for one in self.optimizers]
            state["rollback"] = self.rollback.state()
        return state

    def resume(self, state: Mapping[str, Any]) -> int:
        """Put everything back as `state` found it; returns the step to go on with.

        Callbacks go first: one of them may put other batches into the phase.
        """
        phase, step = self.phase, state["step"]
        for callback, own in zip(self.callbacks, state["callbacks"], strict=True):
            callback.resume(phase, step, own)
        set_weights(phase.objective, state["objective"])
        set_weights(self.average, state["average"])
        phase.batches.resume(state["batches"])
        phase.batches.chance.restore(state["chance"])
        if step < phase.n_steps:
            if phase.objective.adversary is not None:
                set_weights(phase.objective.adversary, state["adversary"])
            for optimizer, moments in zip(self.optimizers, state["optimizers"], strict=True):
                set_moments(optimizer, moments)
            self.rollback.resume(state["rollback"])
        return step


SECONDS = 1.0
"""Between two checkpoints of a phase, at least; for time, not tuned."""

SHARE = 0.02
"""Of the time of a training that its checkpoints may take: large networks are kept less often."""


class Checkpoint(Callback):
    """Writes the state of a phase to a journal every so often, and once it is over.

    The same phases come in the same order in a fit that is begun again: they are known by their
    names, and by how many of that name came before.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts: dict[str, int] = {}
        self._due = 0.0

    def first_step(self, running: Running) -> int:
        state, step = self._journal.find(self._name(running.phase)), 0
        if state is not None:
            step = running.resume(state)
        self._due = time.monotonic() + SECONDS
        return step

    def after_step(self, running: Running, step: int) -> None:
        n_steps, now = running.phase.n_steps, time.monotonic()
        is_last = step + 1 == n_steps
        if is_last or now >= self._due:
            self._journal.keep(self._name(running.phase), running.state(step + 1))
            took = time.monotonic() - now
            self._due = now + took + max(SECONDS, took / SHARE)

    def on_phase_end(self, phase: Phase) -> None:
        self._counts[phase.name] = self._counts.get(phase.name, 0) + 1

    def _name(self, phase: Phase) -> str:
        return f"training {phase.name} {self._counts.get(phase.name, 0)}"


class Draws(Protocol):
    """Whatever batches are drawn from, and chance with them."""

    @property
    def chance(self) -> TorchRng:
        """What a step draws from."""

    def draw(self, progress: float) -> Batch:
        """A batch of the domains that have arrived by `progress`."""

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
    """Runs phases, one after the other, and tells its callbacks."""

    def __init__(
        self,
        device: torch.device,
        settings: TrainingSettings,
        callbacks: Sequence[Callback],
    ) -> None:
        self.device = device
        self.settings = settings
        self.callbacks = list(callbacks)

    def run(self, phase: Phase, *extra: Callback) -> nn.Module:
        """Minimise a phase's objective, in turns with its adversary where it has one.

        Returns the moving average of the objective's module, in training mode. A step whose terms
        are not finite is not taken: the phase goes back and on at smaller rates, a few times at
        most, and then says which term it was.
        """
        callbacks = [*self.callbacks, *extra]
        objective, optimizer, adversary = self._set_up(phase)
        decay = get_ema_multi_avg_fn(self.settings.average)
        average = AveragedModel(phase.objective.module, multi_avg_fn=decay)
        optimizers = [optimizer] if adversary is None else [optimizer, adversary.optimizer]
        draws_by_itself = any(isinstance(one, FeatureExtractor) for one in objective.modules())
        running = Running(phase, average, optimizers, callbacks)
        rollback = running.rollback
        for step in range(running.begin(), phase.n_steps):
            for callback in callbacks:
                callback.before_step(phase, step)
            batch = phase.batches.draw(phase.admitted(step))
            rate = warm_up_and_decay(step, phase.n_steps, self.settings.warm_up)
            rate *= rollback.calm
            with phase.batches.chance.as_default() if draws_by_itself else nullcontext():
                latents = phase.objective.infer(batch)
                terms = {}
                if adversary is not None:
                    terms = adversary.learn(phase, batch, latents, rate)
                loss, own = objective(batch, latents, adversary_ramp(step / phase.n_steps))
            terms |= own
            try:
                for callback in callbacks:
                    callback.on_terms(phase, step, terms)
            except TrainingDiverged:
                if not rollback.go_back():
                    raise
                continue
            rollback.keep(step)
            self._descend(optimizer, loss, rate)
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
        return phase.objective.to(self.device), optimizer, self._set_up_adversary(phase)

    def _set_up_adversary(self, phase: Phase) -> _Adversary | None:
        network = phase.objective.adversary
        if network is None:
            return None
        optimizer = EagerAdam(network.parameters(), lr=phase.learning_rate, betas=(0.5, 0.99))
        return _Adversary(self, network.to(self.device), optimizer)

    def _descend(self, optimizer: Optimizer, loss: Tensor, rate: float) -> None:
        """A step down the loss."""
        for group in optimizer.param_groups:
            group.setdefault("full_lr", group["lr"])
            group["lr"] = group["full_lr"] * rate
        optimizer.zero_grad()
        loss.backward()
        self._clip(_parameters(optimizer))
        optimizer.step()

    def _clip(self, parameters: list[Tensor]) -> None:
        nn.utils.clip_grad_norm_(parameters, self.settings.clip)


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
        self.trainer._descend(self.optimizer, loss, rate)
        return {"adversary_own_loss": loss}
