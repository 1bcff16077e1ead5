"""The second block with labels of some sources held out, all folds trained as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from domindex.errors import InputError
from domindex.model.adversarial import Objective, Terms
from domindex.model.adversary import Adversary
from domindex.model.batch import Batch
from domindex.model.module import EncodingModule, IndexModule
from domindex.model.objectives import EncodingObjective, Weights
from domindex.model.stacking import Stacked
from domindex.networks.alignments import ParameterGroup
from domindex.training.batches import BatchSampler
from domindex.training.encoding_training import finished
from domindex.training.history import History
from domindex.training.trainer import Phase, Trainer


def train_encoding_folds(
    start: EncodingModule | Sequence[EncodingModule],
    indices: IndexModule,
    batches: BatchSampler,
    held_out: NDArray[np.bool_],
    adversary_kinds: Sequence[str],
    weights: Weights,
    trainer: Trainer,
    n_steps: int | None = None,
) -> list[EncodingModule]:
    """One encoding a fold, each trained without the labels of the domains that it holds out.

    The inputs of every domain are seen in every fold. The folds share batches and random numbers,
    so each is what `train_encoding` would give without those labels, and folds differ by nothing
    but the labels that they are told.

    Parameters
    ----------
    start : where every fold starts, or one start a fold, alike but for their weights
    held_out : (folds, domains) whether a fold is denied the labels of a source
    n_steps : how many steps the training takes; those of the settings if None
    """
    starts = [start] * len(held_out) if isinstance(start, EncodingModule) else list(start)
    _check_folds(held_out, len(starts), batches)
    objective = _objective(starts, indices, batches, held_out, adversary_kinds, weights, trainer)
    settings = trainer.settings
    phase = Phase(
        "held-out encodings",
        objective,
        objective.module.groups(),
        batches,
        settings.steps if n_steps is None else n_steps,
        settings.learning_rate,
        admission=settings.admission,
    )
    averaged = _FoldTrainer.of(trainer).run(phase)
    assert isinstance(averaged, Stacked)
    folds = averaged.unstacked()
    return finished([fold.objective.module for fold in folds], folds[0].objective, batches)


def _check_folds(held_out: NDArray[np.bool_], n_starts: int, batches: BatchSampler) -> None:
    is_source = batches.rows.data.is_source
    if held_out.shape != (n_starts, len(is_source)) or not n_starts:
        raise InputError(
            f"held_out is {held_out.shape}, for {n_starts} folds and {len(is_source)} domains."
        )
    if not (is_source & ~held_out).any(axis=1).all():
        raise InputError("A fold holds out every source. Leave it one to learn from.")


def _objective(
    starts: Sequence[EncodingModule],
    indices: IndexModule,
    batches: BatchSampler,
    held_out: NDArray[np.bool_],
    adversary_kinds: Sequence[str],
    weights: Weights,
    trainer: Trainer,
) -> _FoldsObjective:
    """The folds before their training, with what starts at random the same in all of them."""
    device = trainer.fabric.device
    before = torch.get_rng_state()
    folds = []
    for start in starts:
        torch.set_rng_state(before)
        module = start.redrawn().to(device)
        folds.append(_Fold(EncodingObjective(module, indices, None, weights)))
    module, adversary = folds[0].objective.module, None
    if not module.alignment.is_settled:
        latent_dim, n_domains = module.alignment.latent_dim, held_out.shape[1]
        one = Adversary(adversary_kinds, latent_dim, n_domains, module.index_dim, module.width)
        one.to(device)
        group = ParameterGroup(list(one.parameters()), 1.0)
        adversary = _StackedAdversary([one] * len(folds), [group])
    known = torch.as_tensor(~held_out, device=device)
    return _FoldsObjective(Stacked(folds, module.parameter_groups()), adversary, weights, known)


class _Fold(nn.Module):
    """One fold's part of a step."""

    def __init__(self, objective: EncodingObjective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, known: Tensor, batch: Batch) -> tuple[Tensor, Tensor, Terms]:
        """z (domains, batch, latent_dim), the loss beside the adversary's, and its terms.

        What is not `known` (sources,) is overwritten first: times zero, a NaN would be a NaN.
        """
        told = known.view(-1, *[1] * (batch.labels.ndim - 1))
        labels = torch.where(told, batch.labels, torch.zeros_like(batch.labels))
        batch = replace(batch, labels=labels, known=known)
        latents = self.objective.infer(batch)
        loss, terms = self.objective(batch, latents, 0.0)
        return latents.z, loss, terms


class _StackedAdversary(Stacked[Adversary]):
    """One adversary a fold; their losses together."""

    def forward(self, own: Tensor, *shared: Any) -> Tensor:
        return super().forward(own, *shared).sum()


class _FoldsLatents(NamedTuple):
    """z of all folds (folds, domains, batch, latent_dim), with losses and terms (folds,)."""

    z: Tensor
    losses: Tensor
    terms: Terms


class _FoldsObjective(Objective):
    """The sum of the folds' losses: none of them has a gradient in another's weights."""

    module: Stacked[_Fold]

    def __init__(
        self,
        module: Stacked[_Fold],
        adversary: _StackedAdversary | None,
        weights: Weights,
        known: Tensor,
    ) -> None:
        super().__init__(module, adversary)
        self.weights, self._known = weights, known

    def infer(self, batch: Batch) -> _FoldsLatents:
        known = self._known[:, batch.facts.numbers[batch.sources]]
        return _FoldsLatents(*self.module(known, batch))

    def forward(self, batch: Batch, latents: _FoldsLatents, ramp: float) -> tuple[Tensor, Terms]:
        terms = {name: values.mean() for name, values in latents.terms.items()}
        loss = latents.losses.sum()
        if self.adversary is None:
            return loss, terms
        hiding = self.fixed_adversary(*self.adversary_inputs(batch, latents))
        terms["adversary"] = hiding / len(self._known)
        return loss - self.weights.adversary * ramp * hiding, terms


class _FoldTrainer(Trainer):
    """Bounds the gradient of each fold by itself: one that is far off holds no other back."""

    @classmethod
    def of(cls, trainer: Trainer) -> _FoldTrainer:
        """The same, except that folds leave no history."""
        onlookers = [one for one in trainer.callbacks if not isinstance(one, History)]
        return cls(trainer.fabric, trainer.settings, onlookers)

    def _clip(self, module: nn.Module, optimizer: Optimizer) -> None:
        # Fabric takes its factor of a mixed precision out of the gradients, and clips nothing.
        self.fabric.clip_gradients(module, optimizer, max_norm=math.inf, error_if_nonfinite=False)
        stacked = [flat for group in optimizer.param_groups for flat in group["params"]]
        gradients = [flat.grad for flat in stacked if flat.grad is not None]
        norms = torch.linalg.vector_norm(torch.cat(gradients, dim=1), dim=1, keepdim=True)
        shares = (self.settings.clip / (norms + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(shares)
