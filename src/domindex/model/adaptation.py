"""The module of every baseline, and the objective that most of them are a case of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from domindex.model import bound
from domindex.model.adversarial import Objective, Terms
from domindex.model.batch import Batch


@dataclass
class Encoding:
    """z, (domains, batch, latent_dim)."""

    z: Tensor


class PlainModule(nn.Module):
    """x, and what is given of its domain, to z, and z to p(y|z)."""

    def __init__(self, encoder: nn.Module, predictor: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.predictor = predictor

    def encode(self, x: Tensor, given: Tensor) -> Tensor:
        """z (domains, batch, latent_dim) of x (domains, batch, features), given (domains, size)."""
        return self.encoder(x, given)

    def predict(self, z: Tensor) -> Distribution:
        """p(y|z)."""
        return self.predictor(z)


class Adaptation(Objective):
    """Predict the sources, and weigh against it what a method asks of z in all domains.

    As it stands: nothing without an adversary, and with one, that it should not read z.
    """

    module: PlainModule

    def __init__(
        self, module: PlainModule, adversary: nn.Module | None = None, weight: float = 0.0
    ) -> None:
        super().__init__(module, adversary)
        self.weight = weight

    def infer(self, batch: Batch) -> Encoding:
        return Encoding(self.module.encode(batch.x, batch.raw_index))

    def forward(self, batch: Batch, latents: Encoding, ramp: float) -> tuple[Tensor, Terms]:
        fit = self.fit(batch, latents)
        adaptation = self.adaptation(batch, latents)
        asked = [self.weight * ramp * term for term in adaptation.values()]
        loss = torch.stack([*asked, *(-term for term in fit.values())]).sum()
        return loss, {**fit, **adaptation}

    def fit(self, batch: Batch, latents: Encoding) -> Terms:
        """What is maximised from the start: E[log p(y|z)] over the sources."""
        predicted = self.module.predict(latents.z[batch.sources])
        return {"label_prediction": bound.label_prediction(batch.labels, predicted)}

    def adaptation(self, batch: Batch, latents: Encoding) -> Terms:
        """What is minimised at `weight`, with a ramp."""
        if self.adversary is None:
            return {}
        return {"adaptation": -self.fixed_adversary(*self.adversary_inputs(batch, latents))}


def is_target(batch: Batch) -> Tensor:
    """(domains,) bool, which domains of a batch have no labels."""
    target = torch.ones(len(batch.x), dtype=torch.bool, device=batch.x.device)
    target[batch.sources] = False
    return target
