"""An encoder for the targets, matched to a finished one of the sources."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from domindex.arrays import Floats
from domindex.baselines.base import AdaptingBaseline, Study
from domindex.baselines.networks import Adaptation, Encoding, PlainModule, is_target
from domindex.neural.batches import Batch
from domindex.neural.training import Terms
from domindex.vdi.adversary import reader


class TwoEncoders(nn.Module):
    """Source domains through a frozen encoder, all others through a copy that moves."""

    def __init__(self, source: nn.Module) -> None:
        super().__init__()
        self.source = source.requires_grad_(False)
        self.target = deepcopy(source).requires_grad_(True)

    def forward(self, x: Tensor, given: Tensor) -> Tensor:
        """`given` is (domains, 1), 0 for a source and 1 for any other."""
        nothing = given[:, :0]
        through_target = given[:, :, None] > 0.5
        return torch.where(through_target, self.target(x, nothing), self.source(x, nothing))


class SourceOrTarget(nn.Module):
    """Tells encodings of sources from those of targets, which weigh equally."""

    def __init__(self, latent_dim: int, width: int) -> None:
        super().__init__()
        self.classifier = reader(latent_dim, 2, width)

    def forward(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Mean over the kinds present of −E[log D(kind|z)] / log 2."""
        scores = self.classifier(z).flatten(0, 1)
        labels = kinds[:, None].expand(z.shape[:2]).flatten()
        losses = functional.cross_entropy(scores, labels, reduction="none")
        present = [losses[labels == kind] for kind in (0, 1) if (labels == kind).any()]
        return torch.stack([loss.mean() for loss in present]).mean() / np.log(2.0)


class Matching(Adaptation):
    """Targets are to be taken for sources; nothing else moves."""

    def adversary_inputs(self, batch: Batch, latents: Encoding) -> tuple[Tensor, Tensor]:
        return latents.z, is_target(batch).long()

    def fit(self, batch: Batch, latents: Encoding) -> Terms:
        return {}

    def adaptation(self, batch: Batch, latents: Encoding) -> Terms:
        z, kinds = self.adversary_inputs(batch, latents)
        targets = z[kinds == 1]
        return {"adaptation": self.fixed_adversary(targets, torch.zeros_like(kinds[kinds == 1]))}


class ADDA(AdaptingBaseline):
    """Match an encoder of the targets to the finished one of the sources (Tzeng et al., 2017).

    First encoder and predictor learn on the sources. Then both are frozen, and a copy of the
    encoder learns to have targets taken for sources by a classifier that tells the two apart
    (inverted labels), at a tenth of the learning rate: nothing else holds it to what it learned.
    Rows of source domains are encoded by the first encoder, where `sample_domain` says so; all
    others by the second.

    Examples
    --------
    >>> from domindex.baselines import ADDA
    >>> model = ADDA(training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    def _train(self, study: Study) -> PlainModule:
        module = study.train("sources", Adaptation(study.module()))
        kinds = (~study.data.is_source).astype(float)
        study.use_index(kinds[:, None])
        two = PlainModule(TwoEncoders(module.encoder), module.predictor.requires_grad_(False))
        with study.own_chance():
            adversary = SourceOrTarget(study.latent_dim, study.width)
        return study.train("targets", Matching(two, adversary, self._weight), rate=0.1)

    def _give(self, name: object, scaled: Floats) -> Floats:
        return np.ones(1)
