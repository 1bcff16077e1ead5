"""How β acts on x before it is encoded: by a flow, by an affine map that it chooses, or not.

A carrier takes x (domains, batch, features) and β (domains, index_dim) to two points in the space
of z, (domains, batch, latent_dim): where its structure alone would put x, and where a network may
have bent it to.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from domindex.networks.blocks import Whitening, mlp, start_small


class FlowCarrier(nn.Module):
    """Every domain carried along the flow to β = 0: W (exp(−Σᵢ βᵢ G̃ᵢ) v − m), v = P x + warp(x).

    Starts at the coefficients solved in closed form, and stays in the family of flows that was
    chosen. Coordinates that do not move (`still`) are passed on beside the carried ones.

    `warp` straightens inputs in which the flow is not affine; it is zero unless trained for that.
    `bend` is what the bound may add. Both are networks of x alone, applied before x is carried:
    one map for all domains. A network that sees β could undo any domain by itself, and would fit
    the sources only.
    """

    follows_index = True
    basis: Tensor
    projection: Tensor
    centre: Tensor
    whitening: Tensor

    def __init__(
        self,
        coefficients: NDArray,
        basis: NDArray,
        projection: NDArray,
        n_moving: int,
        width: int,
    ) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(torch.tensor(coefficients, dtype=torch.float32))
        self.register_buffer("basis", torch.tensor(basis, dtype=torch.float32))
        self.register_buffer("projection", torch.tensor(projection, dtype=torch.float32))
        self.register_buffer("centre", torch.zeros(n_moving))
        self.register_buffer("whitening", torch.eye(n_moving))
        self.n_moving = n_moving
        self.n_outputs = projection.shape[1]
        self.warp = mlp(len(projection), n_moving, width, depth=2)
        start_small(self.warp, 0.0)
        self.warp.requires_grad_(False)
        self.bend = mlp(len(projection), n_moving, width, depth=2)
        start_small(self.bend, 0.01)

    def forward(self, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        linear, shift = self._maps(beta)
        moving, still = self._coordinates(x)
        straight = torch.baddbmm(shift, moving, linear)
        bent = straight + torch.bmm(self.bend(x), linear)
        return self._encoded(straight, still), self._encoded(bent, still)

    def carry(self, x: Tensor, beta: Tensor) -> Tensor:
        """The moving coordinates at β = 0, straightened but neither bent nor whitened."""
        linear, shift = self._maps(beta)
        return torch.baddbmm(shift, self._coordinates(x)[0], linear)

    def strain(self, beta: Tensor) -> Tensor:
        """Nothing to price: the family of flows says what is allowed."""
        return beta.new_zeros(())

    def drop_still(self) -> None:
        """Encode the moving coordinates alone."""
        self.projection = self.projection[:, : self.n_moving].clone()
        self.n_outputs = self.n_moving

    def use_spread(self, centre: NDArray, whitening: NDArray) -> None:
        """Take m and W from clouds that were carried."""
        self.centre.copy_(torch.as_tensor(centre))
        self.whitening.copy_(torch.as_tensor(whitening))

    def _coordinates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        coordinates = x @ self.projection
        moving, still = coordinates.tensor_split([self.n_moving], dim=-1)
        return moving + self.warp(x), still

    def _encoded(self, carried: Tensor, still: Tensor) -> Tensor:
        return torch.cat([(carried - self.centre) @ self.whitening, still], dim=-1)

    def _maps(self, beta: Tensor) -> tuple[Tensor, Tensor]:
        """The linear parts, transposed, and shifts of exp(−Σᵢ βᵢ G̃ᵢ) for each domain."""
        along = beta[:, : len(self.coefficients)]
        exponent = -(along @ self.coefficients @ self.basis.T).unflatten(
            -1, (self.n_moving, self.n_moving + 1)
        )
        bottom = exponent.new_zeros(len(beta), 1, self.n_moving + 1)
        maps = torch.linalg.matrix_exp(torch.cat([exponent, bottom], dim=1))
        return maps[:, :-1, :-1].transpose(1, 2), maps[:, None, :-1, -1]


class StillCarrier(nn.Module):
    """Rows that are comparable as they are: x P, and a network may bend them, whatever β is."""

    follows_index = False
    projection: Tensor

    def __init__(self, projection: NDArray, width: int, may_bend: bool = True) -> None:
        super().__init__()
        ordered = np.ascontiguousarray(projection)  # torch takes no columns in reverse
        self.register_buffer("projection", torch.tensor(ordered, dtype=torch.float32))
        self.n_outputs = projection.shape[1]
        self.bend = mlp(self.n_outputs, self.n_outputs, width, depth=2)
        start_small(self.bend, 0.01 if may_bend else 0.0)
        self.bend.requires_grad_(may_bend)

    def forward(self, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        straight = x @ self.projection
        return straight, straight + self.bend(straight)

    def strain(self, beta: Tensor) -> Tensor:
        """Nothing to price: nothing moves with β."""
        return beta.new_zeros(())


class IndexedAffine(nn.Module):
    """x ↦ v A(β) + b(β), whitened, with v = P x: an affine map that a small network of β chooses.

    A = exp(K) exp(S), K skew and S symmetric: a turn and a stretch, never singular. Through a
    singular map, classes could change sides between neighbours. Turning is free and stretching is
    priced (`strain`). P is the identity up to `max_size` features, and learned beyond.
    """

    follows_index = True

    def __init__(self, n_features: int, index_dim: int, width: int, max_size: int = 16) -> None:
        super().__init__()
        self.n_outputs = min(n_features, max_size)
        self.projection = (
            nn.Identity()
            if n_features == self.n_outputs
            else nn.Linear(n_features, self.n_outputs, bias=False)
        )
        first = nn.Linear(index_dim, width)
        with torch.no_grad():  # features of β that vary over its whole range, not only near zero
            first.weight.mul_(2.0)
            first.bias.mul_(2.0)
        n_entries = self.n_outputs * (self.n_outputs + 1)
        self.network = nn.Sequential(first, nn.Tanh(), nn.Linear(width, n_entries))
        start_small(self.network, 0.1)
        self.norm = Whitening(self.n_outputs)

    def forward(self, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        turn, stretch, shift = self._parts(beta)
        maps = torch.linalg.matrix_exp(turn) @ torch.linalg.matrix_exp(stretch)
        mixed = torch.baddbmm(shift, self.projection(x), maps)
        straight = self.norm(mixed.flatten(0, 1)).view_as(mixed)
        return straight, straight

    def strain(self, beta: Tensor) -> Tensor:
        """Mean over domains of ‖S(β)‖²."""
        return self._parts(beta)[1].square().sum(dim=(1, 2)).mean()

    def _parts(self, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        entries = self.network(beta).unflatten(-1, (self.n_outputs + 1, self.n_outputs))
        matrix = entries[:, :-1]
        return matrix - matrix.mT, matrix + matrix.mT, entries[:, -1:]
