"""The training loop of every objective in the package, and the callbacks that watch it."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from inspect import unwrap
from typing import Any, NamedTuple, Protocol

import pandas as pd
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.optim import Adam, Optimizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from domindex.errors import TrainingDiverged
from domindex.neural.backbones import FeatureExtractor
from domindex.neural.batches import Batch
from domindex.neural.rng import TorchRng
from domindex.neural.settings import TrainingSettings
from domindex.progress import Progress

Terms = dict[str, Tensor]


class ParameterGroup(NamedTuple):
    """Parameters that move at a multiple of the learning rate, and perhaps decay towards 0."""

    parameters: list[nn.Parameter]
    rate: float
    decay: float = 0.0  # share of a weight that goes in a step, per unit of learning rate


def trainable(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    return [parameter for parameter in parameters if parameter.requires_grad]


class Objective(nn.Module):
    """A loss of `module`, and perhaps an adversary with a loss of its own on what it reads.

    In a step the adversary learns first, on detached tensors; then the module learns, with the
    adversary's weights held fixed. What is trained beside the module may stand here as
    submodules.
    """

    def __init__(self, module: nn.Module, adversary: nn.Module | None = None) -> None:
        super().__init__()
        self.module = module
        # Not a submodule: the module's optimiser and averages must never touch the adversary.
        self._adversary = [adversary]

    @property
    def adversary(self) -> nn.Module | None:
        """Called with `adversary_inputs`, gives its own loss."""
        return self._adversary[0]

    @abstractmethod
    def infer(self, batch: Batch) -> Any:
        """The latents of a batch, with gradients."""

    @abstractmethod
    def forward(self, batch: Batch, latents: Any, ramp: float) -> tuple[Tensor, Terms]:
        """The loss, and its terms by name; `ramp` rises from 0 to 1 over the training."""

    def adversary_inputs(self, batch: Batch, latents: Any) -> tuple[Any, ...]:
        """What the adversary reads: z, and the facts it tries to read off it."""
        return latents.z, batch.facts

    def fixed_adversary(self, *inputs: Any) -> Tensor:
        """The adversary's loss with its weights held fixed: no gradient leaks into them."""
        adversary = self.adversary
        assert adversary is not None
        frozen = {name: value.detach() for name, value in adversary.named_parameters()}
        return functional_call(adversary, frozen, inputs)


class EagerAdam(Adam):
    """Adam without torch's compiler: the same steps, to the bit.

    torch wraps the methods of its optimisers for its compiler, and the wrappers import it, which
    takes 1.5 s of a first fit. Nothing here is compiled.
    """

    def __init__(self, params: Iterable[Any], lr: float, betas: tuple[float, float]) -> None:
        super().__init__(params, lr=lr, betas=betas, decoupled_weight_decay=True)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        unwrap(Adam.add_param_group)(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        unwrap(Adam.zero_grad)(self, set_to_none)

    def step(self, closure: Any = None) -> Any:
        with torch.no_grad():
            return unwrap(Adam.step)(self, closure)


def adversary_ramp(progress: float) -> float:
    """2 / (1 + exp(−10 p)) − 1: an adversary at full weight from the start collapses z."""
    return 2.0 / (1.0 + math.exp(-10.0 * progress)) - 1.0


def warm_up_and_decay(step: int, n_steps: int, warm_up: int, floor: float = 0.05) -> float:
    """Linear warm-up, a plateau for the first half, then a cosine down to `floor`."""
    rise = min(1.0, (step + 1) / max(warm_up, 1))
    late = max(0.0, 2.0 * step / max(n_steps, 1) - 1.0)
    fall = floor + (1.0 - floor) * 0.5 * (1.0 + math.cos(math.pi * late))
    return rise * fall


class Draws(Protocol):
    """What batches are drawn from."""

    @property
    def torch_rng(self) -> TorchRng:
        """What a step draws its noise from."""

    def draw(self) -> Batch:
        """A batch of rows of every domain, or of some where they are many."""


@dataclass
class Phase:
    """One block of a training.

    Attributes
    ----------
    name : what the history calls it
    objective : its loss
    parameters : what is trained, in groups that move at multiples of the learning rate
    batches : what is drawn from; a callback may put another in its place
    n_steps : how many steps it takes
    learning_rate : its peak
    memory : decay of Adam's second moments
    """

    name: str
    objective: Objective
    parameters: Sequence[ParameterGroup]
    batches: Draws
    n_steps: int
    learning_rate: float
    memory: float = 0.99


class Callback:
    """Called in every phase and step; does nothing unless a subclass does."""

    def on_phase_start(self, phase: Phase) -> None:
        """Before the first step of a phase."""

    def before_step(self, phase: Phase, step: int) -> None:
        """Before a batch is drawn; may change what the phase draws from."""

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        """Once the terms of a step are known, before the networks move."""

    def on_phase_end(self, phase: Phase) -> None:
        """After the last step of a phase."""


class ProgressBar(Callback):
    """One bar a phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps: Iterator[int] = iter(())

    def on_phase_start(self, phase: Phase) -> None:
        self._steps = iter(self._progress.track(phase.name, phase.n_steps))

    def before_step(self, phase: Phase, step: int) -> None:
        next(self._steps)

    def on_phase_end(self, phase: Phase) -> None:
        next(self._steps, None)  # past the last step the bar is closed


class DivergenceAlarm(Callback):
    """Raises `TrainingDiverged`, naming the term, where one is not a finite number."""

    def on_terms(self, phase: Phase, step: int, terms: Terms) -> None:
        advice = {
            "adversary": "Lower adversary_weight or learning_rate.",
            "smoothness": "Lower learning_rate.",
        }
        for name, value in terms.items():
            number = float(value.detach())
            if not math.isfinite(number):
                raise TrainingDiverged(
                    f"The term {name!r} became {number} at step {step + 1} of the "
                    f"{phase.name} phase. "
                    f"{advice.get(name, 'Lower learning_rate, and look for extreme values in X.')}"
                )


class History(Callback):
    """Collects the terms of each step and averages them over an epoch.

    Attributes
    ----------
    rows : one for each epoch: phase, step and the mean of every term
    """

    def __init__(self, steps_per_epoch: int) -> None:
        self.rows: list[dict[str, float | str | int]] = []
        self._steps_per_epoch = max(1, steps_per_epoch)
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

    def to_frame(self) -> pd.DataFrame:
        """One row an epoch: phase, step, and a column per term, empty where a phase lacks it."""
        return pd.DataFrame(self.rows)

    def _close_epoch(self) -> None:
        if self._open:
            means = {name: sum(values) / len(values) for name, values in self._open.items()}
            phase, step = self._last
            self.rows.append({"phase": phase, "step": step, **means})
            self._open.clear()


class Rollback:
    """Weights and optimisers of a phase as they last were when all terms were finite.

    As long as every term is finite, nothing here changes a number. None of the benchmark's
    trainings ever goes back, so its numbers are not tuned.

    Attributes
    ----------
    calm : factor on the learning rates; 1 until the first return
    """

    save_every = 25
    max_returns = 3
    calmer = 0.3

    def __init__(self, modules: Sequence[nn.Module], optimizers: Sequence[Optimizer]) -> None:
        self._modules, self._optimizers = list(modules), list(optimizers)
        self._saved: tuple[list[Any], list[Any]] | None = None
        self._n_returns = 0
        self.calm = 1.0

    def save(self, step: int) -> None:
        """Called in every step whose terms are finite, before the networks move."""
        if step % self.save_every == 0 or self._saved is None:
            self._saved = (
                [copy.deepcopy(one.state_dict()) for one in self._modules],
                [_copied(one.state) for one in self._optimizers],
            )

    def go_back(self) -> bool:
        """Back to what was saved, and calmer from there; False where that has not helped."""
        if self._saved is None or self._n_returns == self.max_returns:
            return False
        self._n_returns += 1
        self.calm *= self.calmer
        for module, weights in zip(self._modules, self._saved[0]):
            module.load_state_dict(weights)
        for optimizer, moments in zip(self._optimizers, self._saved[1]):
            optimizer.state.clear()
            optimizer.state.update(_copied(moments))
        return True


def _copied(moments: dict[Any, Any]) -> dict[Any, Any]:
    """Adam's moments by parameter, which stays the very same tensor."""
    return {
        parameter: {name: value.clone() for name, value in held.items()}
        for parameter, held in moments.items()
    }


class Trainer:
    """Runs phases, one after the other, and calls its callbacks."""

    def __init__(
        self, device: torch.device, settings: TrainingSettings, callbacks: Sequence[Callback]
    ) -> None:
        self.device = device
        self.settings = settings
        self.callbacks = list(callbacks)

    def run(self, phase: Phase) -> nn.Module:
        """Minimise a phase's objective, in turns with its adversary where it has one.

        Returns the moving average of the objective's module, in training mode. A step whose terms
        are not finite is not taken: the phase goes back and on at smaller rates, a few times at
        most, and then says which term it was.
        """
        callbacks = self.callbacks
        objective, adversary = phase.objective.to(self.device), phase.objective.adversary
        optimizer, opponent = self._optimizer(phase), self._adversary_optimizer(phase)
        decay = get_ema_multi_avg_fn(self.settings.average)
        average = AveragedModel(objective.module, multi_avg_fn=decay)
        rollback = Rollback(
            [objective, average] if adversary is None else [objective, average, adversary],
            [optimizer] if opponent is None else [optimizer, opponent],
        )
        draws_by_itself = any(isinstance(one, FeatureExtractor) for one in objective.modules())
        for callback in callbacks:
            callback.on_phase_start(phase)
        for step in range(phase.n_steps):
            for callback in callbacks:
                callback.before_step(phase, step)
            batch = phase.batches.draw()
            rate = warm_up_and_decay(step, phase.n_steps, self.settings.warm_up) * rollback.calm
            with phase.batches.torch_rng.as_default() if draws_by_itself else nullcontext():
                latents = objective.infer(batch)
                terms = {}
                if opponent is not None:
                    terms = self._train_adversary(objective, opponent, batch, latents, rate)
                loss, own = objective(batch, latents, adversary_ramp(step / phase.n_steps))
            try:
                for callback in callbacks:
                    callback.on_terms(phase, step, terms | own)
            except TrainingDiverged:
                if not rollback.go_back():
                    raise
                continue
            rollback.save(step)
            self._descend(optimizer, loss, rate)
            average.update_parameters(objective.module)
        for callback in callbacks:
            callback.on_phase_end(phase)
        return average.module

    def _optimizer(self, phase: Phase) -> Optimizer:
        groups = [
            {
                "params": group.parameters,
                "lr": phase.learning_rate * group.rate,
                "weight_decay": group.decay,
            }
            for group in phase.parameters
            if group.parameters
        ]
        return EagerAdam(groups, lr=phase.learning_rate, betas=(0.9, phase.memory))

    def _adversary_optimizer(self, phase: Phase) -> Optimizer | None:
        adversary = phase.objective.adversary
        if adversary is None:
            return None
        parameters = adversary.to(self.device).parameters()
        return EagerAdam(parameters, lr=phase.learning_rate, betas=(0.5, 0.99))

    def _train_adversary(
        self, objective: Objective, optimizer: Optimizer, batch: Batch, latents: Any, rate: float
    ) -> Terms:
        """The adversary learns on detached tensors, in a step of its own."""
        assert objective.adversary is not None
        inputs = objective.adversary_inputs(batch, latents)
        detached = [part.detach() if isinstance(part, Tensor) else part for part in inputs]
        loss = objective.adversary(*detached)
        self._descend(optimizer, loss, rate)
        return {"adversary_own_loss": loss}

    def _descend(self, optimizer: Optimizer, loss: Tensor, rate: float) -> None:
        """A step down the loss."""
        for group in optimizer.param_groups:
            group.setdefault("full_lr", group["lr"])
            group["lr"] = group["full_lr"] * rate
        optimizer.zero_grad()
        loss.backward()
        self._clip([one for group in optimizer.param_groups for one in group["params"]])
        optimizer.step()

    def _clip(self, parameters: list[Tensor]) -> None:
        nn.utils.clip_grad_norm_(parameters, self.settings.clip)
