"""The encoding with labels of some sources held out: copies of a network, trained as one.

Small networks spend their time on calls, not on numbers: eight copies in one call cost far less
than eight calls. Rows of all copies stand one after the other along the first axis, so that what
knows nothing of copies, because it treats every domain alike, takes them as so many more domains.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Normal
from torch.func import functional_call
from torch.optim import Optimizer

from domindex.committee.alignments import FlowAlignment
from domindex.committee.encoding import (
    EncodingModule,
    EncodingObjective,
    encoding_phase,
    finished,
    new_adversary,
)
from domindex.errors import InputError
from domindex.neural.backbones import FeatureExtractor
from domindex.neural.batches import Batch, BatchSampler, DomainFacts
from domindex.neural.layers import RunningStatistics, Whitening
from domindex.neural.rng import TorchRng
from domindex.neural.training import History, Trainer
from domindex.vdi.adversary import Adversary
from domindex.vdi.module import IndexModule, Indices, Latents, noise_like
from domindex.vdi.settings import Weights

Network = TypeVar("Network", bound=nn.Module)


def stacked(copies: Sequence[Network]) -> Network:
    """One network with the weights of all, (copies, ...) each; what is fixed must be the same.

    Its inputs are (copies · n, ...), the first n for the first copy, and so are its outputs. A
    layer that is frozen alike in all copies is left as it is.
    """
    twin = copy.deepcopy(copies[0])
    backbones = [layer.network for layer in twin.modules() if isinstance(layer, FeatureExtractor)]
    inside = {id(layer) for backbone in backbones for layer in backbone.modules()}
    for layers in zip(list(twin.modules()), *(list(one.modules()) for one in copies)):
        if isinstance(layers[0], FeatureExtractor):
            _stack_backbone(layers[0], layers[1:])
        elif id(layers[0]) not in inside:
            _stack_layer(layers[0], layers[1:])
    return twin


def unstacked(network: nn.Module, copies: Sequence[Network]) -> list[Network]:
    """The weights of a stacked network in copies like those that it was made of."""
    twins = [copy.deepcopy(one) for one in copies]
    weights = dict([*network.named_parameters(), *network.named_buffers()])
    with torch.no_grad():
        for number, twin in enumerate(twins):
            for name, own in [*twin.named_parameters(), *twin.named_buffers()]:
                held = weights[name]
                own.copy_(held if held.shape == own.shape else held[number])
    return twins


def _stack_layer(twin: nn.Module, layers: Sequence[nn.Module]) -> None:
    states = [dict(layer.named_parameters(recurse=False)) for layer in layers]
    if isinstance(twin, RunningStatistics):
        if isinstance(twin, Whitening):
            twin.__class__ = _StackedWhitening
        for name, value in list(twin.named_buffers()):
            setattr(twin, name, torch.stack([value] * len(layers)))
        return
    for name, value in twin.named_buffers(recurse=False):
        if any(not torch.equal(value, layer.get_buffer(name)) for layer in layers):
            raise InputError(f"The starts differ in {name!r}, which training does not change.")
    if isinstance(twin, FlowAlignment):
        warps = [dict(layer.get_submodule("warp").named_parameters()) for layer in layers]
        if not _frozen_alike(warps):
            raise InputError("The starts differ in their warp, which training does not change.")
    if not states[0] or _frozen_alike(states):
        return
    if type(twin) not in _STACKED:
        raise InputError(f"Copies of {type(twin).__name__} cannot be trained as one.")
    twin.__class__ = _STACKED[type(twin)]
    for name, first in states[0].items():
        values = torch.stack([state[name].detach() for state in states])
        setattr(twin, name, nn.Parameter(values, requires_grad=first.requires_grad))


def _stack_backbone(twin: nn.Module, layers: Sequence[nn.Module]) -> None:
    """Weights and statistics of any network, (copies, ...) each, under the names that they had."""
    twin.__class__ = _StackedExtractor
    owners = dict(twin.named_modules())
    for kind in ("parameters", "buffers"):
        parts = [
            dict(getattr(layer.network, f"named_{kind}")(remove_duplicate=False))
            for layer in layers
        ]
        stacked_once: dict[int, Tensor] = {}
        for name, first in parts[0].items():
            if id(first) not in stacked_once:
                values = torch.stack([part[name].detach() for part in parts])
                is_weight = isinstance(first, nn.Parameter)
                stacked_once[id(first)] = (
                    nn.Parameter(values, requires_grad=first.requires_grad) if is_weight else values
                )
            owner, _, last = f"network.{name}".rpartition(".")
            setattr(owners[owner], last, stacked_once[id(first)])


def _frozen_alike(states: Sequence[dict[str, nn.Parameter]]) -> bool:
    return not any(one.requires_grad for one in states[0].values()) and all(
        torch.equal(state[name], value) for state in states for name, value in states[0].items()
    )


class _StackedLinear(nn.Linear):
    """Weight (copies, outputs, inputs)."""

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(len(self.weight), -1, x.shape[-1])
        if self.bias is None:
            out = torch.bmm(rows, self.weight.mT)
        else:
            out = _Linear.apply(rows, self.weight, self.bias)
        return out.view(*x.shape[:-1], -1)


class _Linear(torch.autograd.Function):
    """Of rows (copies, n, inputs), weights (copies, outputs, inputs) and bias (copies, outputs).

    Products of long and narrow matrices take several times longer in one order than in the other;
    the gradients are taken in the faster one.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return torch.baddbmm(bias.unsqueeze(1), rows, weight.mT)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (out,), (rows, weight) = gradients, ctx.saved_tensors
        of_rows, of_weight, of_bias = None, None, None
        if ctx.needs_input_grad[0]:
            of_rows = torch.bmm(out, weight.mT.contiguous().mT)
        if ctx.needs_input_grad[1]:
            narrow = rows.shape[-1] < out.shape[-1]
            of_weight = torch.bmm(rows.mT, out).mT if narrow else torch.bmm(out.mT, rows)
        if ctx.needs_input_grad[2]:
            of_bias = out.sum(dim=1)
        return of_rows, of_weight, of_bias


class _StackedWhitening(Whitening):
    """Statistics (copies, ...): each of its own rows."""

    def forward(self, rows: Tensor) -> Tensor:
        return super().forward(rows.unflatten(0, (len(self.mean), -1))).flatten(0, 1)


class _StackedExtractor(FeatureExtractor):
    """A backbone with weights (copies, ...), which takes its copies one after the other.

    Any module can be taken so, with batch normalisation too. Convolutions of four copies were also
    faster than under `torch.vmap`, 0.36 s a step against 0.57, and a small perceptron was as fast.
    """

    def features(self, rows: Tensor) -> Tensor:
        held = dict([*self.network.named_parameters(), *self.network.named_buffers()])
        parts = rows.chunk(len(next(iter(held.values())))) if held else (rows,)
        return torch.cat(
            [
                functional_call(
                    self.network, {name: value[number] for name, value in held.items()}, (part,)
                )
                for number, part in enumerate(parts)
            ]
        )


class _StackedFlow(FlowAlignment):
    """Coefficients (copies, components, coefficients); a warp is the same in all copies."""

    def _directions(self, beta: Tensor) -> Tensor:
        n_copies, n_components, _ = self.coefficients.shape
        along = beta[:, :n_components].unflatten(0, (n_copies, -1))
        return torch.bmm(along, self.coefficients).flatten(0, 1)

    def _coordinates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n_copies = len(self.coefficients)
        moving, still = super()._coordinates(x[: len(x) // n_copies])
        return moving.repeat(n_copies, 1, 1), still.repeat(n_copies, 1, 1)


_STACKED: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: _StackedLinear,
    FlowAlignment: _StackedFlow,
}


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
    so each is what `train_encoding` would give without those labels, and folds differ
    by nothing but the labels that they know. They leave no history.

    Parameters
    ----------
    start : where every fold starts, or one start a fold, alike but for their weights
    held_out : (folds, domains) whether a fold is denied the labels of a source
    n_steps : how many steps the training takes; those of the settings if None
    """
    starts = [start] * len(held_out) if isinstance(start, EncodingModule) else list(start)
    _check_folds(held_out, len(starts), batches)
    device = trainer.device
    folds = [one.to(device) for one in _redrawn(starts, batches.torch_rng)]
    with batches.torch_rng.as_default():
        adversary = new_adversary(adversary_kinds, folds[0], held_out.shape[1])
    if adversary is not None:
        adversary = stacked([adversary.to(device)] * len(folds))
    objective = _FoldsObjective(stacked(folds), indices, adversary, weights, len(folds))
    known = _FoldBatches(batches, torch.as_tensor(~held_out, device=device))
    phase = encoding_phase("held-out encodings", objective, known, trainer.settings, n_steps)
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


def _redrawn(starts: Sequence[EncodingModule], torch_rng: TorchRng) -> list[EncodingModule]:
    """Copies to be trained, in which what starts at random is drawn alike."""
    before, folds = torch_rng.state(), []
    for start in starts:
        torch_rng.restore(before)
        with torch_rng.as_default():
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
    def torch_rng(self) -> TorchRng:
        return self.batches.torch_rng

    def draw(self) -> Batch:
        """`x` stays as it is: the indices are the same in all folds.

        Labels that are held out are overwritten: times zero, a NaN would be a NaN.
        """
        batch, n_folds = self.batches.draw(), len(self.known)
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
        noise = noise_like(one, batch.generator)
        z = posterior.mean + _repeated(noise, self._n_folds) * posterior.stddev
        return Latents(**vars(indices), z_posterior=posterior, z_prior=prior, z=z)

    def _repeated(self, one: Normal) -> Normal:
        parts = _repeated(one.mean, self._n_folds), _repeated(one.stddev, self._n_folds)
        return Normal(*parts, validate_args=False)


class _FoldTrainer(Trainer):
    """Every fold with its own gradient, and its own bound on that."""

    def __init__(self, trainer: Trainer, n_folds: int) -> None:
        """With all callbacks of `trainer` but its history."""
        callbacks = [one for one in trainer.callbacks if not isinstance(one, History)]
        super().__init__(trainer.device, trainer.settings, callbacks)
        self._n_folds = n_folds

    def _descend(self, optimizer: Optimizer, loss: Tensor, rate: float) -> None:
        """From the folds' mean loss to their sum, in which each has the gradient it has alone."""
        super()._descend(optimizer, self._n_folds * loss, rate)

    def _clip(self, parameters: list[Tensor]) -> None:
        n_folds = self._n_folds
        gradients = [one.grad.view(n_folds, -1) for one in parameters if one.grad is not None]
        norms = torch.linalg.vector_norm(torch.cat(gradients, dim=1), dim=1, keepdim=True)
        shares = (self.settings.clip / (norms + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(shares)


def _repeated(one: Tensor, n_folds: int) -> Tensor:
    """(n, ...) for every fold, (folds · n, ...)."""
    return one.repeat(n_folds, *[1] * (one.ndim - 1))
