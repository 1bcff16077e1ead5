"""The second block with labels of some sources held out, all folds trained as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Normal
from torch.optim import Optimizer

from domindex.errors import InputError
from domindex.model.adversary import Adversary, DomainFacts
from domindex.model.batch import Batch
from domindex.model.latents import Indices, Latents, noise_like
from domindex.model.module import EncodingModule, IndexModule
from domindex.model.objectives import EncodingObjective, Weights
from domindex.networks.chance import Chance
from domindex.networks.shares import Share
from domindex.networks.stacking import stacked, unstacked
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
    so each is what one start of `train_encoding` would give without those labels, and folds differ
    by nothing but the labels that they are told. They leave no history.

    Parameters
    ----------
    start : where every fold starts, or one start a fold, alike but for their weights
    held_out : (folds, domains) whether a fold is denied the labels of a source
    n_steps : how many steps the training takes; those of the settings if None
    """
    starts = [start] * len(held_out) if isinstance(start, EncodingModule) else list(start)
    _check_folds(held_out, len(starts), batches)
    device, settings = trainer.fabric.device, trainer.settings
    folds = [one.to(device) for one in _redrawn(starts, batches.chance)]
    adversary = None
    if not folds[0].alignment.is_settled:
        latent_dim, index_dim = folds[0].alignment.latent_dim, folds[0].index_dim
        n_domains = held_out.shape[1]
        with batches.chance.lent():
            one = Adversary(adversary_kinds, latent_dim, n_domains, index_dim, folds[0].width)
        adversary = stacked([one.to(device)] * len(folds))
    objective = _FoldsObjective(stacked(folds), indices, adversary, weights, len(folds))
    phase = Phase(
        "held-out encodings",
        objective,
        objective.module.parameter_groups(),
        _FoldBatches(batches, torch.as_tensor(~held_out, device=device)),
        settings.steps if n_steps is None else n_steps,
        settings.learning_rate,
        admission=settings.admission,
    )
    averaged = _FoldTrainer(trainer, len(folds)).run(phase)
    plain = EncodingObjective(folds[0], indices, None, weights)
    return finished(unstacked(averaged, folds), plain, batches)


def _check_folds(held_out: NDArray[np.bool_], n_starts: int, batches: BatchSampler) -> None:
    is_source = batches.rows.data.is_source
    if held_out.shape != (n_starts, len(is_source)) or not n_starts:
        raise InputError(
            f"held_out is {held_out.shape}, for {n_starts} folds and {len(is_source)} domains."
        )
    if not (is_source & ~held_out).any(axis=1).all():
        raise InputError("A fold holds out every source. Leave it one to learn from.")


def _redrawn(starts: Sequence[EncodingModule], chance: Chance) -> list[EncodingModule]:
    """Copies to be trained, in which what starts at random is drawn alike."""
    before, folds = chance.state(), []
    for start in starts:
        chance.restore(before)
        with chance.lent():
            folds.append(start.redrawn())
    return folds


@dataclass
class _FoldBatches:
    """Batches with the domains of all folds, one fold after the other.

    Attributes
    ----------
    batches : what is drawn from, once for all folds
    known : (folds, domains) whose labels each fold may learn from
    """

    batches: BatchSampler
    known: Tensor

    @property
    def chance(self) -> Chance:
        return self.batches.chance

    def for_share(self, share: Share) -> _FoldBatches:
        return replace(self, batches=self.batches.for_share(share))

    def state(self) -> dict[str, Any]:
        return self.batches.state()

    def resume(self, state: dict[str, Any]) -> None:
        self.batches.resume(state)

    def draw(self, progress: float = 1.0) -> Batch:
        """`x` stays as it is: the indices are the same in all folds.

        Labels that are held out are overwritten: times zero, a NaN would be a NaN.
        """
        batch, n_folds = self.batches.draw(progress), len(self.known)
        numbers, sources = batch.facts.numbers, batch.sources
        begins = len(numbers) * torch.arange(n_folds, device=sources.device)
        known = self.known[:, numbers[sources]].flatten()
        labels = _repeated(batch.labels, n_folds)
        labels[~known] = 0
        raw_index = _repeated(batch.raw_index, n_folds)
        return replace(
            batch,
            represented=_repeated(batch.represented, n_folds),
            labels=labels,
            sources=(begins[:, None] + sources).flatten(),
            domain_sizes=_repeated(batch.domain_sizes, n_folds),
            raw_index=raw_index,
            neighbor_index=_repeated(batch.neighbor_index, n_folds),
            facts=DomainFacts(
                _repeated(numbers, n_folds), raw_index, batch.facts.links, batch.generator
            ),
            known=known.view(n_folds, -1),
        )


class _FoldsObjective(EncodingObjective):
    """The mean of the folds' losses: none of them has a gradient in another's weights."""

    def __init__(
        self,
        module: EncodingModule,
        indices: IndexModule,
        adversary: Adversary | None,
        weights: Weights,
        n_folds: int,
    ) -> None:
        super().__init__(module, indices, adversary, weights)
        self._n_folds = n_folds

    def infer_indices(self, batch: Batch) -> Indices:
        """Inferred once and repeated: they are the same in all folds."""
        raw_index = batch.raw_index[: len(batch.x)]
        one = super().infer_indices(replace(batch, raw_index=raw_index))
        return Indices(
            self._repeated(one.u_posterior),
            _repeated(one.u, self._n_folds),
            self._repeated(one.beta_posterior),
            _repeated(one.beta, self._n_folds),
        )

    def infer(self, batch: Batch) -> Latents:
        """With the same noise in all folds."""
        indices = self.infer_indices(batch)
        encoder = self.module.data_encoder
        posterior, prior = encoder(batch.represented, indices.u, indices.beta)
        one = posterior.mean[: len(batch.x)]
        noise = noise_like(one, batch.share, batch.generator)
        z = posterior.mean + _repeated(noise, self._n_folds) * posterior.stddev
        return Latents(**vars(indices), z_posterior=posterior, z_prior=prior, z=z)

    def _repeated(self, one: Normal) -> Normal:
        parts = _repeated(one.mean, self._n_folds), _repeated(one.stddev, self._n_folds)
        return Normal(*parts, validate_args=False)


class _FoldTrainer(Trainer):
    """Every fold with its own gradient, and its own bound on that."""

    def __init__(self, trainer: Trainer, n_folds: int) -> None:
        """With all who look on at `trainer` but its history."""
        onlookers = [one for one in trainer.callbacks if not isinstance(one, History)]
        super().__init__(trainer.fabric, trainer.settings, onlookers, trainer.processes)
        self._n_folds = n_folds

    def _descend(
        self,
        module: nn.Module,
        optimizer: Optimizer,
        loss: Tensor,
        rate: float,
        share: Share | None,
    ) -> None:
        """From the folds' mean loss to their sum, in which each has the gradient it has alone."""
        super()._descend(module, optimizer, self._n_folds * loss, rate, share)

    def _clip(self, module: nn.Module, optimizer: Optimizer) -> None:
        # Fabric takes its factor of a mixed precision out of the gradients, and clips nothing.
        self.fabric.clip_gradients(module, optimizer, max_norm=math.inf, error_if_nonfinite=False)
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        n_folds = self._n_folds
        gradients = [one.grad.view(n_folds, -1) for one in parameters if one.grad is not None]
        norms = torch.linalg.vector_norm(torch.cat(gradients, dim=1), dim=1, keepdim=True)
        shares = (self.settings.clip / (norms + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(shares)


def _repeated(one: Tensor, n_folds: int) -> Tensor:
    """(n, ...) for every fold, (folds · n, ...)."""
    return one.repeat(n_folds, *[1] * (one.ndim - 1))
