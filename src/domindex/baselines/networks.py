"""The networks and the module that every baseline shares, and the objective of most of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from domindex.neural.batches import Batch
from domindex.neural.layers import mlp
from domindex.neural.training import Objective, Terms
from domindex.vdi import bound


class PlainEncoder(nn.Module):
    """x (domains, batch, features), and what is given of a domain (domains, size), to z.

    What is given gates the first layer, so that one and the same network is turned smoothly from
    domain to domain. z is normalised over its coordinates: shrinking it hides nothing. Weights
    start at 0.3 of their usual size: from large ones the encoder can bend sources and targets apart
    before an adversary has learned anything.
    """

    def __init__(self, n_features: int, n_given: int, latent_dim: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(n_features, width)
        self.rest = mlp(width, latent_dim, width, depth=1)
        self.gate = (
            nn.Sequential(nn.Linear(n_given, width), nn.Tanh(), nn.Linear(width, width))
            if n_given
            else None
        )
        self.norm = nn.LayerNorm(latent_dim, elementwise_affine=False)
        with torch.no_grad():
            for weight in (*self.first.parameters(), *self.rest.parameters()):
                weight.mul_(0.3)

    def forward(self, x: Tensor, given: Tensor) -> Tensor:
        hidden = self.first(x)
        if self.gate is not None:
            hidden = hidden * self.gate(given)[:, None, :]
        return self.norm(self.rest(torch.tanh(hidden)))


class SeeingEncoder(nn.Module):
    """The same of the features that a backbone makes of x."""

    def __init__(self, seen: nn.Module, encoder: PlainEncoder) -> None:
        super().__init__()
        self.seen = seen
        self.encoder = encoder

    def forward(self, x: Tensor, given: Tensor) -> Tensor:
        return self.encoder(self.seen(x), given)


class PlainValuePredictor(nn.Module):
    """p(y|z) for values: a Normal of unit scale, so that its likelihood is the squared error."""

    def __init__(self, latent_dim: int, n_outputs: int, width: int = 32) -> None:
        super().__init__()
        self.linear = nn.Linear(latent_dim, n_outputs)
        self.bend = mlp(latent_dim, n_outputs, width, depth=1)

    def forward(self, z: Tensor) -> Normal:
        mean = self.linear(z) + self.bend(z)
        return Normal(mean, torch.ones_like(mean), validate_args=False)


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
