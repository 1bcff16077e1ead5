"""How β acts on x before it is encoded: what alignments share, and an affine map that β chooses.

An alignment takes x (domains, batch, features) and β (domains, index_dim) to two points in the
space of z, (domains, batch, latent_dim): where its structure alone would put x, and where a network
may have bent it to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from domindex.neural.layers import Whitening, start_small
from domindex.neural.training import ParameterGroup, trainable
from domindex.neural.weights import Sizes, counts


class Alignment(nn.Module, ABC):
    """Brings the rows of all domains to one place.

    To add one: subclass, give it a `name`, and keep the constructor's arguments in `sizes`.
    `follows_index` says whether β matters to it.
    """

    name: ClassVar[str]
    follows_index: bool
    latent_dim: int
    sizes: dict[str, Any]

    @classmethod
    def of_sizes(cls, sizes: Sizes) -> Alignment:
        """One to be filled with weights; ValueError where sizes are damaged."""
        return cls(**counts(sizes, may_be_zero=("n_coefficients",)))  # a flow that stands still

    def forward(self, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        """Where the structure puts x, and where it may be bent to."""
        return self.aligned(x, *self.maps(beta))

    def maps(self, beta: Tensor) -> tuple[Tensor, ...]:
        """All that β decides, each with a row a domain: an exported program has it as a table."""
        return ()

    @abstractmethod
    def aligned(self, x: Tensor, *maps: Tensor) -> tuple[Tensor, Tensor]:
        """Both points, by what `maps` gave."""

    @abstractmethod
    def redrawn(self) -> Alignment:
        """A copy to be trained, with what starts at random drawn anew."""

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to learn, and so nothing to hide from an adversary."""
        return not any(parameter.requires_grad for parameter in self.parameters())

    def penalty(self, beta: Tensor) -> Tensor:
        """A penalty on what is done at β, a number; 0 unless a subclass has one."""
        return beta.new_zeros(())

    def parameter_groups(self) -> list[ParameterGroup]:
        """What is to be trained, and how fast."""
        return [ParameterGroup(trainable(self.parameters()), 1.0)]


class AffineAlignment(Alignment):
    """x ↦ v A(β) + b(β), whitened, with v = P x: an affine map that a small network of β chooses.

    A = exp(K) exp(S), K skew and S symmetric: a turn and a stretch, never singular. Through a
    singular map, classes could change sides between neighbours. Turning is free; stretching has a
    `penalty`. P is the identity up to `max_latent` features, and learned beyond.
    """

    name: ClassVar[str] = "affine"
    follows_index = True
    network_rate = 2.0  # times the learning rate; found with accuracy on the paper's data in view

    def __init__(self, n_features: int, index_dim: int, width: int, max_latent: int = 16) -> None:
        super().__init__()
        self.sizes = {
            "n_features": n_features,
            "index_dim": index_dim,
            "width": width,
            "max_latent": max_latent,
        }
        self.latent_dim = min(n_features, max_latent)
        self.projection = (
            nn.Identity()
            if n_features == self.latent_dim
            else nn.Linear(n_features, self.latent_dim, bias=False)
        )
        first = nn.Linear(index_dim, width)
        with torch.no_grad():  # features of β that vary over its whole range, not only near zero
            first.weight.mul_(2.0)
            first.bias.mul_(2.0)
        n_entries = self.latent_dim * (self.latent_dim + 1)
        self.network = nn.Sequential(first, nn.Tanh(), nn.Linear(width, n_entries))
        start_small(self.network, 0.1)
        self.norm = Whitening(self.latent_dim)

    def maps(self, beta: Tensor) -> tuple[Tensor, ...]:
        turn, stretch, shift = self._parts(beta)
        return torch.linalg.matrix_exp(turn) @ torch.linalg.matrix_exp(stretch), shift

    def aligned(self, x: Tensor, *maps: Tensor) -> tuple[Tensor, Tensor]:
        linear, shift = maps
        mixed = torch.baddbmm(shift, self.projection(x), linear)
        straight = self.norm(mixed.flatten(0, 1)).view_as(mixed)
        return straight, straight

    def penalty(self, beta: Tensor) -> Tensor:
        """The strain: the mean over domains of ‖S(β)‖²."""
        return self._parts(beta)[1].square().sum(dim=(1, 2)).mean()

    def parameter_groups(self) -> list[ParameterGroup]:
        return [
            ParameterGroup(list(self.network.parameters()), self.network_rate),
            ParameterGroup(list(self.projection.parameters()), 1.0),
        ]

    def redrawn(self) -> AffineAlignment:
        return AffineAlignment(**self.sizes)

    def _parts(self, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        entries = self.network(beta).unflatten(-1, (self.latent_dim + 1, self.latent_dim))
        matrix = entries[:, :-1]
        return matrix - matrix.mT, matrix + matrix.mT, entries[:, -1:]
